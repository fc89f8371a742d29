"""How far apart do the trained and the retrained model lie? Coupled training pairs, measured before any request."""

from .calibrate import Calibration, calibrate
from .coupling import Deletion, Stream, base_stream, retained_stream

__all__ = ["Calibration", "Deletion", "Stream", "base_stream", "calibrate", "retained_stream"]
