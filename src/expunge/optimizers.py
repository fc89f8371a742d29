"""torch's optimisers as we use them: in one pass over the numbers where torch can, which costs a fraction of the time.

On the paper's MLP (4.36 million parameters, one thread) a step of Adam takes 2.3 ms instead of 8 to 14, one of SGD 1.5
instead of 4. Sparse gradients are not for such a pass, so `sgd` asks whether there may be any; Adam takes none in any case.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def sgd(parameters: Sequence[Tensor], *, dense: bool, **settings: Any) -> torch.optim.SGD:
    """SGD; `dense` promises that no gradient will be sparse."""
    return torch.optim.SGD(parameters, fused=_fusible(parameters) if dense else None, **settings)


def adam(parameters: Sequence[Tensor], **settings: Any) -> torch.optim.Adam:
    """Adam."""
    return torch.optim.Adam(parameters, fused=_fusible(parameters), **settings)


def adamw(parameters: Sequence[Tensor], **settings: Any) -> torch.optim.AdamW:
    """Adam with decay apart from the gradient."""
    return torch.optim.AdamW(parameters, fused=_fusible(parameters), **settings)


def _fusible(parameters: Sequence[Tensor]) -> bool | None:
    """Whether one pass can do them all: plain real numbers on a device that has it. None leaves the choice to torch.

    On a CPU that pass looks at memory and not at strides: numbers that do not lie in a row would be mistaken for others.
    """
    plain = (torch.Tensor, torch.nn.Parameter)
    known = all(
        type(p) in plain and p.is_floating_point() and p.is_contiguous() and p.device.type in ("cpu", "cuda")
        for p in parameters
    )
    return known or None
