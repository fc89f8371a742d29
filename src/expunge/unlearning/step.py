"""One noisy step on one block, as in the paper's Algorithm 1:

    B ← B − γ(clip_C₁(A_iᵀ g) + λB) + ξ,        ξ ~ N(0, σ²),

written as a change of the model's parameters, x ← x + A_i(B_new − B_old), so that a model stays the module it was.
This file alone touches parameters during a block: a distributed engine replaces it and nothing else.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..accounting import Step
from ..subspaces import Part
from ..subspaces.norms import norm
from .noise import NoiseSource

BELOW_CLIP = 1.0 - 1e-6  # clip a hair inside C₁, so that float32 cannot carry the gradient over it


@dataclass
class Measured:
    """What a step really did."""

    gradient_norm: float = 0.0  # of the projected gradient, before clipping
    clipped_norm: float = 0.0
    noise_energy: float = 0.0  # ‖ξ‖²/σ², about the block's dimension
    finite: bool = True  # a gradient that is not counts as zero


class ActiveBlock:
    """The block that moves: its part of every parameter, and its coordinates B where weight decay needs them."""

    def __init__(
        self,
        parameters: Sequence[Tensor],
        parts: Sequence[Part],
        *,
        decays: bool,
        coordinates: Sequence[Tensor] | None = None,
    ) -> None:
        self._parameters, self._parts = parameters, parts
        if coordinates is None:
            coordinates = [part.piece.project(parameters[part.tensor].detach()) for part in parts] if decays else []
        self._gradients: list[Tensor | None] = []
        self.coordinates = [b.to(parameters[part.tensor].device) for b, part in zip(coordinates, parts, strict=False)]

    @torch.no_grad()
    def spacing(self) -> float:
        """How far apart floating-point numbers are at the largest weight that the block touches."""
        found = 0.0
        for parameter in {part.tensor: self._parameters[part.tensor] for part in self._parts}.values():
            low, high = torch.aminmax(parameter)
            found = max(found, max(-low.item(), high.item()) * torch.finfo(parameter.dtype).eps)
        return found

    @torch.no_grad()
    def read_gradients(self, step: Step) -> Measured:
        """A_iᵀ g of every parameter, and its norm over them all (reduced in float64) before and after clipping.

        A gradient that is not finite counts as zero; whether that is allowed is the caller's to say.
        """
        self._gradients = [self._gradient(part) for part in self._parts] if step.drift > 0.0 else []
        norms = [norm(gradient).cpu() for gradient in self._gradients if gradient is not None]
        total = torch.linalg.vector_norm(torch.stack(norms)).item() if norms else 0.0
        if total == 0.0 or not math.isfinite(total):
            self._gradients = []
            return Measured(total, finite=math.isfinite(total))
        return Measured(total, min(total, step.clip * BELOW_CLIP))

    @torch.no_grad()
    def move(self, step: Step, measured: Measured, noise: NoiseSource, number: int) -> None:
        """Take one step, with the gradients that were read."""
        decay = step.step_size * step.weight_decay if self.coordinates else 0.0
        for at, part in enumerate(self._parts):
            parameter = self._parameters[part.tensor]
            if step.sigma > 0.0:
                change = noise.normal(part.size, step=number, tensor=part.tensor, like=parameter, scale=step.sigma)
                measured.noise_energy += (norm(change).item() / step.sigma) ** 2
            else:
                change = torch.zeros(part.size, dtype=parameter.dtype, device=parameter.device)
            if self._gradients and (gradient := self._gradients[at]) is not None:
                change.add_(gradient, alpha=-step.step_size * measured.clipped_norm / measured.gradient_norm)
            if self.coordinates:
                change.add_(self.coordinates[at], alpha=-decay)
                if not _shared(self.coordinates[at], parameter):  # a view of the parameter moves with it
                    self.coordinates[at].add_(change)
            part.piece.add_(parameter, change)
            if self._gradients:
                self._gradients[at] = None  # its memory is needed for the next tensor's noise
        self._gradients = []

    def _gradient(self, part: Part) -> Tensor | None:
        parameter = self._parameters[part.tensor]
        if parameter.grad is None:
            return None
        gradient = parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad
        return part.piece.project(gradient.to(parameter.dtype))


def _shared(first: Tensor, second: Tensor) -> bool:
    return first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
