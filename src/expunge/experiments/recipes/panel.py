"""What is compared, as data: lines (a method each) on panels (the same trained models and the same request for all)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...methods import Method
from ...workloads import Deletion

Scale = Literal["smoke", "laptop", "paper"]
STEPS = 1000  # of a line, noisy ones and fine-tuning together: the paper's


@dataclass(frozen=True, kw_only=True)
class Line:
    """A method, set up, and the paper's numbers for it (in percent). `ours`: the settings are not the paper's."""

    label: str
    method: Method
    paper: Mapping[str, float] = field(default_factory=dict[str, float])
    ours: bool = False


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Lines that start from the same trained models and answer the same request. `training` changes the recipe."""

    title: str
    workload: str
    deletion: Deletion
    lines: tuple[Line, ...]
    training: Mapping[str, Any] = field(default_factory=dict[str, Any])
