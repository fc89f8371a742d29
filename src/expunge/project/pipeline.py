"""The stages, one after another, each done only when something that it depends on has changed.

After a stage, `stages/NAME.json` says what it was made from and what it left, as hashes. A stage whose record still holds is
skipped. While it works, a stage may keep unfinished work in `unfinished/NAME-…`, and goes on from there after an
interruption; the folder goes when the stage is done.
"""

import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..bars import Bars
from ..errors import ConfigError
from .document import suggestion
from .settings import Project
from .stage import RECORD, Stage, Work
from .stages.audit import COMPARISON, audit
from .stages.calibrate import PROXIMITY, calibrate
from .stages.plan import LEDGER, PLAN, plan
from .stages.report import PAGE, RESULTS, report
from .stages.train import TRAINED, train
from .stages.unlearn import CERTIFICATE, CURVE, UNLEARNED, unlearn
from .stages.verify import VERIFICATION, verify

MODEL = (
    *(f"project.{key}" for key in ("workload", "scale", "seed", "device", "threads")),
    *(f"model.{key}" for key in ("factory", "train", "loss", "weights")),
    "data",
)
REQUEST = (*MODEL, "model.public", "deletion", "clean", "reset")
PAIRS = tuple(f"calibration.{key}" for key in ("pairs", "failure", "safety_factor", "threads", "every", "proximity"))
STAGES = (
    Stage("train", "train the model", MODEL, (), (TRAINED, "trained.json"), train),
    Stage("calibrate", "measure the proximity", (*REQUEST, *PAIRS), (), (PROXIMITY,), calibrate),
    Stage(
        "plan", "find the least noise", (*MODEL, "target", "mechanism", "reset"), ("calibrate",), (PLAN, LEDGER), plan
    ),
    Stage(
        "unlearn",
        "carry out the plan",
        (*REQUEST, "fine_tune"),
        ("train", "plan"),
        (UNLEARNED, CERTIFICATE, CURVE),
        unlearn,
    ),
    Stage("verify", "check the certificate", (), ("unlearn",), (VERIFICATION,), verify),
    Stage(
        "audit",
        "hold the model against retraining",
        (*REQUEST, "audit"),
        ("train", "calibrate", "unlearn"),
        (COMPARISON,),
        audit,
    ),
    Stage(
        "report",
        "write the page",
        ("project.name", *MODEL, "deletion"),
        ("train", "calibrate", "plan", "unlearn", "verify", "audit"),
        (RESULTS, PAGE),
        report,
    ),
)


@dataclass(frozen=True)
class Done:
    """What became of a stage."""

    stage: str
    fresh: bool  # done now; otherwise nothing had changed
    says: str
    seconds: float


def wanted(last: str | None) -> tuple[Stage, ...]:
    """The stages up to one of them, as far as it needs them; all, without a name."""
    names = [stage.name for stage in STAGES]
    if last is None:
        return STAGES
    if last not in names:
        raise ConfigError(f"stage must be one of {', '.join(names)}; got {last!r}. {suggestion(last, names)}")
    needed = {last}
    for stage in reversed(STAGES):
        if stage.name in needed:
            needed |= set(stage.after)
    return tuple(stage for stage in STAGES if stage.name in needed)


def run(
    project: Project, last: str | None = None, *, quiet: bool = False, told: Callable[[Done], None] | None = None
) -> list[Done]:
    """All stages, or those that `last` needs, itself included."""
    chosen, found = wanted(last), list[Done]()
    _make_folder(project.folder)
    with Bars(quiet=quiet) as bars, _threads(project.project.threads):
        work, files = Work(project, bars), dict[str, dict[str, str]]()
        for stage in chosen:
            done = _unchanged(work, stage, files) or _carry_out(work, stage, files)
            files[stage.name] = work.hashes(stage) or {}
            found.append(done)
            if told is not None:
                told(done)
    return found


def _unchanged(work: Work, stage: Stage, files: dict[str, dict[str, str]]) -> Done | None:
    record = work.record(stage.name)
    if record is None or record["inputs"] != work.inputs(stage, files) or record["outputs"] != work.hashes(stage):
        return None
    return Done(stage.name, False, record["says"], record["seconds"])


def _carry_out(work: Work, stage: Stage, files: dict[str, dict[str, str]]) -> Done:
    inputs = work.inputs(stage, files)
    work.path("stages").mkdir(exist_ok=True)
    work.path(f"stages/{stage.name}.json").unlink(missing_ok=True)
    work.scratch = _unfinished(work, stage.name, inputs)
    began = time.monotonic()
    says = stage.run(work)
    seconds = time.monotonic() - began
    outputs = work.hashes(stage)
    work.write_json(
        f"stages/{stage.name}.json",
        {"schema": RECORD, "stage": stage.name, "inputs": inputs, "outputs": outputs, "says": says, "seconds": seconds},
    )
    shutil.rmtree(work.scratch)
    return Done(stage.name, True, says, seconds)


def _unfinished(work: Work, name: str, inputs: str) -> Path:
    """The place for a stage's unfinished work; what other settings left unfinished goes."""
    place = work.path(f"unfinished/{name}-{inputs[:16]}")
    for other in work.path("unfinished").glob(f"{name}-*"):
        if other != place:
            shutil.rmtree(other)
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    return place


@contextmanager
def _threads(count: int | None) -> Generator[None]:
    """As many threads for torch as the project says, until it is done."""
    if count is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"[project] folder: cannot make {folder}: {error.strerror or error}. Name another."
        ) from error
