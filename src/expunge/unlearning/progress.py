"""What a run tells while it works. A meter is any function of a `Progress`; the library itself never prints."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Phase = Literal["clean", "noise", "statistics", "fine-tune"]


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


Meter = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """No progress at all."""


class RichMeter:
    """Bars on a terminal, one per phase. Use as a context manager: `with RichMeter() as meter: ...`."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        columns = ("{task.description:<12}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bars = Bars(*columns, TextColumn("{task.fields[note]}"))
        self._tasks: dict[str, int] = {}

    def __enter__(self) -> "RichMeter":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def __call__(self, progress: Progress) -> None:
        """Move the phase's bar."""
        if progress.phase not in self._tasks:
            self._tasks[progress.phase] = self._bars.add_task(progress.phase, total=progress.steps, note="")
        task = self._tasks[progress.phase]
        self._bars.update(task, completed=progress.step, total=progress.steps, note=_note(progress))  # pyright: ignore[reportArgumentType]


def _note(progress: Progress) -> str:
    parts = [] if progress.block is None else [f"block {progress.block}"]
    if progress.loss is not None:
        parts.append(f"loss {progress.loss:.4g}")
    if progress.gradient_norm is not None:
        parts.append(f"gradient {progress.gradient_norm:.3g} (clip {progress.clip:.3g})")
    return "  ".join(parts)
