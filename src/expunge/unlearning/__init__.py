"""The engine: carries out a description of blocks and steps on a model, and writes down what it did."""

from .batches import Indices
from .coverage import refuse_unusual
from .engine import find_bases, run, train_clean
from .fine_tune import FineTune
from .group import Group
from .options import Loss, Options
from .progress import Meter, Progress, RichMeter, combine, measured, silent
from .record import Record
from .tensorboard import TensorBoardMeter

__all__ = [
    "FineTune",
    "Group",
    "Indices",
    "Loss",
    "Meter",
    "Options",
    "Progress",
    "Record",
    "RichMeter",
    "TensorBoardMeter",
    "combine",
    "find_bases",
    "measured",
    "refuse_unusual",
    "run",
    "silent",
    "train_clean",
]
