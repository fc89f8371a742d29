"""The rows of a comparison by method, over its seeds."""

from collections.abc import Callable
from dataclasses import dataclass

from .documents import Attack, Row
from .results import Results
from .words import label

BASELINES = ("output_perturbation", "from_public", "from_public_noised", "retrain")
ATTACKS = {
    "lira": "LiRA",
    "u_lira": "U-LiRA",
    "rmia": "RMIA",
    "loss_threshold": "loss threshold",
    "svc_confidence": "SVC on confidence",
    "svc_entropy": "SVC on entropy",
}  # the strongest first


@dataclass(frozen=True)
class Spread:
    """The mean over seeds, the least and the most."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Summary:
    """All rows of one method."""

    method: str
    kind: str
    rows: tuple[Row, ...]

    @property
    def label(self) -> str:
        """Its name for people."""
        return label(self.method)

    def over(self, get: Callable[[Row], float | None]) -> Spread | None:
        """A number over the seeds; none where any of them lacks it."""
        found = [value for value in map(get, self.rows) if value is not None]
        if len(found) < len(self.rows):
            return None
        return Spread(sum(found) / len(found), min(found), max(found))

    def accuracy(self, part: str) -> Spread | None:
        """On "forget", "retain", "test" or "test_retained_classes"."""
        return self.over(lambda row: getattr(row.audit.accuracy, part) if row.audit and row.audit.accuracy else None)

    def attack(self, name: str, field: str) -> Spread | None:
        """A number that an attack gave. A single run's AUC has its confidence interval as spread."""
        found = self.over(lambda row: getattr(_attack(row, name), field))
        only = _attack(self.rows[0], name) if len(self.rows) == 1 else Attack()
        if found is not None and field == "auc" and only.interval is not None:
            return Spread(found.mean, *only.interval)
        return found

    def distance(self, field: str) -> Spread | None:
        """How far from the retrained model."""
        return self.over(
            lambda row: getattr(row.audit.to_retrained, field) if row.audit and row.audit.to_retrained else None
        )

    @property
    def seconds(self) -> Spread | None:
        """How long it took."""
        return self.over(lambda row: row.seconds)

    @property
    def steps(self) -> Spread | None:
        """How many steps it took."""
        return self.over(lambda row: row.steps)


def summaries(results: Results) -> list[Summary]:
    """Every method: the certified one first, its baselines after it, retraining last."""
    rows = results.comparison.rows if results.comparison else ()
    names = sorted(dict.fromkeys(row.method for row in rows), key=lambda name: _rank(name, main_method(results)))
    found = {name: tuple(row for row in rows if row.method == name) for name in names}
    return [Summary(name, own[0].kind, own) for name, own in found.items()]


def main_method(results: Results) -> str | None:
    """The method that the certificate is of: as named, else the first certified one that is no baseline."""
    if results.method is not None or results.comparison is None:
        return results.method
    certified = [row.method for row in results.comparison.rows if row.kind == "certified"]
    return next((name for name in certified if name not in BASELINES), None)


def by_name(results: Results) -> dict[str, Summary]:
    """The same, to be looked up."""
    return {summary.method: summary for summary in summaries(results)}


def test_part(found: list[Summary]) -> str:
    """The part that test accuracy is measured on: without the forgotten classes, where every method says that."""
    apart = bool(found) and all(summary.accuracy("test_retained_classes") is not None for summary in found)
    return "test_retained_classes" if apart else "test"


def _rank(name: str, main: str | None) -> int:
    order = [main, *BASELINES[:-1]]
    return order.index(name) if name in order else 99 if name == "retrain" else 50


def _attack(row: Row, name: str) -> Attack:
    return ((row.audit.mia if row.audit else None) or {}).get(name, Attack())
