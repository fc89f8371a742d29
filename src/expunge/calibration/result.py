"""What was measured, and what it supports: order statistics of the gaps, and nothing more."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..accounting import Proximity
from ..accounting.checks import number
from ..accounting.proximity import confidence, order_statistic, pairs_needed
from ..errors import ConfigError, ProximityError
from .pair import is_failed

SCHEMA = "expunge.calibration/1"


@dataclass(frozen=True)
class Calibration:
    """Every gap that was measured, and the proximity that they support."""

    proximity: Proximity
    pairs: tuple[dict[str, Any], ...]
    coupling: dict[str, Any]

    @property
    def gaps(self) -> list[float]:
        """Of the pairs that ended well, in their order."""
        return [pair["gap"]["total"] for pair in self.pairs if not is_failed(pair)]

    @property
    def confidence(self) -> float:
        """How sure these pairs make us that the bound covers 1 − ϱ of all requests."""
        rank = round(self.proximity.failure * (len(self.pairs) + 1))
        return confidence(len(self.pairs), self.proximity.failure, rank=rank)

    @property
    def steps(self) -> list[int]:
        """The training steps at which there are gaps."""
        good = [pair for pair in self.pairs if not is_failed(pair)]
        return [point["step"] for point in good[0]["trajectory"]]

    def at(self, step: int) -> Proximity:
        """The proximity of the checkpoint at a step of the trajectory, by the same order statistic."""
        if self.proximity.entry is not None:
            raise ConfigError("the trajectory was measured before the clean phase. Calibrate the checkpoint after it.")
        if step not in self.steps:
            raise ConfigError(f"step must be one of {', '.join(map(str, self.steps))}; got {step}.")
        place = self.steps.index(step)
        gaps = [math.inf if is_failed(pair) else pair["trajectory"][place]["gap"]["total"] for pair in self.pairs]
        found = support(gaps, self.proximity.failure, 1.0)
        chosen = f"the checkpoint (step {step}) was not chosen for its small gap among the {len(self.steps)} measured"
        return replace(found, assumptions=(*found.assumptions, chosen), source=f"{found.source}, at step {step}")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; the proximity can be read alone."""
        return {
            "schema": SCHEMA,
            "proximity": {**asdict(self.proximity), "assumptions": list(self.proximity.assumptions)},
            "gaps": self.gaps,
            "confidence": self.confidence,
            "says": self.summary(),
            "coupling": self.coupling,
            "pairs": list(self.pairs),
        }

    def save(self, path: str | Path) -> None:
        """Write the proximity file, which `plan`, `unlearn` and `recertify` read."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1, allow_nan=False), encoding="utf-8")

    def summary(self) -> str:
        """What the pairs can and cannot support, in words."""
        count, failure = len(self.pairs), self.proximity.failure
        failed = sum(map(is_failed, self.pairs))
        lost = f" {failed} of them failed and count as infinite." if failed else ""
        return (
            f"{count} pairs.{lost} The next request's gap exceeds {self.proximity.gap:.6g} with probability at most "
            f"{failure:.4g}, over pairs and request together. That these pairs cover 1 − {failure:.4g} of all requests has "
            f"confidence {self.confidence:.0%}. They support no failure probability below {1 / (count + 1):.4g}; "
            f"0.01 would take {pairs_needed(0.01)} pairs."
        )


def support(gaps: Sequence[float], failure: float | None, factor: float) -> Proximity:
    """The order statistic for ϱ (default: the least there is), where infinite gaps are pairs that failed."""
    count, finite = len(gaps), [gap for gap in gaps if math.isfinite(gap)]
    failed = count - len(finite)
    rank = failed + 1
    if failure is not None:
        asked = number("failure", failure, above=0.0, below=1.0)
        rank = min(math.floor(asked * (count + 1) * (1.0 + 1e-12)), count)
    if not failed < rank <= count:
        raise ProximityError(_too_few(count, failed, failure))
    if not any(finite):
        raise ProximityError(
            "every gap is exactly 0: train does not look at its stream, or never reaches a removed sample. "
            "Train on the samples that the stream holds, and for longer."
        )
    chosen = order_statistic(finite, rank=rank - failed, safety_factor=factor)
    if not failed:
        return chosen
    return replace(
        chosen,
        failure=rank / (count + 1),
        source=f"number {rank} from the top of {count} coupled pairs, {failed} of which failed",
        assumptions=(*chosen.assumptions, f"{failed} pairs failed and were counted as infinite"),
    )


def _too_few(count: int, failed: int, failure: float | None) -> str:
    lost = f", {failed} of which failed," if failed else ""
    if failed == count:
        return f"all {count} pairs failed, so there is no gap to go by."
    least = (failed + 1) / (count + 1)
    return (
        f"{count} pairs{lost} support a failure probability of {least:.4g} or more; got {failure:g}. "
        f"Run {pairs_needed(failure or least)} pairs, or ask for less."
    )
