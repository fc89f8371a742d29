"""An experiment of the paper as a page of the docs: what the paper says, what we measured, and a verdict."""

from .figures import figures
from .overview import overview
from .page import page

__all__ = ["figures", "overview", "page"]
