"""Heads on frozen features: a linear one, whose regularised loss is strongly convex, or a small MLP.

A linear head with the loss CE(Wφ + b, y) + λ/2 ‖(W, b)‖² is what the theory bounds of `docs/mathematics.md` are about. Its
constants come from the features alone.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..errors import ConfigError
from .models import Mlp
from .seeds import derive


def linear_head(features: int, classes: int) -> nn.Linear:
    """A linear layer that starts at zero: its initialisation is public and the same in every run."""
    head = nn.Linear(features, classes)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head


def mlp_head(features: int, classes: int, *, seed: int, hidden: int = 256) -> nn.Module:
    """One hidden layer; no convexity, so none of the constants below."""
    with torch.random.fork_rng():
        torch.manual_seed(derive(seed, "initialisation"))
        return Mlp(features, hidden, classes)


def penalty(model: nn.Module, l2: float) -> Tensor | float:
    """λ/2 ‖θ‖² over every trainable parameter, biases too: only then is the loss λ-strongly convex."""
    if l2 == 0.0:
        return 0.0
    squares = [parameter.square().sum() for parameter in model.parameters() if parameter.requires_grad]
    return 0.5 * l2 * torch.stack(squares).sum()


@dataclass(frozen=True)
class Constants:
    """Of every sample's loss ℓ = CE + λ/2 ‖θ‖², for all θ.

    lipschitz           L of the cross-entropy alone (the penalty has none, and is the same for every sample)
    smoothness          largest curvature of ℓ
    strong_convexity    least curvature of ℓ: λ
    """

    lipschitz: float
    smoothness: float
    strong_convexity: float


def constants(features: Tensor, l2: float) -> Constants:
    """Of a linear head on these features.

    With φ̄ = (φ, 1) the gradient is (p − e_y) φ̄ᵀ and ‖p − e_y‖ ≤ √2, so L = √2 max ‖φ̄‖. The Hessian is
    (diag p − ppᵀ) ⊗ φ̄φ̄ᵀ, and diag p − ppᵀ has no eigenvalue above 1/2 (Böhning 1992), so the curvature is at most
    max ‖φ̄‖²/2 + λ.
    """
    if features.dim() != 2 or not math.isfinite(l2) or l2 < 0.0:
        raise ConfigError(f"constants need features (N × F) and l2 of 0 or more; got {tuple(features.shape)}, {l2!r}.")
    largest = torch.linalg.vector_norm(features.double(), dim=1).max().item()
    reach = math.hypot(largest, 1.0) * (1.0 + 1e-12)  # rounding must not make it smaller
    return Constants(math.sqrt(2.0) * reach, 0.5 * reach**2 + l2, l2)
