"""A run's state for its checkpoint: all that the rest of it depends on, save the noise's key, which is fresh every time."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..checkpoint import Checkpoint
from .buffers import reset_statistics
from .chance import random_state, restore_random_state
from .group import Group
from .record import Record

if TYPE_CHECKING:
    from .engine import Run
    from .shared_checkpoint import SharedCheckpoint


def keep_in(path: str | None, *, every: float, fingerprint: str, group: Group) -> "Checkpoint | SharedCheckpoint":
    """A file for a run in one process, a folder for one in several; a folder that is there already can be resumed in one."""
    if path is None or (group.size == 1 and not group.sharded and not Path(path).is_dir()):
        return Checkpoint(path, every=every, fingerprint=fingerprint)
    from .shared_checkpoint import SharedCheckpoint

    return SharedCheckpoint(path, every=every, fingerprint=fingerprint, group=group)


def state_of(run: "Run") -> dict[str, Any]:
    """As the run stands between two steps."""
    return {
        "phase": run.phase,
        "step": run.step,
        "weights": dict(run.inventory.trainable),
        "buffers": {name: buffer for name, (buffer, _) in run.inventory.recompute.items()},
        "coordinates": {len(run.record.blocks) - 1: run.active.coordinates} if run.active else {},
        "reset": run.reset and run.reset.dump(),
        "optimizer": run.optimizer.state_dict() if run.optimizer else None,
        "random": random_state(),
        "data": {"start": run.batches.start, "given": run.batches.given, "seen": run.batches.seen},
        "record": run.record.dump(),
    }


def resume(run: "Run", state: dict[str, Any]) -> None:
    """Stand where the interrupted run stood."""
    run.phase, run.step = state["phase"], state["step"]
    run.record = Record.restore(state["record"])
    run.coordinates = state["coordinates"]
    with torch.no_grad():
        for name, parameter in run.inventory.trainable.items():
            parameter.copy_(state["weights"][name])
        for name, (buffer, _) in run.inventory.recompute.items():
            buffer.copy_(state["buffers"][name])
    reset_statistics(run.inventory)
    if run.reset is not None:
        run.reset.restore(state["reset"])
        run.partition = run.reset.partition() if run.reset.end is not None else run.partition
    run.batches.rewind(**state["data"])
    recipe = run.recipes.get(run.phase)
    if recipe is not None and state["optimizer"] is not None:
        some = torch.ones_like(run.parameters[0].detach()[:1]) if recipe.whiten else None  # what it saw comes back
        run.optimizer = recipe.make_optimizer(run.parameters, some)
        run.optimizer.load_state_dict(state["optimizer"])
    restore_random_state(state["random"])
