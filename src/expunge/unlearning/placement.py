"""Where the numbers of a sharded parameter are.

Only what `fully_shard` does by default is known to be right: whole rows, in the order of the processes. Everything else is
refused.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from ..errors import CoverageError
from ..subspaces.shards import Cut
from ..weights import is_sharded, local


def rows(parameter: Tensor) -> int:
    """How many rows this process holds; a scalar is one."""
    return local(parameter).shape[0] if parameter.dim() else local(parameter).numel()


def refuse_placements(parameters: Mapping[str, Tensor], size: int) -> None:
    """Every parameter sharded by rows over just the processes of the run."""
    from torch.distributed.tensor import Shard

    for name, parameter in parameters.items():
        if not is_sharded(parameter):
            raise CoverageError(
                f"parameter {name!r} is not sharded and others are, so nobody averages its gradient. Call "
                "fully_shard on the whole model last, with no parameter ignored."
            )
        mesh, placements = parameter.device_mesh, tuple(parameter.placements)  # pyright: ignore[reportAttributeAccessIssue]
        if mesh.ndim != 1 or mesh.size() != size or placements != (Shard(0),):
            raise CoverageError(
                f"parameter {name!r} lies as {placements} on {mesh}. Expunge knows fully_shard over one mesh dimension of "
                "all processes, rows divided (its default); no tensor parallelism, no hybrid sharding."
            )


def cut(name: str, parameter: Tensor, held: Sequence[int], rank: int) -> Cut:
    """Where a parameter is divided, from how many rows each process holds."""
    count = parameter.shape[0] if parameter.dim() else 1
    width = parameter.numel() // max(1, count)
    if sum(held) != count:
        raise CoverageError(f"the processes hold {sum(held)} rows of parameter {name!r}, which has {count}.")
    return Cut([0, *(width * row for row in accumulate(held))], rank)


def described(tensor: Tensor) -> tuple[list[int], str, bool]:
    """Shape, type, and whether it is sharded."""
    return list(tensor.shape), str(tensor.dtype).removeprefix("torch."), is_sharded(tensor)


def room(shape: Sequence[int], dtype: str, sharded: bool, *, like: Tensor | None) -> Tensor:
    """A tensor to read into what was described so: sharded as `like` is, where it was and this run shards."""
    kind = getattr(torch, dtype)
    if not sharded or like is None:
        return torch.zeros(*shape, dtype=kind)
    from torch.distributed.tensor import zeros

    return zeros(*shape, dtype=kind, device_mesh=like.device_mesh, placements=like.placements)  # pyright: ignore[reportAttributeAccessIssue]
