"""All stages' files → one document, expunge.results/1, which the report reads."""

from typing import Any

from .. import planning, weights
from ..accounting import Block, mu, privacy_curve, recertified_epsilon
from ..accounting.ledger import read_blocks
from ..certificate.issue import now
from .contest import RELEASED
from .stage import Work
from .stages.audit import COMPARISON
from .stages.calibrate import PROXIMITY
from .stages.plan import PLAN
from .stages.train import TRAINED
from .stages.unlearn import CERTIFICATE, CURVE
from .stages.verify import VERIFICATION

DELTAS = [10.0**power for power in range(-12, -1)]
GAPS = [0.25 + 0.125 * index for index in range(23)]  # times the proximity


def gather(work: Work) -> dict[str, Any]:
    """The document."""
    certificate, calibration = work.read(CERTIFICATE), work.read(PROXIMITY)
    return {
        "schema": "expunge.results/1",
        "created": now(),
        "command": "expunge run",
        "method": RELEASED,
        "asked": _asked(work),
        "certificate": certificate,
        "verification": work.read(VERIFICATION),
        "calibration": calibration if "pairs" in calibration else None,
        "plan": work.read(PLAN),
        "comparison": work.read(COMPARISON),
        "curves": _curves(certificate),
        "signal": _signal(work, read_blocks(certificate["hops"][-1]["blocks"])),
        "progress": work.read(CURVE)["curve"],
        "cost": _cost(work),
    }


def _asked(work: Work) -> dict[str, Any]:
    project, trained, materials = work.project, work.read("trained.json"), work.materials
    name = project.project.workload or project.model.factory or "your model"
    data = materials.workload.dataset.name if materials.workload else str(project.data.dataset)
    kind = next(key for key in ("random", "class_", "file") if getattr(project.deletion, key) is not None)
    target = project.target
    return {
        "project": project.project.name,
        "model": {"name": name, "parameters": trained["parameters"], "accuracy": trained["test_accuracy"]},
        "data": {"name": data, "training": trained["training_samples"], "test": trained["test_samples"]},
        "deletion": {"kind": kind.rstrip("_"), "says": project.deletion.says, "removed": len(materials.split.forget)},
        "target": {"epsilon": target.epsilon, "delta": target.delta, "accountant": target.accountant},
    }


def _curves(certificate: dict[str, Any]) -> dict[str, Any] | None:
    """What the ledger is worth at other δ, and at other Δ. One look and one request: more have no curve of their own."""
    last, promise = certificate["hops"][-1], certificate["guarantee"]
    if len(certificate["hops"]) > 1 or last["looks"] > 1:
        return None
    blocks, accountant = read_blocks(last["blocks"]), promise["accountant"]
    gap, delta = last["proximity"]["gap"], promise["delta"]
    privacy = privacy_curve(mu(gap, blocks), DELTAS, accountant=accountant)
    return {
        "privacy": [list(point) for point in privacy],
        "recertification": [
            [gap * factor, recertified_epsilon(gap * factor, blocks, delta=delta, accountant=accountant)]
            for factor in GAPS
        ],
    }


def _signal(work: Work, blocks: tuple[Block, ...]) -> dict[str, Any] | None:
    """Noise against weights: per block as the block holds it, per tensor as the blocks' shares add up there."""
    trained = weights.load(work.path(TRAINED))
    model = work.materials.fresh()
    tensors = {name: trained[name] for name, parameter in model.named_parameters() if parameter.requires_grad}
    if work.project.reset.rank is not None:
        return None  # the core's directions were found in the run, and are not kept
    partition = work.project.mechanism.make_design().bind({name: value.shape for name, value in tensors.items()})
    values, squares = list(tensors.values()), dict.fromkeys(tensors, 0.0)
    rows: list[dict[str, Any]] = []
    for index, block in enumerate(blocks):
        noise, energy = planning.noise_norm(block), 0.0
        for part in partition.parts(index, values):
            energy += float(part.piece.project(values[part.tensor]).double().square().sum())
            squares[partition.names[part.tensor]] += noise**2 * part.size / (block.dimension or 1)
        rows.append({"name": f"block {index}", "dimension": block.dimension, "noise": noise, "weights": energy**0.5})
    layers = [
        {
            "name": name,
            "dimension": value.numel(),
            "noise": squares[name] ** 0.5,
            "weights": float(value.double().norm()),
        }
        for name, value in tensors.items()
    ]
    return {"blocks": rows, "layers": layers}


def _cost(work: Work) -> list[dict[str, Any]]:
    """What was spent, without reading data or looking at the model; training and calibration are paid once."""
    found = (
        ("training", work.read("trained.json")["seconds"], True),
        ("calibration", work.seconds("calibrate"), True),
        ("unlearning", work.read(CURVE)["seconds"], False),
        ("audits and baselines", work.seconds("audit"), False),
    )
    return [{"stage": says, "seconds": seconds, "once": once} for says, seconds, once in found if seconds is not None]
