"""The public reference: weights that saw permanent samples alone, and a file beside them that says so.

reference.safetensors    the first stage's weights
reference.json           where they come from, which samples they saw, and the hashes of all
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .. import weights
from ..errors import DataError
from .deletion import index_sha256

SCHEMA = "expunge.reference/1"


@dataclass(frozen=True, eq=False)
class FirstStage:
    """Weights, and the samples that they saw."""

    state: dict[str, Tensor]
    permanent: Tensor
    origin: str
    sha256: dict[str, str]  # of weights, data and permanent indices

    def refuse_other(self, permanent: str, data: str) -> None:
        """Raise where the permanent samples or the data set (their hashes) are not those that it was trained on."""
        for name, found in (("permanent", permanent), ("data", data)):
            if self.sha256[name] != found:
                raise DataError(
                    f"the reference ({self.origin}) saw other {name} (SHA-256 {self.sha256[name][:16]}…, and these are "
                    f"{found[:16]}…). Give what it was trained with."
                )


def refuse_permanent(forget: Tensor, permanent: Tensor) -> None:
    """What is permanent is in the reference, which no request changes."""
    if len(wrong := forget[torch.isin(forget, permanent)]):
        raise DataError(
            f"{len(wrong)} of {len(forget)} samples to forget are permanent (index {int(wrong[0])} is one): the first stage "
            "was trained on them, and unlearning cannot reach it. Train again without them, from the first stage on."
        )


def save_first_stage(path: Path, state: dict[str, Tensor], permanent: Tensor, origin: str, data: str) -> FirstStage:
    """Write both files."""
    sha256 = {"weights": weights.save(state, path), "data": data, "permanent": index_sha256(permanent)}
    declared = {"schema": SCHEMA, "origin": origin, "sha256": sha256, "permanent": permanent.tolist()}
    path.with_suffix(".json").write_text(json.dumps(declared), encoding="utf-8")
    return FirstStage(state, permanent, origin, sha256)


def load_first_stage(path: Path) -> FirstStage:
    """Both files, if they belong together."""
    declaration = path.with_suffix(".json")
    try:
        declared: dict[str, Any] = json.loads(declaration.read_text(encoding="utf-8"))
        found = FirstStage(
            weights.load(path), torch.tensor(declared["permanent"]), declared["origin"], dict(declared["sha256"])
        )
        hashes = {"weights": weights.digest(found.state), "permanent": index_sha256(found.permanent)}
        other = [name for name, value in hashes.items() if found.sha256[name] != value]
    except (OSError, ValueError, LookupError, TypeError, RuntimeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{path} needs {declaration.name} beside it, as `expunge train --permanent` writes it "
            f"({type(error).__name__}: {error})."
        ) from error
    if other:
        raise DataError(f"{declaration} declares other {other[0]} than {path} has. Keep the two files together.")
    return found
