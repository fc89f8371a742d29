"""What was measured, and what it supports: order statistics of the gaps, and nothing more."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..accounting import Proximity
from ..accounting.checks import number
from ..accounting.ledger import parse, read_proximity, read_text
from ..accounting.proximity import confidence, order_statistic, pairs_needed
from ..accounting.rounding import up
from ..errors import ConfigError, DataError, ProximityError
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

    def by_block(
        self, *, scales: Sequence[float] | None = None, failure: float | None = None, safety_factor: float = 1.0
    ) -> Proximity:
        """Every block's own gap, all of them at once, by one order statistic: how often each gap is its block's scale.

        Scales that were fixed before the calibration cost nothing. Without any, the first pair gives them, and the others
        support what they can (docs/mathematics.md, "Gaps of all blocks at once").
        """
        first = 0 if scales is not None else 1
        pairs = self.pairs[first:]
        scales = self._gaps_by_block(0) if scales is None else [number("scale", scale, above=0.0) for scale in scales]
        if not pairs:
            raise ProximityError("one pair gives the scales and nothing more. Run two pairs or more.")
        ratios = [_ratio(self._gaps_by_block(first + i), scales) for i in range(len(pairs))]
        found = support(ratios, failure, safety_factor)
        gaps = tuple(up(found.gap * scale) for scale in scales)
        shape = "given" if first == 0 else "those of the first pair, which is not counted"
        return replace(
            self.proximity,
            gap=math.hypot(*gaps),
            gaps=gaps,
            design=json.dumps(self.coupling["design"], sort_keys=True),
            failure=found.failure,
            source=f"{found.source}, {len(gaps)} blocks at once; their scales are {shape}",
            assumptions=found.assumptions,
        )

    def everywhere(self) -> Proximity:
        """The gap of all weights, by the same order statistic, where the proximity is that inside a keep-space."""
        gaps = [
            math.inf if is_failed(pair) else pair["gap"].get("everywhere", pair["gap"]["total"]) for pair in self.pairs
        ]
        found = support(gaps, self.proximity.failure, 1.0)
        return replace(found, entry=self.proximity.entry, requests=self.proximity.requests)

    def _gaps_by_block(self, pair: int) -> list[float]:
        if is_failed(self.pairs[pair]):
            return []
        if "per_block" not in self.pairs[pair]["gap"]:
            raise ConfigError("the gaps were not measured by block. Calibrate with design= the blocks.")
        return self.pairs[pair]["gap"]["per_block"]

    @property
    def steps(self) -> list[int]:
        """The training steps at which there are gaps."""
        good = [pair for pair in self.pairs if not is_failed(pair)]
        return [point["step"] for point in good[0]["trajectory"]]

    def at(self, step: int) -> Proximity:
        """The proximity of the checkpoint at a step of the trajectory, by the same order statistic."""
        if self.proximity.entry is not None:
            raise ConfigError("the trajectory was measured before the clean phase. Calibrate the checkpoint after it.")
        if self.proximity.design is not None:
            raise ConfigError(
                "the trajectory was measured in the whole space. Calibrate the checkpoint in the keep-space."
            )
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

    @classmethod
    def load(cls, path: str | Path) -> "Calibration":
        """From a proximity file: to plot it, or to look at another checkpoint."""
        document = parse(read_text(str(path)))
        if (
            not isinstance(document, dict)
            or document.get("schema") != SCHEMA
            or not {"pairs", "coupling"} <= document.keys()
        ):
            raise DataError(f"{path} is no proximity file of schema {SCHEMA}. Write one with `expunge calibrate`.")
        found = read_proximity(document.get("proximity"))
        return cls(found, tuple(document["pairs"]), document["coupling"])

    def save(self, path: str | Path) -> None:
        """Write the proximity file, which `plan`, `unlearn` and `recertify` read."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1, allow_nan=False), encoding="utf-8")

    def summary(self) -> str:
        """What the pairs can and cannot support, in words."""
        count, failure = len(self.pairs), self.proximity.failure
        failed = sum(map(is_failed, self.pairs))
        lost = f" {failed} of them failed and count as infinite." if failed else ""
        return (
            f"{counted(count)}.{lost} The next request's gap exceeds {self.proximity.gap:.6g} with probability at most "
            f"{failure:.4g}, over pairs and request together. That this covers 1 − {failure:.4g} of all requests has "
            f"confidence {self.confidence:.0%}. So many pairs support no failure probability below {1 / (count + 1):.4g}; "
            f"0.01 would take {pairs_needed(0.01)} pairs."
        )


def counted(count: int, what: str = "pair") -> str:
    """1 pair, 2 pairs."""
    return f"{count} {what}{'' if count == 1 else 's'}"


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


def _ratio(gaps: Sequence[float], scales: Sequence[float]) -> float:
    """How far a pair goes beyond the scales; a failed one infinitely far."""
    if not gaps and scales:
        return math.inf
    if len(gaps) != len(scales):
        raise ProximityError(f"{len(scales)} scales cannot fit {len(gaps)} blocks. Did the pair that gives them fail?")
    return max((_over(gap, scale) for gap, scale in zip(gaps, scales, strict=True)), default=math.inf)


def _over(gap: float, scale: float) -> float:
    return up(gap / scale) if scale > 0.0 else (math.inf if gap > 0.0 else 0.0)


def _too_few(count: int, failed: int, failure: float | None) -> str:
    lost = f", {failed} of which failed," if failed else ""
    least = (failed + 1) / (count + 1)
    return (
        f"{count} pairs{lost} support a failure probability of {least:.4g} or more; got {failure:g}. "
        f"Run {pairs_needed(failure or least)} pairs, or ask for less."
    )
