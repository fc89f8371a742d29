"""What a model says about the forgotten, the retained and the test samples: computed once, saved, and all that attacks see.

forget    samples whose removal is audited        retain    samples that stay        test    never trained on
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ..errors import DataError
from ..weights import Atomic

SCHEMA = "expunge.outputs/1"
PARTS = ("forget", "retain", "test")

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Part:
    """One group of samples: a row of logits and a label each."""

    logits: Array
    labels: Array

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Any) -> "Part":
        return Part(self.logits[rows], self.labels[rows])


@dataclass(frozen=True, eq=False)
class Outputs:
    """The three parts, and the SHA-256 of the weights that gave them (as in a certificate), where it is known."""

    forget: Part
    retain: Part
    test: Part
    weights_sha256: str | None = None

    def __post_init__(self) -> None:
        for name, part in self.parts():
            object.__setattr__(self, name, _checked(name, part))
        widths = {name: part.logits.shape[1] for name, part in self.parts()}
        if len(set(widths.values())) > 1:
            raise DataError(f"all parts must have logits for the same classes; got {widths}. Use one model for all.")

    def parts(self) -> Iterator[tuple[str, Part]]:
        """Name and part, always in the same order."""
        return ((name, getattr(self, name)) for name in PARTS)

    @property
    def classes(self) -> int:
        """How many classes the model tells apart."""
        return self.test.logits.shape[1]

    @property
    def forgotten_classes(self) -> tuple[int, ...]:
        """Classes that occur among the forgotten samples and not among the retained: none, unless classes were deleted."""
        return tuple(int(label) for label in np.setdiff1d(self.forget.labels, self.retain.labels))

    def unseen(self) -> Part:
        """Non-members to hold against the forgotten samples: test samples of the same classes."""
        found = self.test[np.isin(self.test.labels, self.forget.labels)]
        if len(found) == 0:
            raise DataError(
                "no test sample has a class of the forgotten samples, so nothing unseen can be compared with them. "
                "Add such test samples."
            )
        return found

    def save(self, path: str | Path) -> None:
        """One safetensors file, whole or not at all."""
        arrays = {f"{name}.{field}": np.ascontiguousarray(getattr(part, field))
                  for name, part in self.parts() for field in ("logits", "labels")}  # fmt: skip
        metadata = {"schema": SCHEMA, "weights_sha256": json.dumps(self.weights_sha256)}
        with Atomic(Path(path), 0o644) as file:
            file.write(save(arrays, metadata=metadata))


def is_outputs(path: str | Path) -> bool:
    """Whether a file was written by `Outputs.save` (and is not a file of weights)."""
    try:
        with safe_open(path, framework="np") as file:
            return (file.metadata() or {}).get("schema") == SCHEMA
    except (SafetensorError, OSError):
        return False


def load(path: str | Path) -> Outputs:
    """What `Outputs.save` wrote."""
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}. Check the path.") from error
    except SafetensorError as error:
        raise DataError(f"{path} is no safetensors file ({error}). Expected what Outputs.save wrote.") from error
    names = {f"{name}.{field}" for name in PARTS for field in ("logits", "labels")}
    if metadata.get("schema") != SCHEMA or set(arrays) != names:
        raise DataError(f"{path} holds no outputs of schema {SCHEMA!r}. Save them with Outputs.save.")
    parts = {name: Part(arrays[f"{name}.logits"], arrays[f"{name}.labels"]) for name in PARTS}
    return Outputs(**parts, weights_sha256=json.loads(metadata["weights_sha256"]))


def same_samples(first: Outputs, second: Outputs, who: str) -> None:
    """Refuse to compare models on different samples."""
    for (name, one), (_, other) in zip(first.parts(), second.parts(), strict=True):
        if one.logits.shape != other.logits.shape or not np.array_equal(one.labels, other.labels):
            raise DataError(
                f"{who} was asked about other samples: its {name} part has logits {other.logits.shape}, and the audited "
                f"model's {one.logits.shape}, or their labels differ. Collect both on the same data, in the same order."
            )


def _checked(name: str, part: Part) -> Part:
    logits, labels = np.asarray(part.logits), np.asarray(part.labels)
    if logits.ndim != 2 or logits.shape[1] < 2 or labels.shape != logits.shape[:1] or len(labels) == 0:
        raise DataError(
            f"the {name} part must have one row of logits (two classes or more) and one label for each sample, and one "
            f"sample or more; got logits {logits.shape} and labels {labels.shape}."
        )
    if not np.isfinite(logits).all():
        raise DataError(
            f"the {name} part has logits that are NaN or infinite. The model is broken; look at its weights."
        )
    if not np.issubdtype(labels.dtype, np.integer) or not 0 <= labels.min() <= labels.max() < logits.shape[1]:
        raise DataError(
            f"{name} labels must be whole numbers in 0 … {logits.shape[1] - 1}; got {labels.dtype} from {labels.min()} to "
            f"{labels.max()}."
        )
    return Part(logits.astype(np.float32, copy=False), labels.astype(np.int64, copy=False))
