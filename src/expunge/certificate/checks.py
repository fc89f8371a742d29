"""The theorem's assumptions as far as a run can measure them, each as `measured` ≤ `limit`.

Judged when a certificate is issued and again, from the run's own measurements, by everyone who verifies it.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..accounting import Block, Proximity
from ..accounting.checks import COPY, number, whole
from ..errors import CertificationError, CoverageError, ProximityError

DECOMPOSITION, OFF_BLOCK = 1e-5, 1e-4  # float32 rounding is well below both
SINGLE_PRECISION = 2.0**-23
ROUNDING = 2.0**-3  # coarser floating-point numbers would swallow the noise
RESET = 1e-5  # of the weights, as float32 rounds
SURPRISE = 25.0  # a correct generator fails the variance check with probability 2e^−25


def judge(run: Mapping[str, Any], blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Every check of a run with its measured value; raises at the first that fails."""
    measured, reset = _measured(run, blocks), run.get("reset")
    covered = sum(row["dimension"] for row in measured)
    if reset is not None:
        covered += whole("reset.dimension", reset["dimension"], least=0)
    rows = [
        (
            "coverage",
            abs(covered - whole("parameters", run["parameters"])),
            0.0,
            "coordinates not in exactly one block" + (" or reset" if reset else ""),
        ),
        ("decomposition", run["decomposition_error"], DECOMPOSITION, "a random vector against its projections' sum"),
        ("other blocks", _worst(measured, "off_block"), OFF_BLOCK, "change of a block that was not active, relative"),
        ("clip", _worst(measured, "largest_excess"), 1.0, "largest clipped gradient norm over C₁ of its block"),
        ("noise variance", max(map(_surprise, measured)), 1.0, "‖ξ‖²/σ² of every block within its chi-square bounds"),
        (
            "rounding",
            _worst(measured, "rounding"),
            ROUNDING,
            "spacing of floats at the largest weight, over the least σ",
        ),
        ("precision", run["epsilon_machine"], SINGLE_PRECISION, "unit roundoff of the parameters; float32 or better"),
        ("retained data", run["forgotten_seen"], 0.0, str(run["retained_how"])),
        ("public state", run["public_changed"], 0.0, "tensors declared public that changed"),
        ("unexpected changes", run["tampered"], 0.0, "changes of parameters or modules that the run did not make"),
    ]
    if reset is not None:
        rows += _reset(run, reset)
    if run["clean"] is not None and "until" in run["clean"]:
        how = "gradient norm of the whole retained loss where the noise begins"
        rows.append(("noise entry", run["entry_gradient"], run["clean"]["until"], how))
    if run["model_clip"] is not None:
        rows.append(("model clip", run["model_norm"], run["model_clip"], "norm of the model where the noise begins"))
    return [_check(*row) for row in rows]


def _reset(run: Mapping[str, Any], reset: Mapping[str, Any]) -> list[tuple[str, Any, float, str]]:
    """What a keep-space's run adds: the reset part is the reference's, and the reference is no copy of the model."""
    reference = run["subspace"]["reference"]
    where = f"{reference['origin']} (SHA-256 {reference['sha256']}), declared never to have seen the removed data"
    part = "where the bases' run ended" if run["subspace"]["rest"] == "run" else "the reference"
    return [
        ("reset part", reset["error"], RESET, f"what the keep-space does not hold, against {part}, relative"),
        ("reference", reset["nearness"], 1.0 / COPY, f"‖weights‖ over their distance from {where}"),
    ]


def _check(name: str, measured: object, limit: float, how: str) -> dict[str, Any]:
    value = number(name, measured, least=0.0)
    if not value <= number(name, limit, least=0.0):
        kind = CoverageError if name in ("coverage", "decomposition") else CertificationError
        raise kind(f"no certificate, because of {name}: measured {value:g}, required at most {limit:g} ({how}).")
    return {"name": name, "measured": value, "limit": float(limit), "how": how}


def _measured(run: Mapping[str, Any], blocks: Sequence[Block]) -> list[Mapping[str, Any]]:
    """The measurements per block, which must belong to the ledger's blocks."""
    rows: list[Mapping[str, Any]] = list(run["measured"])
    dimensions = [block.dimension for block in blocks]
    if not rows or [row["dimension"] for row in rows] != dimensions or run["subspace"]["dimensions"] != dimensions:
        raise CoverageError("the ledger's blocks are not those that the run measured.")
    for row, block in zip(rows, blocks, strict=True):
        noisy = sum(step.sigma > 0.0 for step in block.steps)
        if row["noisy_coordinates"] != noisy * row["dimension"]:
            raise CertificationError("a block did not get as many normals as its ledger says.")
    return rows


def _worst(measured: Sequence[Mapping[str, Any]], name: str) -> float:
    return max(number(name, row[name], least=0.0) for row in measured)


def _surprise(row: Mapping[str, Any]) -> float:
    """How far ‖ξ‖²/σ² is from its mean n, over the chi-square tail bound of Laurent & Massart (2000)."""
    n, energy = row["noisy_coordinates"], number("noise_energy", row["noise_energy"], least=0.0)
    if n == 0:
        return 0.0
    bound = 2.0 * math.sqrt(n * SURPRISE)
    return (energy - n) / (bound + 2.0 * SURPRISE) if energy > n else (n - energy) / bound


def refuse_other_entry(proximity: Proximity, run: Mapping[str, Any]) -> None:
    """The proximity must have been measured after the clean phase that was run, if there was one, and in its design.

    One of the whole space bounds the gap in every keep-space.
    """
    design = {name: value for name, value in run["subspace"].items() if name != "dimensions"}
    if proximity.design is not None and proximity.design != json.dumps(design, sort_keys=True):
        raise ProximityError("the proximity was calibrated for another design than the one that was noised.")
    entry = None if run["clean"] is None else json.dumps(run["clean"], sort_keys=True)
    if proximity.entry != entry:
        raise ProximityError(
            f"the proximity was calibrated at entry {proximity.entry or 'as trained'}, and the noise began at "
            f"{entry or 'as trained'}."
        )
