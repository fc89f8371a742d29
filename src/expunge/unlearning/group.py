"""Several processes on one model: what `torch.distributed` runs, as far as a run must know of it.

DDP: every process holds the whole model and adds the same noise. FSDP2 (`fully_shard`): each holds some rows of every
tensor and noises those (`subspaces/shards.py`). Either way the processes share one key, which the first draws and no one
keeps; sums are taken in float64; and in the end all must agree on what was done, or there is no certificate.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ..errors import CertificationError, ConfigError, ExpungeError
from ..subspaces import Partition
from ..subspaces.shards import Shards
from ..weights import is_sharded
from .placement import cut, refuse_placements, rows


class Group:
    """The processes that run together on `model`; only this one where it is neither DDP nor sharded."""

    def __init__(self, model: nn.Module) -> None:
        replicated = isinstance(model, DistributedDataParallel)
        self.module = model.module if replicated else model
        self.reshard()  # a forward pass of the user's may have left parameters whole
        self.example = next(filter(is_sharded, self.module.parameters()), None)
        joined = (replicated or self.sharded) and running() > 1
        self.size, self.rank = (dist.get_world_size(), dist.get_rank()) if joined else (1, 0)
        if replicated and dist.get_world_size(model.process_group) != self.size:
            raise ConfigError(
                "DDP runs in some of the processes only; all of the job's processes must work on the model."
            )

    @property
    def sharded(self) -> bool:
        """Whether each process holds a part of the model."""
        return self.example is not None

    @property
    def first(self) -> bool:
        """Whether this is the process that speaks for all."""
        return self.rank == 0

    @property
    def how(self) -> str:
        """For the certificate."""
        return "one process" if self.size == 1 else f"{self.size} processes, {'FSDP2' if self.sharded else 'DDP'}"

    def refuse_strays(self) -> None:
        """Processes that would each unlearn a model of their own, with noise of its own."""
        if self.size == 1 and running() > 1:
            raise ConfigError(
                f"{running()} processes run together, and each holds a model of its own. Pass "
                "torch.nn.parallel.DistributedDataParallel(model), or shard it: torch.distributed.fsdp.fully_shard(model)."
            )

    # What the processes say to each other

    def total(self, values: Sequence[float]) -> list[float]:
        """Sums over all processes, in float64."""
        return self._reduced(values, dist.ReduceOp.SUM)

    def largest(self, value: float) -> float:
        """Over all processes."""
        return self._reduced([value], dist.ReduceOp.MAX)[0]

    def mean(self, value: float) -> float:
        """Over all processes; not finite where one's is not."""
        return self.total([value])[0] / self.size

    def average_(self, tensors: Sequence[Tensor]) -> None:
        """Means over all processes, in place."""
        for tensor in tensors if self.size > 1 else []:
            summed = tensor.double()
            dist.all_reduce(summed)
            tensor.copy_(summed / self.size)

    def from_first(self, value: bytes) -> bytes:
        """What the first process has, of the same length everywhere."""
        if self.size == 1:
            return value
        held = torch.tensor(list(value), dtype=torch.uint8, device=_device())
        dist.broadcast(held, 0)
        return bytes(held.tolist())

    def everyone(self, value: bytes | Tensor) -> Tensor:
        """Bytes of the same length from every process, one row each."""
        mine = torch.tensor(list(value), dtype=torch.uint8) if isinstance(value, bytes) else value
        if self.size == 1:
            return mine[None]
        held = [torch.empty_like(mine, device=_device()) for _ in range(self.size)]
        dist.all_gather(held, mine.to(_device()))
        return torch.stack(held).cpu()

    def wait(self) -> None:
        """For all."""
        self.total([0.0])

    def once(self, make: Callable[[], bytes]) -> bytes:
        """What the first process makes, for all; where it fails, all fail."""
        made, error = b"", None
        if self.first:
            try:
                made = make()
            except ExpungeError as raised:
                error = raised
        length = int.from_bytes(self.from_first((0 if error else len(made) + 1).to_bytes(8, "little")), "little")
        if error is not None:
            raise error
        if length == 0:
            raise CertificationError("the first process could not finish; it says why. No certificate.")
        return self.from_first(made if self.first else bytes(length - 1))

    def agree(self, what: str, value: str) -> None:
        """Refuse where the processes do not have the same."""
        digest = hashlib.sha256(value.encode()).digest()
        differs = self.from_first(digest) != digest
        if self.total([float(differs)])[0]:
            raise CertificationError(f"the processes do not have the same {what}. No certificate.")

    @contextmanager
    def watched(self):
        """A process that fails stops the others: they find out where they next need it."""
        try:
            yield
        except RuntimeError as error:
            if self.size == 1 or isinstance(error, ExpungeError) or not _broken(error):
                raise
            raise CertificationError(
                f"another process of this run failed or was killed, so this one ({self.rank}) stops. The model is not "
                "unlearned and there is no certificate. With a checkpoint, the run resumes when it is started again."
            ) from error

    # What each of them holds

    def reshard(self) -> None:
        """Sharded modules let go of the parameters that they gathered for a forward pass."""
        for module in self.module.modules():
            if hasattr(module, "reshard"):
                module.reshard()  # pyright: ignore[reportCallIssue]

    def see(self, partition: Partition, parameters: Mapping[str, Tensor]) -> Partition:
        """The partition as this process sees it."""
        if not self.sharded:
            return partition
        refuse_placements(parameters, self.size)
        mine = [0.0] * (self.rank * len(parameters)) + [float(rows(parameter)) for parameter in parameters.values()]
        held = self.total(mine + [0.0] * (self.size * len(parameters) - len(mine)))
        cuts = [
            cut(name, parameter, [int(count) for count in held[at :: len(parameters)]], self.rank)
            for at, (name, parameter) in enumerate(parameters.items())
        ]
        shapes = [parameter.shape for parameter in parameters.values()]
        return Shards(partition, shapes, cuts, add_up=self._added, total=self.total)

    def _added(self, tensor: Tensor) -> Tensor:
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def _reduced(self, values: Sequence[float], how: dist.ReduceOp.RedOpType) -> list[float]:
        if self.size == 1:
            return list(values)
        held = torch.tensor(values, dtype=torch.float64, device=_device())
        dist.all_reduce(held, how)
        return held.tolist()


def running() -> int:
    """How many processes `torch.distributed` runs."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def _device() -> torch.device:
    return torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")


def _broken(error: RuntimeError) -> bool:
    """Whether this is `torch.distributed` that misses a process."""
    known = (dist.DistBackendError, dist.DistNetworkError)
    return isinstance(error, known) or any(word in str(error) for word in ("gloo", "Connection", "NCCL"))
