"""What a stage is, and what it is given.

A stage reads sections of the project file and the files of earlier stages, and writes files of its own. It is done while
none of these has changed.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import weights
from ..bars import Bars
from ..errors import DataError
from .settings import Project

if TYPE_CHECKING:
    from .materials import Materials

RECORD = "expunge.stage/1"


@dataclass(frozen=True)
class Stage:
    """One stage, declared.

    settings    tables of the project file that it reads, or single keys (table.key)
    after       stages whose files it reads
    outputs     the files it leaves
    run         does it, and says in a line what came out
    """

    name: str
    does: str
    settings: tuple[str, ...]
    after: tuple[str, ...]
    outputs: tuple[str, ...]
    run: Callable[["Work"], str]


class Work:
    """What a stage works with: the project, its folder, somebody to tell, and a place for what is not finished."""

    scratch: Path

    def __init__(self, project: Project, bars: Bars) -> None:
        self.project, self.bars = project, bars

    @property
    def folder(self) -> Path:
        """Where every stage's files are."""
        return self.project.folder

    @cached_property
    def materials(self) -> "Materials":
        """Model, data, training and loss, opened when they are first needed."""
        from .materials import gather

        found = gather(self.project)
        found.check()
        return found

    def path(self, name: str) -> Path:
        """A file in the project's folder."""
        return self.folder / name

    def read(self, name: str) -> Any:
        """A JSON file of an earlier stage."""
        return json.loads(self.path(name).read_text(encoding="utf-8"))

    def write(self, name: str, content: str | bytes) -> None:
        """A file, whole or not at all."""
        data = content.encode() if isinstance(content, str) else content
        with weights.Atomic(self.path(name), 0o644) as file:
            file.write(data)

    def write_json(self, name: str, document: Any) -> None:
        """A JSON file, whole or not at all."""
        self.write(name, json.dumps(document, indent=1, allow_nan=False) + "\n")

    def hash(self, name: str) -> str:
        """SHA-256 of a file."""
        hashing = hashlib.sha256()
        with self.path(name).open("rb") as file:
            while piece := file.read(2**20):
                hashing.update(piece)
        return hashing.hexdigest()

    def record(self, stage: str) -> dict[str, Any] | None:
        """What was noted when the stage was last done; none where it never was."""
        place = self.path(f"stages/{stage}.json")
        if not place.exists():
            return None
        try:
            return json.loads(place.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"{place} is damaged ({error}). Delete it; its stage will be done again.") from error

    def inputs(self, stage: Stage, upstream: dict[str, dict[str, str]]) -> str:
        """A hash of all that the stage depends on."""
        parts = {
            "stage": stage.name,
            "settings": {name: self.project.setting(name) for name in stage.settings},
            "files": {name: upstream[name] for name in stage.after},
            "given": self.project.given(stage.settings),
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def hashes(self, stage: Stage) -> dict[str, str] | None:
        """Of the stage's files, as they are; none where one is missing."""
        if not all(self.path(name).is_file() for name in stage.outputs):
            return None
        return {name: self.hash(name) for name in stage.outputs}

    def seconds(self, stage: str) -> float | None:
        """What a stage took, when it was last done."""
        record = self.record(stage)
        return None if record is None else record["seconds"]
