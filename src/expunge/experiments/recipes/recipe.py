"""What an experiment is, as data; nothing here runs.

A recipe is one table or figure of the paper. It has panels: one kind of trained model and one request (a budget, a class).
A panel has lines: one method with its settings, and what the paper reports for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from ...methods import Method
from ...workloads import Deletion

Scale = Literal["smoke", "laptop", "paper"]
M = TypeVar("M")
SMOKE_STEPS = 5


@dataclass(frozen=True, kw_only=True)
class Line:
    """A method, set up, and the paper's numbers for it (in percent). `ours` is what we recommend instead."""

    label: str
    method: Method
    paper: Mapping[str, float] = field(default_factory=dict[str, float])
    ours: bool = False


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Lines that start from the same trained models and answer the same request. `training` changes the recipe."""

    title: str
    workload: str
    deletion: Deletion
    lines: tuple[Line, ...]
    training: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """`shows` names the columns of its table; `claim` is what the paper says that it shows."""

    name: str
    title: str
    source: str
    claim: str
    panels: tuple[Panel, ...]
    shows: tuple[str, ...] = ("lowest", "final", "noise_seconds", "seconds")
    seeds: int = 5
    note: str = ""

    def at(self, scale: Scale) -> "Recipe":
        """In seconds, on digits, for tests; at the other scales the workloads differ and the recipe does not."""
        if scale != "smoke":
            return self
        return replace(self, seeds=1, panels=tuple(map(shortened, self.panels[:2])))


def shortened(panel: Panel) -> Panel:
    """The panel on digits, with a handful of steps."""
    lines = tuple(replace(line, method=_short(line.method)) for line in panel.lines)
    return replace(panel, workload="digits-mlp", lines=lines, training={"epochs": 2})


def _short(method: M) -> M:
    """The same method with a handful of steps wherever it counts steps."""
    changes: dict[str, Any] = {}
    for name in ("fine_tune", "clean", "recipe"):
        if (recipe := getattr(method, name, None)) is not None:
            changes[name] = replace(recipe, steps=min(recipe.steps, SMOKE_STEPS))
    if hasattr(method, "epochs"):
        changes["steps"] = SMOKE_STEPS
    return replace(method, **changes) if changes else method  # pyright: ignore[reportArgumentType]
