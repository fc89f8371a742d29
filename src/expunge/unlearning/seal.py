"""Nobody else may move the model during a run: not the loss, a hook, a meter that restores what it liked better.

Between two steps every parameter must be the same object with the same version and, where a version can be evaded
(`.data`), the same values at a sample of its places. An embedding with `max_norm` is caught here: it changes weights when it
is read.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ..errors import CertificationError
from ..weights import local

SAMPLE = 512  # places per parameter; who puts old weights back moves nearly all of them


class Seal:
    """What the parameters were when the engine last let go of them."""

    def __init__(self, model: nn.Module, parameters: Mapping[str, nn.Parameter]) -> None:
        self._model, self._parameters = model, parameters
        self.close()

    def close(self) -> None:
        """Remember."""
        self._versions = {name: _version(parameter) for name, parameter in self._parameters.items()}
        self._values = {name: _sample(parameter) for name, parameter in self._parameters.items()}

    def check(self, where: str) -> None:
        """Compare; raises with the parameter's name."""
        held = {name: parameter for name, parameter in self._model.named_parameters() if parameter.requires_grad}
        for name, parameter in self._parameters.items():
            if held.get(name) is not parameter:
                raise CertificationError(f"parameter {name!r} was replaced or frozen during the run ({where}).")
            moved = _version(parameter) != self._versions[name]
            if moved or not torch.equal(_sample(parameter), self._values[name]):
                raise CertificationError(
                    f"parameter {name!r} was changed by something else than the engine ({where}): a loss, a hook, a "
                    "meter, an optimiser in the backward pass, an embedding with max_norm. No certificate."
                )


def _version(parameter: Tensor) -> int:
    return local(parameter.detach())._version


def _sample(parameter: Tensor) -> Tensor:
    flat = local(parameter.detach()).reshape(-1)
    return flat[:: max(1, len(flat) // SAMPLE)].clone()
