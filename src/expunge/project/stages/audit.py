"""What an attacker or a critic measures, on the new model and on the models it must be held against."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ...accounting.checks import whole

if TYPE_CHECKING:
    from ..stage import Work

COMPARISON = "comparison.json"
BASELINES = ("retrain", "from_public", "from_public_noised", "output_perturbation")


@dataclass(frozen=True)
class Audit:
    """[audit]. Baselines to run beside the new model; `retrained` models in all for the attacks that learn from such."""

    baselines: tuple[Literal["retrain", "from_public", "from_public_noised", "output_perturbation"], ...] = BASELINES
    retrained: int = 1

    def __post_init__(self) -> None:
        whole("retrained", self.retrained)


def audit(work: "Work") -> str:
    """Leaves the comparison. Rows that are finished are kept, so that an interruption costs one at most."""
    from ..contest import Contest

    contest = Contest(work)
    rows = contest.rows()
    work.write_json(COMPARISON, contest.document(rows))
    return "; ".join(f"{row['method']} {_right(row)}" for row in rows)


def _right(row: dict[str, Any]) -> str:
    measured = (row["audit"] or {}).get("accuracy")
    return "done" if measured is None else f"{measured['test']:.1%}"
