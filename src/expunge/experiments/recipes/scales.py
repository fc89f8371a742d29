"""What an experiment is at scales other than the paper's: on digits for a test, and what two cores can do of CIFAR-10.

MNIST is the paper's size at laptop scale, so nothing of it stands here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...methods import Method
from ...workloads import Augment
from ..curve import Looks
from .panel import STEPS, Panel

SMOKE_STEPS = 5


@dataclass(frozen=True, kw_only=True)
class Reduced:
    """A workload on a laptop.

    steps       of a line, instead of 1,000: noisy ones and fine-tuning together. A line with more noisy steps is left out
    training    changes of the training recipe; `test_samples` judge a model, of each part
    says        the same in words, where the numbers do not say it
    methods     fields of methods that would take passes over all the data
    looks       how closely a run is followed for its curve
    pairs       of a calibration; `pair_steps` each of both runs is trained, for two runs a pair are dear
    """

    steps: int
    training: Mapping[str, Any] = field(default_factory=dict[str, Any])
    says: str = ""
    methods: Mapping[str, Any] = field(default_factory=dict[str, Any])
    looks: Looks = field(default_factory=lambda: Looks(200, 1.6))
    pairs: int = 1
    pair_steps: int = 300


# What is trained is worth more than many lines: all recipes share these models. bfloat16 halves a step of ResNet-18; for a
# ViT that begins at nothing, images of 32 give four times the steps in the same time.
LAPTOP = {
    "cifar10-resnet18": Reduced(
        steps=24,
        training={"steps": 250, "lr": 0.025, "schedule": "linear", "autocast": True, "test_samples": 500},
        says="in batches of 64, at a learning rate that falls from 0.025, as 0.1 in batches of 256, to 0",
        methods={"pass_share": 0.04, "fisher_samples": 200, "attack_steps": 10, "statistics_batches": 8},
        looks=Looks(100, 1.6),
        pair_steps=60,
    ),
    "cifar10-vit_tiny": Reduced(
        steps=80,
        training={
            "steps": 1000, "epochs": 2, "schedule": "linear", "autocast": True, "test_samples": 500,
            "augment": Augment(flip=True, resize=32), "options": (("image_size", 32), ("pretrained", False)),
        },
        says="on images of 32, from no pretrained weights, at a learning rate that falls to 0",
    ),
}  # fmt: skip


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
        replace(line, method=_with(_with_steps(line.method, fewer), about.methods))
        for line in panel.lines
        if fewer(_steps(line.method)) > 0
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
    share = about.methods.get("pass_share")
    passes = f" Where a method passes over all the data, it sees {100 * share:g} % of them." if share else ""
    return (
        f"{workload} is trained in {about.training['steps']} steps ({about.says}), has {about.steps} steps a line (noise "
        f"and fine-tuning) instead of {STEPS:,}, and is judged on {about.training['test_samples']} samples of each part."
        f"{passes}"
    )


def _with(method: Method, values: Mapping[str, Any]) -> Method:
    """Those of the values that are fields of this method, set."""
    known = {name: value for name, value in values.items() if hasattr(method, name)}
    return replace(method, **known) if known else method  # pyright: ignore[reportArgumentType,reportUnknownVariableType]


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
