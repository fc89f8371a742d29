"""How far two models lie apart: in all, per parameter tensor, and per block of a design."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..accounting.rounding import up
from ..errors import DataError

State = Mapping[str, Tensor]


def full_state(model: nn.Module | State) -> dict[str, Tensor]:
    """Everything a model holds, copied to the CPU."""
    state = model.state_dict() if isinstance(model, nn.Module) else model
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in state.items()}


def gap(model: nn.Module | State, base: State, design: Any = None, keep: Any = None) -> dict[str, Any]:
    """‖x̂ − x̂′‖ between a model and the state of its twin, over all that is trainable (all of a bare state dict)."""
    own = full_state(model)
    if own.keys() != base.keys() or any(own[name].shape != base[name].shape for name in own):
        raise DataError("the two runs of a pair ended with different tensors. train must build the same model twice.")
    names = list(own)
    if isinstance(model, nn.Module):
        names = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
        frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
        _refuse_moved(frozen, own, base)
    if not names:
        raise DataError("the model has no trainable parameter, so there is no gap. Do not freeze what was trained.")
    return distances({name: base[name] for name in names}, {name: own[name] for name in names}, design, keep)


def distances(first: State, second: State, design: Any = None, keep: Any = None) -> dict[str, Any]:
    """In float64, rounded up; raises where it is not finite, so that no failed run passes for a small gap.

    With a keep-space's blocks the total is the gap inside them, and `everywhere` that of the whole vectors.
    """
    differences = {name: first[name].double() - second[name].double() for name in first}
    per_tensor = {name: torch.linalg.vector_norm(value).item() for name, value in differences.items()}
    total = up(math.hypot(*per_tensor.values()), len(per_tensor))
    if not math.isfinite(total):
        raise DataError("the weights of a run are not finite: it diverged.")
    found: dict[str, Any] = {"total": total, "per_tensor": per_tensor}
    partition = keep
    if design is not None and keep is None:
        partition = design.bind({name: value.shape for name, value in differences.items()})
    if partition is not None:
        blocks = range(len(partition.dimensions))
        found["per_block"] = [_block_norm(partition, block, list(differences.values())) for block in blocks]
    if keep is not None:
        found |= {"total": up(math.hypot(*found["per_block"]), len(found["per_block"])), "everywhere": total}
    return found


def _refuse_moved(frozen: list[str], own: State, base: State) -> None:
    """A parameter that is frozen now but was trained before belongs to the gap."""
    for name in frozen:
        if not torch.equal(own[name], base[name]):
            raise DataError(
                f"{name!r} is frozen, but differs between the two runs, so it learned from the data. Return the model with "
                "requires_grad on everything that was trained; a gap without it would be too small."
            )


def _block_norm(partition: Any, block: int, tensors: list[Tensor]) -> float:
    parts = [part.piece.project(tensors[part.tensor]) for part in partition.parts(block, tensors)]
    return up(math.hypot(*(torch.linalg.vector_norm(part).item() for part in parts)), len(parts))
