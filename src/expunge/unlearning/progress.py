"""What a run tells while it works. A meter is any function of a `Progress`; the library itself never prints."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

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
    """Bars on a terminal's standard error, one per phase; elsewhere nothing. `with RichMeter() as meter: ...`."""

    def __init__(self, *, quiet: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bars = Bars(
            *columns,
            TextColumn("{task.fields[note]}"),
            console=console,
            disable=quiet or not console.is_terminal,
        )
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> "RichMeter":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def __call__(self, progress: Progress) -> None:
        """Move the phase's bar."""
        if progress.phase not in self._tasks:
            self._tasks[progress.phase] = self._bars.add_task(progress.phase, total=progress.steps, note="")
        self._bars.update(self._tasks[progress.phase], completed=progress.step, note=_note(progress))


def _note(progress: Progress) -> str:
    parts = [] if progress.block is None else [f"block {progress.block}"]
    if progress.loss is not None:
        parts.append(f"loss {progress.loss:.4g}")
    if progress.gradient_norm is not None:
        parts.append(f"gradient {progress.gradient_norm:.3g} (clip {progress.clip:.3g})")
    return "  ".join(parts)
