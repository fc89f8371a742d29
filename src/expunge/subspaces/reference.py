"""The public reference of reset blocks: weights that never saw the removed data, and where they come from.

Only two kinds can be named, so that the trained weights do not become one by accident: what a factory makes from a seed
(the engine calls it), and a published file with its SHA-256.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .. import weights
from ..accounting.checks import whole
from ..errors import ConfigError, DataError

PIECE = 2**24


@dataclass(frozen=True)
class Reference:
    """`Reference(make, seed=0)`: a fresh initialisation. `Reference(file=…, sha256=…, origin="where it was published")`."""

    factory: Callable[[], nn.Module] | None = None
    seed: int = 0
    file: str | Path | None = None
    sha256: str | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        whole("seed", self.seed, least=0, most=2**62)
        if (self.factory is None) == (self.file is None) or not (self.factory is None or callable(self.factory)):
            raise ConfigError(
                "a reference is a function without arguments that makes a fresh model (Reference(make, seed=0)), or a "
                f"public file; got factory {self.factory!r:.60} and file {self.file!r:.60}."
            )
        if self.file is not None and not (self.sha256 and self.origin):
            raise ConfigError(
                "a reference file needs its SHA-256, as published, and its origin in words: "
                'Reference(file=…, sha256=…, origin="ImageNet weights of …"). Both stand in the certificate.'
            )

    @cached_property
    def parameters(self) -> dict[str, Tensor]:
        """Names and values, on the CPU."""
        if self.factory is None:
            return _read(Path(str(self.file)), str(self.sha256))
        first, second = _made(self.factory, self.seed), _made(self.factory, self.seed)
        if weights.digest(first) != weights.digest(second):
            raise ConfigError(
                f"{self.where} made two different models from one seed. It must draw from torch's generator alone."
            )
        return first

    @property
    def where(self) -> str:
        """Its origin in words."""
        if self.factory is None:
            return self.origin
        return f"{self.origin + ': ' if self.origin else ''}{_name(self.factory)} under seed {self.seed}"

    def describe(self) -> dict[str, Any]:
        """Where it comes from, and the fingerprint of its weights."""
        return {"origin": self.where, "sha256": weights.digest(self.parameters)}


def _made(factory: Callable[[], nn.Module], seed: int) -> dict[str, Tensor]:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = factory()
    if not isinstance(made, nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"the reference's factory must return a torch.nn.Module; got {type(made).__name__}.")
    return {name: parameter.detach().to("cpu", copy=True) for name, parameter in made.named_parameters()}


def _read(path: Path, stated: str) -> dict[str, Tensor]:
    hashing = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                hashing.update(piece)
    except OSError as error:
        raise DataError(f"cannot read the reference {path}: {error.strerror or error}. Check the path.") from error
    if hashing.hexdigest() != stated.lower():
        raise DataError(f"{path} is not the reference that was declared: its SHA-256 is {hashing.hexdigest()}.")
    return weights.load(path)


def _name(function: Any) -> str:
    if isinstance(function, partial):
        settings = [repr(value) for value in function.args] + [f"{k}={v!r}" for k, v in function.keywords.items()]
        return f"{_name(function.func)}({', '.join(settings)})"
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__qualname__)}"
