"""From a model and batches to `Outputs`: the only file of the room that runs a model."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import weights
from ..errors import ConfigError, DataError
from .outputs import PARTS, Outputs, Part

Meter = Callable[[str, int], None]  # of a part's name, and how many of its samples are done


def silent(_part: str, _done: int) -> None:
    """No progress."""


def collect(model: nn.Module, parts: Mapping[str, Iterable[Any]], *, progress: Meter = silent) -> Outputs:
    """Logits of a model in evaluation mode, on batches (inputs, labels) of "forget", "retain" and "test"."""
    if set(parts) != set(PARTS):
        raise ConfigError(f"give batches of {', '.join(PARTS)}, all three and nothing else; got {', '.join(parts)}.")
    with evaluating(model), torch.inference_mode():
        found = {name: _part(model, name, parts[name], progress) for name in PARTS}
    return Outputs(**found, weights_sha256=weights.digest(model.state_dict()))


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Every module in evaluation mode, and afterwards each as it was."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def _part(model: nn.Module, name: str, batches: Iterable[Any], progress: Meter) -> Part:
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    logits, labels, done = list[Any](), list[Any](), 0
    for batch in batches:
        if not isinstance(batch, (list, tuple)) or len(batch) != 2 or not all(isinstance(x, Tensor) for x in batch):
            raise DataError(f"a batch of {name} must be (inputs, labels), two tensors; got {type(batch).__name__}.")
        said = model(batch[0].to(device))
        if not isinstance(said, Tensor) or said.dim() != 2 or said.shape[0] != len(batch[1]):
            shape = tuple(said.shape) if isinstance(said, Tensor) else type(said).__name__
            raise ConfigError(
                f"an audit needs a classifier: a model that gives one row of logits for each sample; this one gave {shape} "
                f"for {len(batch[1])} samples."
            )
        logits.append(said.float().cpu().numpy())
        labels.append(batch[1].cpu().numpy())
        done += len(batch[1])
        progress(name, done)
    if not logits:
        raise DataError(f"there are no batches of {name}. Each part needs one sample or more.")
    return Part(np.concatenate(logits), np.concatenate(labels))
