"""Results → one self-contained page, and the same figures for papers. Never imports torch."""

from .results import Results, from_dict, load

__all__ = ["Results", "from_dict", "load"]
