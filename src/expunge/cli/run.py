"""`expunge run`: all stages of a project, or those that one of them needs."""

from pathlib import Path
from typing import Any, Literal

from ..bars import duration
from ..project import settings
from . import loading
from .output import print_facts, print_json

StageName = Literal["train", "calibrate", "plan", "unlearn", "verify", "audit", "report"]


def run(
    stage: StageName | None = None, *, project: Path = Path(settings.FILE), quiet: bool = False, json: bool = False
) -> None:
    """Carry out a project's stages: train → calibrate → plan → unlearn → verify → audit → report.

    What has not changed is not done again, and a stage that was interrupted goes on from where it was.

    Parameters
    ----------
    stage
        Only what this stage needs, and itself; default: all.
    project
        The project file (`expunge init` writes one).
    quiet
        No progress.
    json
        Print one JSON object.
    """
    from ..project import pipeline

    asked = settings.load(project)
    with loading.users_code():
        done = pipeline.run(asked, stage, quiet=quiet or json, told=None if json else tell)
    answer: dict[str, Any] = {
        "schema": "expunge.run/1",
        "project": asked.project.name,
        "folder": str(asked.folder),
        "stages": [
            {"stage": one.stage, "fresh": one.fresh, "says": one.says, "seconds": round(one.seconds, 3)} for one in done
        ],
    }
    if json:
        print_json(answer)


def tell(done: Any) -> None:
    """A stage is over: what came out, and how long it took."""
    print_facts([(f"{done.stage:<9}", f"{done.says} ({duration(done.seconds) if done.fresh else 'as it was'})")])
