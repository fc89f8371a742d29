"""What will be done: the least noise that keeps the target at the measured proximity."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ...accounting.checks import number, whole
from .calibrate import PROXIMITY

if TYPE_CHECKING:
    from ..stage import Work

PLAN, LEDGER = "plan.json", "ledger.json"


@dataclass(frozen=True)
class Mechanism:
    """[mechanism]. The noisy steps: on which blocks, how many, how large. clip = 0 takes no gradient step.

    `clip` is C₁ of the whole parameter vector, or a list with one for each block.
    """

    design: Literal["Whole", "RandomRotation", "FastRotation", "Permutation", "LayerCycle", "HeadBody"] = "Permutation"
    blocks: int = 4
    clip: float | tuple[float, ...] = 0.0
    step_size: float = 1.0
    weight_decay: float = 0.0
    steps: int | Literal["best"] = 1

    def __post_init__(self) -> None:
        whole("blocks", self.blocks)
        if self.steps != "best":
            whole("steps", self.steps)
        for name in ("step_size", "weight_decay"):
            number(name, getattr(self, name), least=0.0)
        for clip in self.clip if isinstance(self.clip, tuple) else (self.clip,):
            number("clip", clip, least=0.0)

    def make_design(self) -> Any:
        """The block design."""
        from ...subspaces import from_description

        arguments = {} if self.design in ("Whole", "HeadBody") else {"k": self.blocks}
        return from_description({"kind": self.design, **arguments})


def plan(work: "Work") -> str:
    """Leaves the plan, and what of it costs privacy as a ledger of its own."""
    from ... import api
    from ...accounting.ledger import read_proximity, to_json

    mechanism, target = work.project.mechanism, work.project.target
    made = api.plan(
        work.materials.fresh(),
        blocks=work.project.design(),
        proximity=read_proximity(work.read(PROXIMITY)["proximity"]),
        epsilon=target.epsilon,
        delta=target.delta,
        accountant=target.accountant,
        clip=mechanism.clip,
        step_size=mechanism.step_size,
        weight_decay=mechanism.weight_decay,
        steps=mechanism.steps,
    )
    work.write(PLAN, made.to_json() + "\n")
    work.write(LEDGER, to_json(made.blocks) + "\n")
    steps = sum(len(block.steps) for block in made.blocks)
    sigma = max(step.sigma for block in made.blocks for step in block.steps)
    return f"{steps} noisy steps in {len(made.blocks)} blocks, sigma {sigma:.4g}"
