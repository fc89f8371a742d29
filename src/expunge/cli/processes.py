"""`torchrun … -m expunge unlearn`: the processes meet, and share one model."""

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Processes:
    """How many there are, and which this is."""

    size: int = 1
    rank: int = 0
    device: str = "cpu"

    @property
    def first(self) -> bool:
        """The one that prints, and writes what all have."""
        return self.rank == 0

    def share(self, model: Any) -> Any:
        """The model for all of them; one that its factory sharded is left as it is."""
        from torch.nn.parallel import DistributedDataParallel

        return model if self.size == 1 or sharded(model) else DistributedDataParallel(model)

    def save(self, model: Any, path: Path) -> None:
        """The weights, once."""
        from .. import weights

        if self.first or sharded(model):
            weights.save(weights.state_of(model), path)


@contextmanager
def meet(device: str):
    """The processes that torchrun started, or this one alone. With CUDA each takes the device of its local rank."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield Processes(device=device)
        return
    import torch
    import torch.distributed as dist

    if device == "cuda":
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    yield Processes(size, dist.get_rank(), device)
    dist.destroy_process_group()  # not after an error: some may be gone, and nobody should wait for them


def sharded(model: Any) -> bool:
    """Whether its factory called `fully_shard`."""
    from .. import weights

    return any(map(weights.is_sharded, model.parameters()))
