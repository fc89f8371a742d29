"""RTE: what unlearning cost, as it is and beside retraining."""

from typing import Any

from ..errors import ConfigError


def effort(
    *, seconds: float, steps: int, retrain_seconds: float | None = None, retrain_steps: int | None = None
) -> dict[str, Any]:
    """Seconds and steps; relative to retraining where that was measured on the same machine, else null."""
    return {
        "seconds": seconds,
        "steps": steps,
        "relative_seconds": _ratio("retrain_seconds", seconds, retrain_seconds),
        "relative_steps": _ratio("retrain_steps", steps, retrain_steps),
    }


def _ratio(name: str, value: float, whole: float | None) -> float | None:
    if whole is not None and not whole > 0.0:
        raise ConfigError(f"{name} must be above 0; got {whole!r}. Leave it out if nothing was retrained.")
    return None if whole is None else value / whole
