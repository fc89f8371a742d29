"""Where the noise may enter a project's model: all of its weights, or a small core of them with the rest reset.

What is known of a start comes from practices. The gap inside a core is the calibrated one of all weights, times what the
practices show of their ratio: good enough to choose by. Before a certificate rests on it, it is calibrated there.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean

import torch
from torch import Tensor

from .. import unlearning
from ..accounting import Proximity
from ..calibration.distance import distances
from ..planning import Start
from ..subspaces import Core, Design, Partition, Whole
from .practice import Practice
from .reset import Reset

RANKS = (5, 20)
RUN = 4  # the bases' run may take every so many of the budget's steps
Place = tuple[Start, Design]


def places(practices: Sequence[Practice], proximity: Proximity, budget: int) -> Iterator[Place]:
    """All weights; then a core of each rank, where there is a matrix to have one."""
    yield Start("all weights", proximity, practices[0].sizes()), Whole()
    project, steps = practices[0].materials.project, budget // RUN
    if steps < 1 or not any(len(shape) > 1 for shape in practices[0].shapes().values()):
        return
    for rank in RANKS:
        yield _core(practices, proximity, Reset(rank, steps).design(project))


def _core(practices: Sequence[Practice], proximity: Proximity, design: Core) -> Place:
    ratios, layers = list[float](), dict[str, tuple[int, float]]()
    for practice in practices:
        model = practice.model()
        batches, loss = practice.materials.batches(practice.kept.tolist()), practice.materials.loss
        partition = unlearning.find_bases(model, batches, loss, design, seed=practice.seed)
        found = distances(practice.base, practice.again, keep=partition)
        ratios.append(found["total"] / found["everywhere"] if found["everywhere"] > 0.0 else 1.0)
        layers = _kept(partition, practice.base)
    claim = replace(
        proximity,
        gap=proximity.gap * fmean(ratios),
        source=f"{proximity.source}, times the share that {len(practices)} practice(s) found in the core",
        assumptions=(*proximity.assumptions, "the share of the gap in the core is that of the practices"),
        design=json.dumps(design.describe(), sort_keys=True),
    )
    bases = design.bases.steps if design.bases is not None else 0
    return Start(f"core of rank {design.rank}", claim, layers, {"kind": "Core", "rank": design.rank}, bases), design


def _kept(partition: Partition, base: dict[str, Tensor]) -> dict[str, tuple[int, float]]:
    """Tensor → coordinates that are kept, and the norm of the weights in them."""
    tensors, names = list(base.values()), list(base)
    found: dict[str, tuple[int, float]] = {}
    for block in range(len(partition.dimensions)):
        for part in partition.parts(block, tensors):
            size, norm = found.get(names[part.tensor], (0, 0.0))
            own = torch.linalg.vector_norm(part.piece.project(tensors[part.tensor])).item()
            found[names[part.tensor]] = size + part.size, math.hypot(norm, own)
    return found
