"""What every way to unlearn is given, and what it gives back.

A method is a frozen dataclass of its hyper-parameters, called with a `Task`. It says of itself what it is: "certified" (its
run comes with a certificate), "exact" (trained without the data), or "empirical" (a heuristic that promises nothing).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from torch import nn

from ..certificate import Certificate
from ..errors import ConfigError
from ..unlearning import Indices, Loss, Meter, Progress, silent

Kind = Literal["certified", "exact", "empirical"]
OnStep = Callable[[Progress, nn.Module], None]
Train = Callable[[nn.Module, Iterable[Any]], tuple[int, int] | None]


def unwatched(_: Progress, __: nn.Module) -> None:
    """Nobody looks at the model on the way."""


@dataclass(frozen=True)
class Task:
    """One deletion request, as a method sees it.

    model           trained on everything; changed in place and given back. Exact methods give back a fresh one
    retain          batches of retained data, which can be iterated again and again; (inputs, labels) for empirical methods
    loss            loss(model, batch) → scalar
    forget          batches of the data that goes, for the methods that look at them
    fresh           makes the public initialisation, for the methods that begin there
    train           train(model, retain), as the original was trained, in place. It may return (steps, samples) where it
                    does not draw its batches from `retain`; otherwise they are counted
    forget_indices  indices that must not be in the retained data, and `indices`, how to tell those of a batch: for the
                    certified methods, whose certificate says what was compared
    seed            of order, dropout and random labels. Noise that is certified has no seed
    progress        told of every step; `on_step` sees the model too. Neither counts as the method's time
    """

    model: nn.Module
    retain: Iterable[Any]
    loss: Loss
    forget: Iterable[Any] | None = None
    fresh: Callable[[], nn.Module] | None = None
    train: Train | None = None
    forget_indices: Sequence[int] | None = None
    indices: Indices | None = None
    seed: int = 0
    progress: Meter = silent
    on_step: OnStep = unwatched

    def __post_init__(self) -> None:
        if not isinstance(self.model, nn.Module) or not callable(self.loss):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(
                f"a task needs a torch.nn.Module and a loss(model, batch); got {type(self.model).__name__} and "
                f"{type(self.loss).__name__}."
            )

    def forgotten(self, method: str) -> Iterable[Any]:
        """The batches of D_f, or an error that names the method."""
        if self.forget is None:
            raise ConfigError(f"{method} looks at the data that goes. Give Task(forget=batches of it).")
        return self.forget

    def begin_afresh(self, method: str) -> nn.Module:
        """A fresh model, or an error that names the method."""
        if self.fresh is None:
            raise ConfigError(f"{method} begins at the public initialisation. Give Task(fresh=function that makes it).")
        model = self.fresh()
        if not isinstance(model, nn.Module) or model is self.model:
            raise ConfigError(
                f"Task.fresh must make a new module each time; got {type(model).__name__}, not a new one."
            )
        return model.to(next(self.model.parameters()).device)


@dataclass(frozen=True)
class Unlearned:
    """What a method did. `seconds` is its own time: no one else's looking at the model is in it.

    steps       updates of the weights
    samples     how many times a sample went through the model for them, forward (an attack's steps count too)
    details     settings, seconds of each phase, and what else is worth knowing
    """

    method: str
    kind: Kind
    model: nn.Module
    certificate: Certificate | None
    steps: int
    samples: int
    seconds: float
    details: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if (self.kind == "certified") != (self.certificate is not None):
            raise ConfigError(
                f"{self.method} is {self.kind}: a certificate belongs to certified methods, and to no other."
            )


class Named(Protocol):
    """What a method says of itself: its name in the registry, what it is, and how it is set."""

    name: ClassVar[str]
    kind: ClassVar[Kind]

    def describe(self) -> dict[str, Any]:
        """The hyper-parameters as plain JSON values."""
        ...


class Method(Named, Protocol):
    """A way to unlearn."""

    def __call__(self, task: Task) -> Unlearned:
        """Unlearn."""
        ...
