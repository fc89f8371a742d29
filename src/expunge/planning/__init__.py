"""From a privacy target to a plan: what will be done, decided before anything runs. Never imports torch."""

from .alternatives import Alternatives, alternatives
from .candidates import Candidate, Start, candidates
from .choice import Advice, Trial, advise, front
from .plan import Plan, make, noise_norm

__all__ = [
    "Advice",
    "Alternatives",
    "Candidate",
    "Plan",
    "Start",
    "Trial",
    "advise",
    "alternatives",
    "candidates",
    "front",
    "make",
    "noise_norm",
]
