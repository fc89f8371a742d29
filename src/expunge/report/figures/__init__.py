"""Every figure of the report, as data. A new one is a function of the results and a line here."""

from collections.abc import Callable

from ..results import Results
from . import audits, privacy, run
from .figure import Figure

FIGURES: dict[str, Callable[[Results], list[Figure]]] = {
    "progress": run.progress,
    "calibration": privacy.calibration,
    "privacy": privacy.privacy,
    "recertification": privacy.recertification,
    "signal": run.signal,
    "accuracy": audits.accuracy,
    "attacks": audits.attacks,
    "roc": audits.roc,
    "cost": audits.cost,
}

__all__ = ["FIGURES", "Figure", "figures"]


def figures(results: Results) -> dict[str, list[Figure]]:
    """By section; a section that was not measured has none."""
    return {section: make(results) for section, make in FIGURES.items()}
