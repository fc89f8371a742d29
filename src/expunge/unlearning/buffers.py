"""BatchNorm statistics and other buffers that data leave behind: reset before the noise, made anew after it."""

from collections.abc import Callable
from contextlib import contextmanager

import torch
from torch import nn

from ..errors import BufferError
from .coverage import Inventory
from .group import Group


@torch.no_grad()
def reset_statistics(inventory: Inventory) -> None:
    """Forget every running statistic at once (by hand: a subclass may have made the method its own)."""
    for norm in inventory.norms.values():
        for name, value in (("running_mean", 0), ("running_var", 1), ("num_batches_tracked", 0)):
            if (buffer := getattr(norm, name, None)) is not None:
                buffer.fill_(value)


@torch.no_grad()
def estimate_statistics(inventory: Inventory, forward: Callable[[], object], batches: int) -> None:
    """Running statistics as plain averages over so many retained batches, on the weights as they are."""
    if not inventory.norms:
        return
    momenta = {name: norm.momentum for name, norm in inventory.norms.items()}
    reset_statistics(inventory)
    try:
        for count in range(1, batches + 1):
            for norm in inventory.norms.values():
                norm.momentum = 1.0 / count  # a running average becomes a plain one
            forward()
    finally:
        for name, norm in inventory.norms.items():
            norm.momentum = momenta[name]


@torch.no_grad()
def average_statistics(inventory: Inventory, group: Group) -> None:
    """Over the processes, each of which has seen batches of its own."""
    named = [getattr(norm, name, None) for norm in inventory.norms.values() for name in ("running_mean", "running_var")]
    group.average_([buffer for buffer in named if buffer is not None])


@torch.no_grad()
def recompute_buffers(model: nn.Module, inventory: Inventory) -> None:
    """Fill the buffers that the user's functions compute."""
    for name, (buffer, function) in inventory.recompute.items():
        value = function(model)
        if not isinstance(value, torch.Tensor) or value.shape != buffer.shape:
            raise BufferError(f"recompute[{name!r}] gave {_shown(value)}; the buffer's is {tuple(buffer.shape)}.")
        buffer.copy_(value)


def _shown(value: object) -> str:
    return f"shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__


@contextmanager
def training_mode(model: nn.Module, inventory: Inventory):
    """Train mode, public norms excepted (their statistics must not move); afterwards every module's mode is as before."""
    modes = {module: module.training for module in model.modules()}
    model.train()
    for norm in inventory.public_norms:
        norm.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
