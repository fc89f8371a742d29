"""What an experiment is at scales other than the paper's: on digits for a test, and what two cores can do of CIFAR-10.

MNIST is the paper's size at laptop scale, so nothing of it stands here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...methods import Method
from .panel import STEPS, Panel

SMOKE_STEPS = 5


@dataclass(frozen=True, kw_only=True)
class Reduced:
    """A workload on a laptop.

    steps       of a line, instead of 1,000: noisy ones and fine-tuning together. A line with more noisy steps is left out
    training    changes of the training recipe; `test_samples` judge a model, of each part
    without     methods that need passes over all data
    pairs       of a calibration
    """

    steps: int
    training: Mapping[str, Any] = field(default_factory=dict[str, Any])
    without: tuple[str, ...] = ()
    pairs: int = 1


LAPTOP = {
    "cifar10-resnet18": Reduced(
        steps=24, training={"steps": 60, "test_samples": 200}, without=("influence", "amun", "salun")
    ),
    "cifar10-vit_tiny": Reduced(steps=40, training={"steps": 120, "test_samples": 200}),
}


def shortened(panel: Panel) -> Panel:
    """The panel on digits, with a handful of steps."""
    lines = tuple(replace(line, method=_with_steps(line.method, _least)) for line in panel.lines)
    return replace(panel, workload="digits-mlp", lines=lines, training={"epochs": 2})


def reduced(panel: Panel) -> Panel:
    """The panel as a laptop runs it."""
    about = LAPTOP.get(panel.workload)
    if about is None:
        return panel

    def fewer(steps: int) -> int:
        return steps - STEPS + about.steps  # what is not fine-tuning stays

    lines = tuple(
        replace(line, method=_with_steps(line.method, fewer))
        for line in panel.lines
        if line.method.name not in about.without and fewer(_steps(line.method)) > 0
    )
    return replace(panel, lines=lines, training={**panel.training, **about.training})


def words(planned: Sequence[Panel], run: Sequence[Panel]) -> str:
    """What was left out or made shorter."""
    parts = [_lengths(workload) for workload in dict.fromkeys(panel.workload for panel in run) if workload in LAPTOP]
    if not parts:
        return ""
    titles = {panel.title: {line.label for line in panel.lines} for panel in run}
    left = [panel.title for panel in planned if panel.title not in titles]
    lines = [x.label for panel in planned for x in panel.lines if x.label not in titles.get(panel.title, {x.label})]
    missing = ", ".join(dict.fromkeys([*left, *lines]))
    return " ".join(["Scaled for two cores:", *parts, "One seed.", *([f"Left out: {missing}."] if missing else [])])


def _lengths(workload: str) -> str:
    about = LAPTOP[workload]
    return (
        f"{workload} is trained in {about.training['steps']} steps, has {about.steps} steps a line (noise and fine-tuning) "
        f"instead of {STEPS:,}, and is judged on {about.training['test_samples']} samples of each part."
    )


def _least(steps: int) -> int:
    return min(steps, SMOKE_STEPS)


def _steps(method: Method) -> int:
    """Of its fine-tuning, or of all it does."""
    recipe = getattr(method, "fine_tune", None) or getattr(method, "recipe", None)
    return STEPS if recipe is None else recipe.steps


def _with_steps(method: Method, change: Any) -> Method:
    """The same method with another number of steps wherever it counts steps."""
    changes: dict[str, Any] = {}
    for name in ("fine_tune", "clean", "recipe"):
        if (recipe := getattr(method, name, None)) is not None:
            changes[name] = replace(recipe, steps=change(recipe.steps))
    if hasattr(method, "epochs"):
        changes["steps"] = change(STEPS)
    return replace(method, **changes) if changes else method  # pyright: ignore[reportArgumentType,reportUnknownVariableType]
