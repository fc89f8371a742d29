"""From a privacy target to a plan: what will be done, decided before anything runs. Never imports torch."""

from .alternatives import Alternatives, alternatives
from .plan import Plan, make, noise_norm

__all__ = ["Alternatives", "Plan", "alternatives", "make", "noise_norm"]
