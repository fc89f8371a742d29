"""Hyper-parameters as plain JSON values, for results and reports."""

from dataclasses import fields
from typing import Any

from ..accounting import Proximity
from ..calibration import Calibration


class Described:
    """A dataclass that can say what it was set to."""

    def describe(self) -> dict[str, Any]:
        """Every field as a plain JSON value."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}  # pyright: ignore[reportArgumentType]


def plain(value: Any) -> Any:
    """A setting as JSON can say it; what has a description of its own gives that."""
    if isinstance(value, Calibration):
        value = value.proximity
    if isinstance(value, Proximity):
        return {"gap": value.gap, "failure": value.failure, "source": value.source}
    if hasattr(value, "describe"):
        return value.describe()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return getattr(value, "__qualname__", str(value))
