"""Progress for people, on standard error: bars on a terminal, elsewhere a plain line every few seconds, or nothing.

The library never makes one of these by itself: a command, or the user, passes it in.
"""

import sys
import time
from typing import Any

FIRST, EVERY = 2.0, 5.0  # seconds before the first plain line, and between two


class Bars:
    """`with Bars() as bars: bars.move("training", done, total, "loss 0.3")`. One bar for each name."""

    def __init__(self, *, quiet: bool = False) -> None:
        from rich.console import Console

        console = Console(stderr=True)
        self._shown: _Shown = _Nothing() if quiet else _Rich(console) if console.is_terminal else _Plain()

    def __enter__(self) -> "Bars":
        self._shown.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.stop()

    def move(self, name: str, done: int, total: int, note: str = "") -> None:
        """`done` of `total`, with what else there is to say."""
        self._shown.move(name, done, total, note)

    def say(self, text: str) -> None:
        """One line, whatever the bars do."""
        self._shown.say(text)


class _Nothing:
    """Silence."""

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def move(self, name: str, done: int, total: int, note: str) -> None:
        pass

    def say(self, text: str) -> None:
        pass


class _Plain(_Nothing):
    """Lines, for a log: what is over in two seconds writes none."""

    def __init__(self) -> None:
        self._began: dict[str, tuple[float, int]] = {}
        self._last: dict[str, int] = {}
        self._due: dict[str, float] = {}

    def move(self, name: str, done: int, total: int, note: str) -> None:
        now = time.monotonic()
        if done < self._last.get(name, done + 1):  # the first, or another of the same name
            self._began[name], self._due[name] = (now, done), now + FIRST
        self._last[name] = done
        if now < self._due[name] or done == total:
            return
        began, first = self._began[name]
        self._due[name] = now + EVERY
        left = (now - began) / max(1, done - first) * (total - done)
        share = f" ({done / total:.0%})" if total else ""
        self.say(
            "  ".join(part for part in (f"{name} {done}/{total}{share}", f"about {duration(left)} left", note) if part)
        )

    def say(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class _Rich(_Nothing):
    """Bars that move."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bars = Progress(*columns, TextColumn("{task.fields[note]}"), console=console)
        self._tasks: dict[str, Any] = {}

    def start(self) -> None:
        self._bars.start()

    def stop(self) -> None:
        self._bars.stop()

    def move(self, name: str, done: int, total: int, note: str) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=total, note="")
        self._bars.update(self._tasks[name], completed=done, total=total, note=note)

    def say(self, text: str) -> None:
        self._bars.console.print(text, highlight=False, markup=False, soft_wrap=True)


_Shown = _Nothing


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
