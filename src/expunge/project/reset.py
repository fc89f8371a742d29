"""[reset]: keep and noise a small core of every weight matrix, and reset the rest to what never saw the removed data."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..accounting.checks import number, whole

if TYPE_CHECKING:
    from .settings import Project


@dataclass(frozen=True)
class Reset:
    """[reset]. `rank` of the core; without one, nothing is reset.

    Its directions come from a run of `steps` on retained data from the public initialisation; `rest` says whether the rest
    becomes that initialisation ("reference"), or where the run ended ("run").
    """

    rank: int | None = None
    steps: int = 100
    optimizer: Literal["sgd", "adam", "adamw"] = "adam"
    lr: float = 1e-3
    rest: Literal["reference", "run"] = "run"

    def __post_init__(self) -> None:
        if self.rank is not None:
            whole("rank", self.rank)
        whole("steps", self.steps)
        number("lr", self.lr, least=0.0)

    def design(self, project: "Project") -> Any:
        """The core, as calibration, plan and engine take it; none without a rank."""
        if self.rank is None:
            return None
        from ..subspaces import Core, Reference
        from ..unlearning import FineTune
        from .coupled import Fresh

        reference = Reference(Fresh(project), project.project.seed, origin="the public initialisation")
        run = FineTune(self.steps, self.optimizer, self.lr, schedule="cosine")
        return Core(self.rank, reference=reference, bases=run, rest=self.rest)
