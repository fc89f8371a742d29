"""How far apart do the trained and the retrained model lie? Coupled training pairs, measured before any request."""

from .belongs import refuse_other
from .calibrate import calibrate
from .coupling import Deletion, Stream, base_stream, retained_stream
from .curvature import curvature
from .pair import Train
from .plot import plot_trajectory
from .result import Calibration
from .theory import near_minimizer, regularized_head

__all__ = [
    "Calibration",
    "Deletion",
    "Stream",
    "Train",
    "base_stream",
    "calibrate",
    "curvature",
    "near_minimizer",
    "plot_trajectory",
    "refuse_other",
    "regularized_head",
    "retained_stream",
]
