"""Results → one self-contained page, and the same figures for papers. Never imports torch."""

from .page import render, write
from .plots import write as write_figures
from .results import Results, from_dict, load
from .statement import Statement, statement
from .verdict import Verdict, verdict

__all__ = [
    "Results",
    "Statement",
    "Verdict",
    "from_dict",
    "load",
    "render",
    "statement",
    "verdict",
    "write",
    "write_figures",
]
