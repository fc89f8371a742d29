"""What a run tells while it works. A meter is any function of a `Progress`; the library itself never prints."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..accounting.checks import whole
from ..bars import Bars

Phase = Literal["bases", "clean", "noise", "statistics", "fine-tune"]


@dataclass(frozen=True)
class Progress:
    """One step just taken (of `steps` in this phase)."""

    phase: Phase
    step: int
    steps: int
    block: int | None = None
    loss: float | None = None
    gradient_norm: float | None = None
    clip: float | None = None
    accuracy: float | None = None  # where somebody measures it: see `measured`

    @property
    def point(self) -> dict[str, Any]:
        """For a curve, in JSON: a loss that is no number is none."""
        loss = self.loss if self.loss is not None and math.isfinite(self.loss) else None
        return {"phase": self.phase, "step": self.step, "block": self.block, "loss": loss}


Meter = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """No progress at all."""


def combine(*meters: Meter) -> Meter:
    """One meter that tells all of these."""

    def tell(progress: Progress) -> None:
        for meter in meters:
            meter(progress)

    return tell


def measured(meter: Meter, accuracy: Callable[[], float], *, every: int) -> Meter:
    """The same meter, told the accuracy as well: after every so many steps, and at the end of each phase.

    What it measures before the last noisy step is about weights that no certificate covers. Keep such numbers to yourself.
    """
    every = whole("every", every)

    def tell(progress: Progress) -> None:
        due = progress.step % every == 0 or progress.step == progress.steps
        meter(replace(progress, accuracy=accuracy()) if due else progress)

    return tell


class RichMeter:
    """A bar for each phase on a terminal, elsewhere a plain line every few seconds. `with RichMeter() as meter: ...`."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._bars = Bars(quiet=quiet)
        self._accuracy = ""

    def __enter__(self) -> "RichMeter":
        self._bars.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.__exit__()

    def __call__(self, progress: Progress) -> None:
        """Move the phase's bar."""
        if progress.accuracy is not None:
            self._accuracy = f"  accuracy {progress.accuracy:.1%}"
        self._bars.move(progress.phase, progress.step, progress.steps, _note(progress) + self._accuracy)


def _note(progress: Progress) -> str:
    parts = [] if progress.block is None else [f"block {progress.block}"]
    if progress.loss is not None:
        parts.append(f"loss {progress.loss:.4g}")
    if progress.gradient_norm is not None:
        parts.append(f"gradient {progress.gradient_norm:.3g} (clip {progress.clip:.3g})")
    return "  ".join(parts)
