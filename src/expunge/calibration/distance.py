"""How far two models lie apart: in all, per parameter tensor, and per block of a design."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import DataError

State = Mapping[str, Tensor]


def full_state(model: nn.Module | State) -> dict[str, Tensor]:
    """Everything a model holds, copied to the CPU."""
    state = model.state_dict() if isinstance(model, nn.Module) else model
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in state.items()}


def trainable(model: nn.Module | State, state: State) -> dict[str, Tensor]:
    """The part of `state` that is trainable in `model` (all of it, where the model is a state dict)."""
    if not isinstance(model, nn.Module):
        return dict(state)
    return {name: state[name] for name, parameter in model.named_parameters() if parameter.requires_grad}


def distances(first: State, second: State, partition: Any = None) -> dict[str, Any]:
    """‖x̂ − x̂′‖, in float64; raises where it is not finite, so that no failed run passes for a small gap."""
    if first.keys() != second.keys() or any(first[name].shape != second[name].shape for name in first):
        raise DataError(
            "the two runs of a pair ended with different parameters. train must build the same model twice."
        )
    differences = {name: first[name].double() - second[name].double() for name in first}
    per_tensor = {name: torch.linalg.vector_norm(value).item() for name, value in differences.items()}
    total = math.hypot(*per_tensor.values())
    if not math.isfinite(total):
        raise DataError("the weights of a run are not finite: it diverged.")
    result: dict[str, Any] = {"total": total, "per_tensor": per_tensor}
    if partition is not None:
        result["per_block"] = [_block_norm(partition, block, differences) for block in range(len(partition.dimensions))]
    return result


def _block_norm(partition: Any, block: int, differences: Mapping[str, Tensor]) -> float:
    tensors = [differences[name] for name in partition.names]
    parts = [part.piece.project(tensors[part.tensor]) for part in partition.parts(block, tensors)]
    return math.hypot(*(torch.linalg.vector_norm(part).item() for part in parts))
