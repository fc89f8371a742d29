"""`expunge COMMAND --project FILE`: the command reads from the project file what it would otherwise be told.

A stage's command is that stage of `expunge run`. The others take what the file says as their options, and what is given
beside it instead of that.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import ConfigError
from .commands import READERS, STAGES

if TYPE_CHECKING:
    from ..project.settings import Project


def words(given: list[str]) -> list[str]:
    """The command line as it would be without a project file; a stage as `expunge run` takes it."""
    place = _place(given)
    if place is None or given[0] not in (*STAGES, *READERS):
        return given
    if given[0] in STAGES:
        return ["run", *given]
    from ..project import settings

    joined = given[place].partition("=")[2]
    file, after = (joined, place + 1) if joined else ("".join(given[place + 1 : place + 2]), place + 2)
    rest = given[1:place] + given[after:]
    said = {word.partition("=")[0] for word in rest}
    found = OPTIONS[given[0]](settings.load(file or settings.FILE))
    return [given[0], *(word for name, value in found.items() if name not in said for word in (name, value)), *rest]


def is_stage(given: list[str]) -> bool:
    """Whether this is a stage of a project, whose settings are the file's."""
    return _place(given) is not None and given[0] in STAGES


def _place(given: list[str]) -> int | None:
    return next((i for i, word in enumerate(given) if word == "--project" or word.startswith("--project=")), None)


def _account(project: "Project") -> dict[str, str]:
    files = {"--ledger": _made(project, "ledger.json", "plan"), "--proximity": _made(project, "proximity.json", "plan")}
    return {**files, "--delta": repr(project.target.delta)}


def _recertify(project: "Project") -> dict[str, str]:
    return {
        "--certificate": _made(project, "certificate.json", "unlearn"),
        "--proximity": _made(project, "proximity.json", "unlearn"),
        "--output": str(project.folder / "recertified.json"),
    }


def _made(project: "Project", file: str, stage: str) -> str:
    place = project.folder / file
    if not place.is_file():
        raise ConfigError(f"there is no {place} yet. Make it first: expunge run {stage} --project {project.path}")
    return str(place)


def _compare(project: "Project") -> dict[str, str]:
    workload, target, measured = project.project.workload, project.target, project.folder / "proximity.json"
    if workload is None:
        raise ConfigError(
            "expunge compare is for workloads of ours, and this project has functions of its own. Use expunge run audit, "
            "which holds your model against retraining and the baselines; expunge.methods in Python has all methods."
        )
    found = {
        "--workload": workload,
        "--scale": project.project.scale,
        "--deletion": _deletion(project),
        "--epsilon": repr(target.epsilon),
        "--delta": repr(target.delta),
        "--accountant": target.accountant,
        "--pairs": str(project.calibration.pairs),
        "--device": project.project.device,
        "--output": str(project.beside("compared.json")),
    }
    files = {"--data-dir": project.data.folder, "--weights": project.data.public_weights}
    found |= {name: str(project.beside(file)) for name, file in files.items() if file is not None}
    return found | ({"--proximity": str(measured)} if measured.is_file() else {})


def _deletion(project: "Project") -> str:
    asked = project.deletion
    if asked.random is not None:
        return f"random:{asked.random!r}"
    return f"class:{asked.class_}" if asked.class_ is not None else f"file:{project.beside(str(asked.file))}"


OPTIONS: dict[str, Callable[["Project"], dict[str, str]]] = {
    "account": _account,
    "recertify": _recertify,
    "compare": _compare,
}
