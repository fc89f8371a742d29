"""How a run is carried out, apart from what it does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ..accounting.checks import whole
from ..errors import ConfigError
from .batches import Indices
from .coverage import Recompute
from .progress import Meter, silent

Loss = Callable[[nn.Module, Any], Tensor]


@dataclass(frozen=True)
class Options:
    """Nothing here enters the accounting, save that what it says must be true."""

    public: Sequence[str] = ()
    recompute: Recompute | None = None
    forget: Sequence[int] | None = None
    indices: Indices | None = None
    accumulate: int = 1
    autocast: torch.dtype | None = None
    nonfinite: Literal["error", "zero"] = "error"
    statistics_batches: int = 100
    simulate: int | None = None
    checkpoint: str | None = None
    checkpoint_every: float = 60.0
    progress: Meter = silent

    def __post_init__(self) -> None:
        if self.nonfinite not in ("error", "zero"):
            raise ConfigError(f"nonfinite must be 'error' or 'zero'; got {self.nonfinite!r}.")
        for name in ("accumulate", "statistics_batches"):
            whole(name, getattr(self, name))
        if self.simulate is not None:
            whole("simulate", self.simulate, least=0, most=2**62)
        if self.autocast is not None and not isinstance(self.autocast, torch.dtype):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"autocast must be a dtype, such as torch.bfloat16; got {self.autocast!r:.60}.")
