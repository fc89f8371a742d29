"""The state of a run on several processes: written by all of them, resumed by any number of them.

    FOLDER/state.json       everything that is no tensor, and which of the folders beside it is whole
    FOLDER/NUMBER/          the tensors as torch.distributed.checkpoint writes them: safetensors, every process its shards

A new state gets a new folder, and `state.json` is replaced when that is complete, so a kill at any moment leaves the last
one. All processes must see FOLDER. Only its owner may read it; never pickle.
"""

import hashlib
import json
import shutil
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch.distributed as dist
from safetensors import SafetensorError
from torch import Tensor
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from .. import weights
from ..checkpoint import other_run, pack, refuse_place, unpack
from ..errors import ConfigError, DataError, ExpungeError
from .group import Group
from .placement import described, room

STATE, PIECE = "state.json", 2**24


class SharedCheckpoint:
    """As `Checkpoint`, with a folder for a file."""

    def __init__(self, path: str | Path, *, every: float, fingerprint: str, group: Group) -> None:
        self._path, self._every, self._fingerprint, self._group = Path(path), every, fingerprint, group
        self._last, self._number = time.monotonic(), 0
        refuse_place(self._path)
        if self._path.is_file():
            raise ConfigError(
                f"{path} is the checkpoint of a run in one process. Resume it in one, or name another path."
            )

    def load(self) -> dict[str, Any] | None:
        """The state of an interrupted run; none where there is nothing to resume."""
        if not (self._path / STATE).exists():
            return None
        try:
            found = json.loads((self._path / STATE).read_text())
            if found["fingerprint"] != self._fingerprint:
                raise other_run(self._path)
            self._number = found["number"]
            return self._read(found, self._path / str(self._number))
        except ExpungeError:
            raise
        except (SafetensorError, LookupError, TypeError, ValueError, OSError) as error:
            raise DataError(
                f"{self._path} is no checkpoint of a run ({error}). Delete it, or name another path."
            ) from error

    def save(self, state: Callable[[], dict[str, Any]], *, now: bool = False) -> None:
        """Write the state, if enough time has passed since the last by the first process's clock."""
        due = now or time.monotonic() - self._last >= self._every
        if self._group.from_first(bytes([due])) == bytes([False]):
            return
        tensors: dict[str, Tensor] = {}
        packed = pack(self._of_all(state()), tensors, keep=Tensor.detach)
        folder = self._path / str(self._number + 1)
        if self._group.first:
            shutil.rmtree(folder, ignore_errors=True)
            self._path.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700)
        self._group.wait()
        with _quietly():
            writer = HuggingFaceStorageWriter(str(folder), save_distributed=True)
            save(tensors, storage_writer=writer, no_dist=not dist.is_initialized())
        self._group.wait()
        if self._group.first:
            self._point_to(folder, {"state": packed, "tensors": {name: described(t) for name, t in tensors.items()}})
        self._number, self._last = self._number + 1, time.monotonic()

    def _point_to(self, folder: Path, values: dict[str, Any]) -> None:
        """From now on the state is in this folder; the one before it goes."""
        about = {"number": self._number + 1, "sha256": _sha256(folder).hex(), "fingerprint": self._fingerprint}
        with weights.Atomic(self._path / STATE, 0o600) as file:
            file.write(json.dumps({**about, **values}).encode())
        shutil.rmtree(self._path / str(self._number), ignore_errors=True)

    def delete(self) -> None:
        """The run is over, everywhere: its weights go."""
        self._group.wait()
        if self._group.first:
            shutil.rmtree(self._path, ignore_errors=True)

    def _read(self, found: dict[str, Any], folder: Path) -> dict[str, Any]:
        if self._group.from_first(_sha256(folder) if self._group.first else bytes(32)).hex() != found["sha256"]:
            raise DataError(f"{self._path} was damaged: it is not what was written. Delete it to begin again.")
        like = self._group.example
        if like is not None and not any(sharded for *_, sharded in found["tensors"].values()):
            raise ConfigError(
                f"{self._path} was written by a run that did not shard the model. Resume it with DDP, or alone."
            )
        tensors = {name: room(*about, like=like) for name, about in found["tensors"].items()}
        with _quietly():
            reader = HuggingFaceStorageReader(str(folder))
            load(tensors, storage_reader=reader, no_dist=not dist.is_initialized())
        return self._of_one(unpack(found["state"], tensors))

    def _of_all(self, state: dict[str, Any]) -> dict[str, Any]:
        """Every process's random numbers and place in its data; a block's coordinates are projected anew."""
        seen = self._group.everyone(state["data"]["seen"].encode().ljust(64))
        data = {**state["data"], "start": self._group.everyone(state["data"]["start"]), "seen": seen}
        random = {device: self._group.everyone(held) for device, held in state["random"].items()}
        return {**state, "coordinates": {}, "data": data, "random": random}

    def _of_one(self, state: dict[str, Any]) -> dict[str, Any]:
        """Those of this process; where there are more or fewer than there were, everyone goes on as the first would."""
        data, random = state["data"], state["random"]
        same = len(data["start"]) == self._group.size
        mine = self._group.rank if same else 0
        seen = bytes(data["seen"][mine].tolist()).decode().strip() if same else None
        data = {**data, "start": data["start"][mine].clone(), "seen": seen}
        return {**state, "data": data, "random": {device: held[mine].clone() for device, held in random.items()}}


def _sha256(folder: Path) -> bytes:
    hashing = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        hashing.update(file.name.encode())
        with file.open("rb") as content:
            while piece := content.read(PIECE):
                hashing.update(piece)
    return hashing.digest()


@contextmanager
def _quietly():
    """Torch warns that one process is all there is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
