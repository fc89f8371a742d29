"""The project file, `expunge.toml`: who asks, what for, and every stage's own settings."""

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_type_hints

from ..accounting import Accountant
from ..accounting.checks import number, probability, whole
from ..errors import ConfigError
from . import document, functions
from .clean import Clean
from .reset import Reset
from .stages.audit import Audit
from .stages.calibrate import Calibration
from .stages.plan import Mechanism
from .stages.report import Report
from .stages.unlearn import FineTuning

FILE = "expunge.toml"


@dataclass(frozen=True)
class About:
    """[project]. `workload` is one of ours; without one, [model] and [data] name your own functions."""

    name: str = "unlearning"
    workload: str | None = None
    scale: Literal["laptop", "paper"] = "laptop"
    seed: int = 0
    device: str = "cpu"
    threads: int | None = None
    folder: str = "run"

    def __post_init__(self) -> None:
        whole("seed", self.seed, least=0)
        if self.threads is not None:
            whole("threads", self.threads)


@dataclass(frozen=True)
class Model:
    """[model]. factory() builds it, train(stream, seed) trains it, loss(model, batch) is what is minimised.

    `public`: name patterns of frozen parameters and buffers that never saw the data.
    """

    factory: str | None = None
    train: str | None = None
    loss: str | None = None
    weights: str | None = None
    public: tuple[str, ...] = ()


@dataclass(frozen=True)
class Data:
    """[data]. dataset() and test() give samples by index. A workload's lie in `folder`; some need public weights."""

    dataset: str | None = None
    test: str | None = None
    folder: str | None = None
    public_weights: str | None = None
    batch_size: int = 64

    def __post_init__(self) -> None:
        whole("batch_size", self.batch_size)


@dataclass(frozen=True)
class Deletion:
    """[deletion]. One of: a random fraction, a class, a file of sample indices. `seed` draws the random one."""

    random: float | None = None
    class_: int | None = None
    file: str | None = None
    seed: int = 1000

    def __post_init__(self) -> None:
        given = [name for name in ("random", "class_", "file") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ConfigError(
                "needs exactly one of random (a fraction), class (a label) or file (of sample indices); "
                f"got {', '.join(name.rstrip('_') for name in given) or 'none'}."
            )
        if self.random is not None:
            number("random", self.random, above=0.0, below=1.0)
        whole("seed", self.seed, least=0)

    @property
    def says(self) -> str:
        """In a few words."""
        if self.random is not None:
            return f"a random {self.random * 100:g} %"
        return f"class {self.class_}" if self.class_ is not None else f"the samples named in {self.file}"


@dataclass(frozen=True)
class Target:
    """[target]. The privacy to certify."""

    epsilon: float
    delta: float
    accountant: Accountant = "gaussian"

    def __post_init__(self) -> None:
        number("epsilon", self.epsilon, above=0.0)
        probability("delta", self.delta)


@dataclass(frozen=True)
class Project:
    """A whole project file. `path` is where it lies; the names in it are relative to that."""

    path: Path
    deletion: Deletion
    target: Target
    project: About = field(default_factory=About)
    model: Model = field(default_factory=Model)
    data: Data = field(default_factory=Data)
    calibration: Calibration = field(default_factory=Calibration)
    clean: Clean = field(default_factory=Clean)
    reset: Reset = field(default_factory=Reset)
    mechanism: Mechanism = field(default_factory=Mechanism)
    fine_tune: FineTuning = field(default_factory=FineTuning)
    audit: Audit = field(default_factory=Audit)
    report: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        _refuse_half_a_model(self)
        if self.deletion.random is not None and self.deletion.seed < self.calibration.pairs:
            raise ConfigError(
                f"[deletion] seed must be {self.calibration.pairs} or more; got {self.deletion.seed}. The seeds below are "
                "those of the calibration's pairs, and the request must be another draw."
            )
        if self.calibration.every and self.project.workload is None:
            raise ConfigError(
                "[calibration] every is for workloads of ours; a train of your own has no steps to look at. Leave it out."
            )

        if self.reset.rank is not None and self.mechanism.design != "Whole":
            raise ConfigError(
                f'with [reset] the core is the block: [mechanism] design must be "Whole"; got {self.mechanism.design!r}.'
            )

    def design(self) -> Any:
        """The blocks of the noisy steps: those of [mechanism], or the core of [reset]."""
        return self.reset.design(self) or self.mechanism.make_design()

    @property
    def folder(self) -> Path:
        """Where the stages write."""
        return self.beside(self.project.folder)

    def beside(self, name: str) -> Path:
        """A path of the file, relative to the file."""
        return self.path.parent / Path(name).expanduser()

    def function(self, table: str, key: str) -> Any:
        """The user's function that a key names."""
        name, takes = getattr(getattr(self, table), key), CODE[table][key]
        return functions.function(f"[{table}] {key}", name, folder=self.path.parent, takes=takes)

    def setting(self, name: str) -> Any:
        """A table's values, or one (table.key)."""
        table, _, key = name.partition(".")
        values = asdict(getattr(self, table))
        return values[key] if key else values

    def given(self, tables: tuple[str, ...]) -> dict[str, str]:
        """Hashes of the files that these tables name: what stands in them matters, not what they are called."""
        found: dict[str, str] = {}
        for table in dict.fromkeys(name.partition(".")[0] for name in tables):
            for key in CODE.get(table, ()):
                if getattr(getattr(self, table), key) is not None:
                    found[f"{table}.{key}"] = functions.fingerprint(self.function(table, key))
            for key in FILES.get(table, ()):
                if (name := getattr(getattr(self, table), key)) is not None:
                    found[f"{table}.{key}"] = functions.file_fingerprint(f"[{table}] {key}", self.beside(name))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for records."""
        return {name: asdict(getattr(self, name)) for name in tables()}


CODE: dict[str, dict[str, tuple[str, ...]]] = {  # the user's functions, and what they are called with
    "model": {"factory": (), "train": ("stream", "seed"), "loss": ("model", "batch")},
    "data": {"dataset": (), "test": ()},
}
FILES = {"model": ("weights",), "data": ("public_weights",), "deletion": ("file",), "calibration": ("proximity",)}


def tables() -> dict[str, type]:
    """The file's tables and their dataclasses."""
    hints = get_type_hints(Project)
    return {one.name: hints[one.name] for one in fields(Project) if one.name != "path"}


def load(path: str | Path = FILE) -> Project:
    """The project of a file, every value checked, or an error that names table, key, value and what was expected."""
    path, known = Path(path), tables()
    values = document.parse(path)
    for name in values:
        if name not in known:
            raise ConfigError(f"{path} has no place for {name!r}. {document.suggestion(name, known)}")
    for name in ("deletion", "target"):
        if name not in values:
            raise ConfigError(f"{path} needs a table [{name}]. `expunge init` shows one.")
    return Project(path.resolve(), **{name: document.read(known[name], values[name], name) for name in values})


def _refuse_half_a_model(project: Project) -> None:
    """A workload brings all four functions; without one they must be named."""
    own = {f"[{table}] {key}": getattr(getattr(project, table), key) for table in CODE for key in CODE[table]}
    if project.project.workload is not None:
        if named := [name for name, value in own.items() if value is not None]:
            raise ConfigError(
                f"{named[0]} and [project] workload exclude each other: a workload brings its own. Keep one of them."
            )
        return
    missing = [name for name in ("[model] factory", "[data] dataset", "[data] test") if own[name] is None]
    if own["[model] train"] is None and (project.model.weights is None or project.calibration.proximity is None):
        missing.append("[model] train (or weights and a [calibration] proximity)")
    if missing:
        raise ConfigError(f"without a [project] workload the file must name {', '.join(missing)}.")
