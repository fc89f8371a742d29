"""One noisy step on one block, as in the paper's Algorithm 1:

    B ← B − γ(clip_C₁(A_iᵀ g) + λB) + ξ,        ξ ~ N(0, σ²),

written as a change of the model's parameters, x ← x + A_i(B_new − B_old), so that a model stays the module it was.
This file alone touches parameters during a block. Of a sharded parameter it sees what this process holds of it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from ..accounting import Step
from ..subspaces import Part
from ..subspaces.norms import energy, norm
from ..weights import local
from .noise import CHUNK, NoiseSource

SPAN = 2  # chunks of noise a thread: with gradient and weights they stay in the cache
BELOW_CLIP = 1.0 - 1e-6  # clip a hair inside C₁, so that float32 cannot carry the gradient over it


@dataclass
class Measured:
    """What a step really did."""

    gradient_norm: float = 0.0  # of the projected gradient, before clipping
    clipped_norm: float = 0.0
    noise_energy: float = 0.0  # ‖ξ‖²/σ², about the block's dimension
    finite: bool = True  # a gradient that is not counts as zero


class ActiveBlock:
    """The block that moves: its part of every parameter, and its coordinates B where decay needs them more than once."""

    def __init__(
        self,
        parameters: Sequence[Tensor],
        parts: Sequence[Part],
        *,
        keeps: bool,
        coordinates: Sequence[Tensor] | None = None,
        total: Callable[[Sequence[float]], list[float]] = list,  # sums over all processes that hold parts
    ) -> None:
        self._sources, self._parameters = parameters, [local(parameter.detach()) for parameter in parameters]
        self._parts, self._total = parts, total
        if coordinates is None:
            coordinates = [part.piece.project(self._parameters[part.tensor]) for part in parts] if keeps else []
        self._gradients: list[Tensor | None] = []
        self.coordinates = [b.to(self._parameters[p.tensor].device) for b, p in zip(coordinates, parts, strict=False)]

    @property
    def idle(self) -> list[Tensor]:
        """The parameters that do not move."""
        moving = {part.tensor for part in self._parts}
        return [parameter for index, parameter in enumerate(self._sources) if index not in moving]

    @torch.no_grad()
    def spacing(self) -> float:
        """How far apart floating-point numbers are at the largest weight that the block touches."""
        found = 0.0
        touched = {part.tensor: self._parameters[part.tensor] for part in self._parts}.values()
        for parameter in filter(Tensor.numel, touched):  # a process may hold no row of a small one
            low, high = torch.aminmax(parameter)
            found = max(found, max(-low.item(), high.item()) * torch.finfo(parameter.dtype).eps)
        return found

    @torch.no_grad()
    def read_gradients(self, step: Step) -> Measured:
        """A_iᵀ g of every parameter, and its norm over them all (reduced in float64) before and after clipping.

        A gradient that is not finite counts as zero; whether that is allowed is the caller's to say.
        """
        self._gradients = [self._taken(part) for part in self._parts] if step.drift > 0.0 else []
        pairs = zip(self._parts, self._gradients, strict=False)
        norms = [math.sqrt(part.weight) * norm(g).cpu() for part, g in pairs if g is not None]
        (square,) = self._total([torch.linalg.vector_norm(torch.stack(norms)).item() ** 2 if norms else 0.0])
        total = math.sqrt(square)
        if total == 0.0 or not math.isfinite(total):
            self._gradients = []
            return Measured(total, finite=math.isfinite(total))
        return Measured(total, min(total, step.clip * BELOW_CLIP))

    @torch.no_grad()
    def move(self, step: Step, measured: Measured, noise: NoiseSource, number: int) -> None:
        """Take one step, with the gradients that were read."""
        draw = Draw(noise, number, step.sigma)
        for at, part in enumerate(self._parts):
            parameter = self._parameters[part.tensor]
            terms = self._terms(at, step, measured)
            for span in _spans(part, parameter):
                change = draw(part, span, parameter)
                for values, factor in terms:
                    change.add_(values[span], alpha=factor)
                if self.coordinates and not _shared(self.coordinates[at], parameter):
                    self.coordinates[at][span].add_(change)  # a view of the parameter moves with it
                part.piece.add_(parameter, change, span.start)
            if self._gradients:
                self._gradients[at] = None  # its memory is needed for the next tensor's noise
        self._gradients = []
        noise.erase()
        (measured.noise_energy,) = self._total([draw.energy])

    def _terms(self, at: int, step: Step, measured: Measured) -> list[tuple[Tensor, float]]:
        """What is added to a part's noise, and how many times: the clipped gradient, and the weights for their decay."""
        terms, part = list[tuple[Tensor, float]](), self._parts[at]
        if self._gradients and (gradient := self._gradients[at]) is not None:
            terms.append((gradient, -step.step_size * measured.clipped_norm / measured.gradient_norm))
        if (decay := step.step_size * step.weight_decay) > 0.0:
            held = self.coordinates[at] if self.coordinates else part.piece.project(self._parameters[part.tensor])
            terms.append((held, -decay))
        return terms

    def _taken(self, part: Part) -> Tensor | None:
        """A_iᵀ g; the gradient itself is let go, since its memory is needed."""
        parameter = self._sources[part.tensor]
        if parameter.grad is None:
            return None
        gradient, parameter.grad = local(parameter.grad), None
        gradient = gradient.to_dense() if gradient.is_sparse else gradient
        return part.piece.project(gradient.to(parameter.dtype))


class Draw:
    """The noise of one step, a span at a time and in the same room where it can be; and its energy as it is."""

    def __init__(self, noise: NoiseSource, number: int, sigma: float) -> None:
        self._noise, self._number, self._sigma, self.energy = noise, number, sigma, 0.0
        self._room: Tensor | None = None

    def __call__(self, part: Part, span: slice, like: Tensor) -> Tensor:
        """ξ of these coordinates of the part."""
        size = span.stop - span.start
        if self._sigma <= 0.0:
            return torch.zeros(size, dtype=like.dtype, device=like.device)
        place = {"step": self._number, "tensor": part.tensor, "first": part.first + span.start}
        found = self._noise.normal(size, **place, like=like, scale=self._sigma, room=self._room)
        self.energy += part.weight * energy(found, self._sigma)
        if found.device.type == "cpu" and (size == _length() or self._room is None):  # elsewhere it is let go
            self._room = found
        return found


def _spans(part: Part, parameter: Tensor) -> list[slice]:
    """The part in spans that stay in the cache from the noise to the addition, where its piece can be added so.

    They end where the noise's chunks do: no chunk is drawn twice.
    """
    unit, length = part.piece.unit(parameter), _length()
    if parameter.device.type != "cpu" or unit is None or CHUNK % unit:
        return [slice(0, part.size)]
    ends = [*range(length - part.first % length, part.size, length), part.size]
    return [slice(first, last) for first, last in pairwise([0, *ends])]


def _length() -> int:
    return SPAN * CHUNK * torch.get_num_threads()


def _shared(first: Tensor, second: Tensor) -> bool:
    return first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
