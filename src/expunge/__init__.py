"""Expunge: certified machine unlearning for PyTorch.

Names are loaded when they are first used, so that the accountant and the command line never wait for torch.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from .errors import (
    BudgetError,
    BufferError,
    CertificationError,
    ConfigError,
    CoverageError,
    DataError,
    ExpungeError,
    ProximityError,
    ViolationError,
)

if TYPE_CHECKING:
    from . import accounting, audit, methods
    from .accounting import Proximity
    from .api import Outcome, calibrate, plan, recertify, unlearn, verify
    from .calibration import Calibration
    from .certificate import Certificate
    from .planning import Plan
    from .subspaces import (
        Core,
        Custom,
        Factor,
        FastRotation,
        Head,
        HeadBody,
        LayerCycle,
        Permutation,
        RandomRotation,
        Reference,
        Whole,
    )
    from .unlearning import FineTune, RichMeter
    from .workloads import ClassDeletion, GroupDeletion, IndexDeletion, RandomDeletion

__version__ = version("expunge")

_HOME = {
    **dict.fromkeys(("calibrate", "plan", "unlearn", "verify", "recertify", "Outcome"), "api"),
    **dict.fromkeys(
        ("Custom", "FastRotation", "HeadBody", "LayerCycle", "Permutation", "RandomRotation", "Whole"), "subspaces"
    ),
    **dict.fromkeys(("Core", "Factor", "Head", "Reference"), "subspaces"),
    **dict.fromkeys(("FineTune", "RichMeter"), "unlearning"),
    **dict.fromkeys(("ClassDeletion", "GroupDeletion", "IndexDeletion", "RandomDeletion"), "workloads"),
    "Calibration": "calibration",
    "Certificate": "certificate",
    "Plan": "planning",
    "Proximity": "accounting",
}
_ROOMS = (
    "accounting",
    "audit",
    "calibration",
    "certificate",
    "experiments",
    "methods",
    "planning",
    "report",
    "subspaces",
    "unlearning",
    "workloads",
)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module 'expunge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


__all__ = [
    "BudgetError",
    "BufferError",
    "Calibration",
    "Certificate",
    "CertificationError",
    "ClassDeletion",
    "ConfigError",
    "Core",
    "CoverageError",
    "Custom",
    "DataError",
    "ExpungeError",
    "Factor",
    "FastRotation",
    "FineTune",
    "GroupDeletion",
    "Head",
    "HeadBody",
    "IndexDeletion",
    "LayerCycle",
    "Outcome",
    "Permutation",
    "Plan",
    "Proximity",
    "ProximityError",
    "RandomDeletion",
    "RandomRotation",
    "Reference",
    "RichMeter",
    "ViolationError",
    "Whole",
    "__version__",
    "accounting",
    "audit",
    "calibrate",
    "methods",
    "plan",
    "recertify",
    "unlearn",
    "verify",
]
