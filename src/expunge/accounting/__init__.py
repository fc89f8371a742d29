"""The accountant: what a mechanism costs, in plain Python. Imports nothing but the standard library.

Every name and number is explained in docs/mathematics.md.
"""

from . import composition, gaussian, paper, proximity, recertify, renyi, stability
from .cost import cost
from .ledger import from_json, load, to_json
from .mechanism import Block, Step
from .proximity import Proximity, unconditional
from .recertify import Accountant, largest_gap, privacy_curve, recertified_epsilon
from .solve import allocate, best_steps, scale_noise, sigma
from .split import mu

__all__ = [
    "Accountant",
    "Block",
    "Proximity",
    "Step",
    "allocate",
    "best_steps",
    "composition",
    "cost",
    "from_json",
    "gaussian",
    "largest_gap",
    "load",
    "mu",
    "paper",
    "privacy_curve",
    "proximity",
    "recertified_epsilon",
    "recertify",
    "renyi",
    "scale_noise",
    "sigma",
    "stability",
    "to_json",
    "unconditional",
]
