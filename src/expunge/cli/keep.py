"""The options of keep-spaces, the same for `calibrate` and `unlearn`, so that a proximity fits the run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cyclopts import Parameter

from ..errors import ConfigError
from . import loading
from .numbers import WholeNumber

KEEP_SPACES = ("Core", "Factor", "Head")


@Parameter(name="*")
@dataclass(frozen=True)
class Keep:
    """Of the designs Core, Factor and Head, which keep a part and reset the rest to a public reference.

    Parameters
    ----------
    rank
        Core, Factor: leading directions that each matrix keeps.
    vectors
        Core: whether biases and norms are reset or kept.
    side
        Factor: the side that is fixed.
    head
        Head: the module that is kept.
    rest
        What the reset part becomes: the reference, or where the bases' run ended.
    bases_steps
        Core, Factor: steps of the run on retained data, from the reference, that finds the directions.
    bases_optimizer
        Its optimiser.
    bases_lr
        Its learning rate.
    reference
        package.module:factory, which makes the public initialisation under --reference-seed.
    reference_seed
        Its seed.
    reference_file
        Or a published file of weights that never saw the data, with --reference-sha256 and --reference-origin.
    reference_sha256
        The file's SHA-256, as published.
    reference_origin
        Where it was published, in words; it stands in the certificate.
    """

    rank: WholeNumber = 20
    vectors: Literal["reset", "keep"] = "reset"
    side: Literal["left", "right"] = "right"
    head: str | None = None
    rest: Literal["reference", "run"] = "reference"
    bases_steps: WholeNumber | None = None
    bases_optimizer: Literal["sgd", "adam", "adamw"] = "sgd"
    bases_lr: float = 0.01
    reference: str | None = None
    reference_seed: WholeNumber = 0
    reference_file: Path | None = None
    reference_sha256: str | None = None
    reference_origin: str = ""


def design(name: loading.DesignName, blocks: int | None, keep: Keep) -> Any:
    """A block design by name, keep-spaces included; `blocks` by default 4, inside a keep-space 1."""
    if name not in KEEP_SPACES:
        return loading.design(name, 4 if blocks is None else blocks)
    import expunge

    from .. import subspaces

    if keep.reference is None and keep.reference_file is None:
        raise ConfigError(f"--design {name} resets to a public reference: name --reference or --reference-file.")
    reference = expunge.Reference(
        None if keep.reference is None else loading.function("reference", keep.reference),
        keep.reference_seed,
        keep.reference_file,
        keep.reference_sha256,
        keep.reference_origin,
    )
    run = None if keep.bases_steps is None else expunge.FineTune(keep.bases_steps, keep.bases_optimizer, keep.bases_lr)
    shared: dict[str, Any] = {
        "reference": reference,
        "bases": run,
        "rest": keep.rest,
        "k": 1 if blocks is None else blocks,
    }
    if name == "Core":
        return subspaces.Core(keep.rank, keep.vectors, **shared)
    if name == "Factor":
        return subspaces.Factor(keep.rank, keep.side, **shared)
    if keep.head is None:
        raise ConfigError("--design Head keeps one module: name it with --head.")
    return subspaces.Head(keep.head, **shared)
