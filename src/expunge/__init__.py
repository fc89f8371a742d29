"""Expunge: certified machine unlearning for PyTorch."""

from importlib.metadata import version

__version__ = version("expunge")
