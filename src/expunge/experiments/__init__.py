"""Many methods, held against retraining, on the same data and the same trained models: `compare`.

request = Request("digits-mlp", RandomDeletion(0.10), epsilon=10, delta=1e-5, seeds=(0, 1, 2))
document = compare(request, folder="cells")        # expunge.comparison/1; finished cells are not run again
"""

from .brief import brief
from .compare import compare
from .curve import Looks
from .proximity import calibrated
from .request import ALWAYS, Request
from .results import results
from .settings import settings_of
from .summary import Line, Spread, summarise, write_csv
from .table import markdown, table

__all__ = [
    "ALWAYS",
    "Line",
    "Looks",
    "Request",
    "Spread",
    "brief",
    "calibrated",
    "compare",
    "markdown",
    "results",
    "settings_of",
    "summarise",
    "table",
    "write_csv",
]
