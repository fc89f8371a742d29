"""The demonstration: one model, two requests (a random tenth, and a whole class), each a project of its own.

Nothing here is special: it writes two project files, and runs them as `expunge run` would.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from ..errors import ConfigError
from . import pipeline, settings
from .stages.report import PAGE, RESULTS

_FILE = Template("""\
# Written by `expunge demo`. Change what you like, and run it again: expunge run --project $file

[project]
name = "$title"
workload = "$workload"
folder = "$folder"
$threads

[model]
$weights

[data]
$data

[deletion]
$deletion

[target]
epsilon = $epsilon
delta = 1e-5

[calibration]
pairs = 10
$every

[mechanism]
design = "Permutation"
blocks = 4
$mechanism

[fine_tune]
$fine_tune

[audit]
retrained = $retrained

[report]
accuracy_every = 5
""")


@dataclass(frozen=True)
class Scene:
    """The settings of one demonstration, fixed before the request (docs/quickstart.md says how they were found)."""

    workload: str
    epsilon: float
    decays: tuple[float, float]  # of each request: a class lies further apart, and needs more to bring its noise down
    fine_tune: str
    retrained: int
    label: int  # the class that goes
    threads: str = ""
    every: str = ""


_MECHANISM = "clip = 0.0 # noise and decay without gradient steps\nstep_size = 1.0\nweight_decay = {}\nsteps = 1"
_ADAM = (
    'steps = 200\noptimizer = "adam" # from the noise that a class needs, the SGD of the training diverges\nlr = 0.001'
)
SCENES = {
    "digits": Scene(
        workload="digits-mlp",
        epsilon=100.0,
        decays=(0.4, 0.4),
        fine_tune="steps = 15\nlr = 0.05",
        retrained=4,
        label=3,
        threads="threads = 1 # more would only wait for each other on so small a network",
        every="every = 69 # steps: the gap at five places of the training",
    ),
    "mnist": Scene(
        workload="mnist-mlp",
        epsilon=100.0,
        decays=(0.4, 0.9),
        fine_tune=_ADAM,
        retrained=1,
        label=3,
    ),
}


@dataclass(frozen=True)
class Shown:
    """One request of the demonstration, when it is over."""

    project: settings.Project
    stages: list[pipeline.Done]

    @property
    def page(self) -> Path:
        """The report."""
        return self.project.folder / PAGE

    @property
    def results(self) -> Path:
        """What it was made from."""
        return self.project.folder / RESULTS


def play(
    folder: Path,
    *,
    workload: str = "digits",
    data_dir: Path | None = None,
    quiet: bool = False,
    told: Callable[[str, pipeline.Done], None] | None = None,
) -> list[Shown]:
    """Both requests; `told` hears of every stage. What is there already is not done again."""
    if workload not in SCENES:
        raise ConfigError(f"--workload must be one of {', '.join(SCENES)}; got {workload!r}.")
    found = list[Shown]()
    for file, text in _files(SCENES[workload], data_dir).items():
        project = settings.load(_written(folder / file, text))

        def tell(done: pipeline.Done, name: str = project.deletion.says) -> None:
            if told is not None:
                told(name, done)

        found.append(Shown(project, pipeline.run(project, quiet=quiet, told=tell)))
    return found


def _files(scene: Scene, data_dir: Path | None) -> dict[str, str]:
    shared: dict[str, Any] = {
        "workload": scene.workload,
        "threads": scene.threads,
        "every": scene.every,
        "epsilon": scene.epsilon,
        "fine_tune": scene.fine_tune,
        "retrained": scene.retrained,
        "data": "# folder = …" if data_dir is None else f'folder = "{data_dir.resolve().as_posix()}"',
    }
    tenth = {
        "title": "A random tenth of the samples",
        "deletion": "random = 0.1\nseed = 2026",
        "weights": "",
        "folder": ".",
        "mechanism": _MECHANISM.format(scene.decays[0]),
    }
    label = {
        "title": f"All samples of class {scene.label}",
        "deletion": f"class = {scene.label}",
        "weights": 'weights = "trained.safetensors" # of the first request',
        "folder": "class",
        "mechanism": _MECHANISM.format(scene.decays[1]),
    }
    named = {"expunge.toml": tenth, "class.toml": label}
    return {file: _FILE.substitute(shared, file=file, **own) for file, own in named.items()}


def _written(place: Path, text: str) -> Path:
    """The project file; one that somebody has changed is left alone."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists() and place.read_text(encoding="utf-8") != text:
            raise ConfigError(
                f"{place} was changed since `expunge demo` wrote it. Use expunge run --project {place}, or another --output."
            )
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {place}: {error.strerror or error}. Name another --output.") from error
    return place
