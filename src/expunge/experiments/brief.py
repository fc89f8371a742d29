"""A row of a comparison without what only a figure shows: kept in documentation, and compared by eye."""

from typing import Any

FIGURES = ("roc",)  # of each attack
PARTS = ("noise",)  # of a method's details: as many entries as there are blocks and steps


def brief(row: dict[str, Any], *, curve: bool = False) -> dict[str, Any]:
    """The row without the curves of attacks and the noise of each step; accuracy along the run stays with `curve`."""
    kept = {name: value for name, value in row.items() if curve or name != "curve"}
    if row.get("audit"):
        attacks = {name: _without(found, FIGURES) for name, found in row["audit"]["mia"].items()}
        kept["audit"] = {**row["audit"], "mia": attacks}
    if "details" in row:
        kept["details"] = _without(row["details"], PARTS)
    return kept


def _without(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}
