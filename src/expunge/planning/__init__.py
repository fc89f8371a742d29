"""From a privacy target to a plan: what will be done, decided before anything runs. Never imports torch."""

from .alternatives import Alternatives, alternatives
from .plan import Plan, equal_blocks, noise_norm

__all__ = ["Alternatives", "Plan", "alternatives", "equal_blocks", "noise_norm"]
