"""What a user names on the command line: functions of theirs, weights, a proximity, sample indices, places for files.

Nothing heavy is imported before it is needed: `expunge plan` reads proximity files too.
"""

import json
import os
import sysconfig
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from ..accounting import Proximity
from ..accounting.ledger import parse, read_proximity, read_text
from ..accounting.proximity import given
from ..errors import ConfigError, DataError, ExpungeError
from ..project import functions
from ..project.clean import Clean, Optimizer
from ..project.functions import device
from .processes import sharded

ADVICE = {  # what torch says of common mistakes, and what to do
    "Expected more than 1 value per channel": "BatchNorm cannot train on a batch of one sample: give the loader "
    "drop_last=True, or another batch size.",
    "shapes cannot be multiplied": "A batch does not have the shape that the model takes: look at one of each.",
    "Expected all tensors to be on the same device": "Move what your model or loss makes to the device of its inputs.",
    "out of memory": "Take smaller batches.",
    "Target ": "A label is not among the model's outputs: count the classes.",
}
CALIBRATION = "expunge.calibration/1"
TAKES = {
    "model": (),
    "loss": ("model", "batch"),
    "train": ("stream", "seed"),
    "dataset": (),
    "data": (),
    "deletion": ("dataset", "seed"),
    "clean-loader": ("stream", "seed"),
    "clean-loss": ("model", "batch"),
    "reference": (),
}
OURS = str(Path(__file__).parents[1])
DesignName = Literal[
    "Whole", "RandomRotation", "FastRotation", "Permutation", "LayerCycle", "HeadBody", "Core", "Factor", "Head"
]  # fmt: skip
OptimizerName = Optimizer


def training_changes(option: str, texts: list[str]) -> dict[str, Any]:
    """FIELD=VALUE of a training recipe, each: a number, true, false, null, or else a word."""
    from ..workloads import Recipe

    known, found = [field.name for field in fields(Recipe)], dict[str, Any]()
    for text in texts:
        field, equals, value = text.partition("=")
        if not (field and equals):
            raise ConfigError(f"--{option} must be FIELD=VALUE, such as epochs=20; got {text!r}.")
        if field not in known:
            raise ConfigError(f"--{option}: a training recipe has no {field!r}. It has {', '.join(known)}.")
        found[field] = value
        with suppress(ValueError):
            found[field] = json.loads(value)
    return found


def function(option: str, name: str) -> Any:
    """The function that an option names as `package.module:function`, which can be called as it will be."""
    return functions.function(f"--{option}", name, takes=TAKES.get(option))


def model(factory: str, weights_file: Path, place: str = "cpu") -> Any:
    """A model from its factory, with the weights of a file in it, on a device."""
    return with_weights(function("model", factory)(), weights_file, factory, place)


def with_weights(made: Any, weights_file: Path, factory: str, place: str = "cpu") -> Any:
    """A model that `factory` made, with the weights of a file in it, on a device."""
    from torch import nn

    from .. import weights

    place, state = device(place), weights.load(weights_file)
    if not isinstance(made, nn.Module):
        raise ConfigError(f"--model {factory} must return a torch.nn.Module; got {type(made).__name__}.")
    weights.put(state, made, f"{weights_file} does not fit the model of {factory}")
    return made if sharded(made) else made.to(place)


def design(name: DesignName, blocks: int) -> Any:
    """A block design by name; not all of them take a number of blocks."""
    from .. import subspaces

    arguments = {} if name in ("Whole", "HeadBody") else {"k": blocks}
    return subspaces.from_description({"kind": name, **arguments})


def cross_entropy(model: Any, batch: Any) -> Any:
    """The loss where none is named."""
    from torch.nn.functional import cross_entropy

    if not isinstance(batch, (list, tuple)) or len(batch) != 2:
        raise ConfigError(f"without a loss a batch must be (inputs, labels); got {type(batch).__name__}. Name a loss.")
    return cross_entropy(model(batch[0]), batch[1])


def clean_phase(steps: int | None, optimizer: OptimizerName, lr: float | None, whiten: int = 0) -> Any:
    """The same for `calibrate` and `unlearn`; none where no steps are named."""
    return None if steps is None else Clean(steps, optimizer, lr, whiten).recipe()


def proximity(value: str) -> Proximity | float:
    """A number, or a proximity file as `expunge calibrate` writes it (or only what stands in it under "proximity")."""
    with suppress(ValueError):
        return float(value)
    try:
        return read_proximity(_content(parse(read_text(value))))
    except DataError as error:
        raise DataError(f"--proximity {value[:200]!r} is neither a number nor a proximity file: {error}") from error


def refuse_other(value: str, made: Any) -> None:
    """A proximity file that was calibrated for another model."""
    with suppress(ValueError):
        float(value)
        return
    from .. import calibration

    calibration.refuse_other(parse(read_text(value)), made)


def _content(document: Any) -> Any:
    if not isinstance(document, dict) or "schema" not in document:
        return document
    if document["schema"] != CALIBRATION:
        raise DataError(f"its schema is {document['schema']!r:.60}, and that of a proximity file is {CALIBRATION!r}.")
    return document.get("proximity")


def claim(value: str, failure: float | None) -> Proximity:
    """A proximity with its failure probability: a file says its own, for a number it may be told."""
    found = proximity(value)
    if not isinstance(found, Proximity):
        return given(found) if failure is None else Proximity(found, failure, "given on the command line")
    if failure is not None:
        raise ConfigError(f"--failure is for a bare number; {value} says its own, {found.failure:.4g}. Leave it out.")
    return found


def indices(path: Path) -> list[int]:
    """Whole numbers, separated by anything that is not part of one."""
    try:
        found = [int(word) for word in read_text(path).decode().replace(",", " ").split()]
    except ValueError as error:
        raise DataError(f"{path} must hold whole numbers (sample indices), and nothing else: {error}.") from error
    if not found:
        raise DataError(f"{path} names no sample. Write the indices of those that must go.")
    return found


def deletion(text: str) -> Any:
    """Who asks to be forgotten: random:FRACTION (or COUNT), class:LABEL, group:NAME, file:PATH, or a user's function."""
    from .. import workloads

    kind, _, value = text.partition(":")
    makers: dict[str, Callable[[str], Any]] = {
        "random": lambda share: workloads.RandomDeletion(int(share) if share.isdigit() else float(share)),
        "class": lambda label: workloads.ClassDeletion(int(label)),
        "group": lambda group: workloads.GroupDeletion(int(group) if group.lstrip("-").isdigit() else group),
        "file": workloads.IndexDeletion.from_file,
    }
    if not value:
        forms = ", ".join(f"{name}:…" for name in makers)
        raise ConfigError(f"--deletion must be {forms} or package.module:function; got {text!r}, which has no colon.")
    if kind not in makers:
        function("deletion", text)
        return _OwnDeletion(text)
    try:
        return makers[kind](value)
    except ValueError as error:
        raise ConfigError(f"--deletion {text}: {error}") from error


@dataclass(frozen=True)
class _OwnDeletion:
    """A function of the user's as a deletion setting, found by its name in whatever process needs it."""

    name: str

    def forget(self, dataset: Any, seed: int) -> Any:
        return function("deletion", self.name)(dataset, seed)

    def describe(self) -> dict[str, Any]:
        return {"kind": "own", "function": self.name}


def destination(option: str, path: Path) -> None:
    """Refuse a place where no file can be written, before there is anything to write."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise ConfigError(f"--{option} {path}: there is no folder {folder}. Make it first.")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise ConfigError(f"--{option} {path} cannot be written. Name another file.")


@contextmanager
def users_code() -> Generator[None]:
    """What the user's own code raises is shown from its first line on, and says nothing about a certificate: exit code 2."""
    try:
        yield
    except ExpungeError:
        raise
    except Exception as error:
        frames = list(_frames(error.__traceback__))
        files = [frame.tb_frame.f_code.co_filename for frame in frames]
        if files[-1].startswith(OURS):
            raise  # a mistake of ours: all of the traceback
        libraries = (OURS, "<", *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))
        if theirs := [frame for frame, file in zip(frames, files, strict=True) if not file.startswith(libraries)]:
            traceback.print_exception(type(error), error, theirs[0])
        reason = " ".join(str(error).split())[:300]
        where = f"{Path(files[-1]).name}, line {frames[-1].tb_lineno}"
        advice = next((f" {text}" for sign, text in ADVICE.items() if sign in str(error)), "")
        raise ConfigError(
            f"your model, data or loss raised {type(error).__name__}: {reason} ({where}).{advice}"
        ) from error


def _frames(frame: TracebackType | None) -> Generator[TracebackType]:
    while frame is not None:
        yield frame
        frame = frame.tb_next
