"""Block-wise noisy fine-tuning, the paper's Algorithm 1, on any module:

    clip the model (only where C₀ is asked for)       forget the statistics
    train on retained data (a clean phase, if any)
    for each block, for each of its steps:            B ← B − γ(clip(A_iᵀ g) + λB) + ξ
    estimate the statistics anew                      fine-tune on retained data

The engine follows a description (blocks of steps, a partition) and writes down what it did. It certifies nothing.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .. import weights
from ..accounting import Block, to_json
from ..accounting.checks import whole
from ..checkpoint import Checkpoint
from ..errors import CertificationError, ConfigError, DataError
from ..subspaces import Design, Whole
from ..subspaces.probe import Bystander, decomposition_error
from .batches import Batches, Guard, Indices
from .buffers import estimate_statistics, recompute_buffers, reset_statistics, training_mode
from .chance import random_state, restore_random_state
from .coverage import Recompute, take_inventory
from .fine_tune import FineTune
from .noise import NoiseSource
from .progress import Meter, Phase, Progress, silent
from .record import BlockRecord, Record
from .seal import Seal
from .step import BELOW_CLIP, ActiveBlock

Loss = Callable[[nn.Module, Any], Tensor]
PHASES: tuple[Phase, ...] = ("clean", "noise", "fine-tune")


@dataclass(frozen=True)
class Options:
    """How a run is carried out. Nothing here enters the accounting, save that what it says must be true."""

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


def run(
    model: nn.Module,
    retain_loader: Iterable[Any],
    loss: Loss,
    *,
    blocks: Sequence[Block],
    design: Design,
    model_clip: float | None = None,
    clean: FineTune | None = None,
    fine_tune: FineTune | None = None,
    options: Options | None = None,
) -> Record:
    """Carry out a description on a model, in place, and return what was done."""
    options = options or Options()
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    simulated = options.simulate is not None
    with torch.random.fork_rng(devices) if simulated else nullcontext():
        if options.simulate is not None:
            torch.manual_seed(options.simulate)
        engine = _Run(model, retain_loader, loss, blocks, design, model_clip, clean, fine_tune, options)
        with training_mode(model, engine.inventory):
            return engine.execute()


def train_clean(model: nn.Module, retain_loader: Iterable[Any], loss: Loss, recipe: FineTune, *, seed: int) -> None:
    """Only the clean phase, as `run` would carry it out: for calibration, which measures the gap where noise will enter."""
    options = Options(simulate=seed)
    with torch.random.fork_rng([torch.cuda.current_device()] if torch.cuda.is_available() else []):
        torch.manual_seed(seed)
        engine = _Run(model, retain_loader, loss, None, Whole(), None, recipe, None, options)
        with training_mode(model, engine.inventory):
            engine.clean_only()


class _Run:
    """One run: its materials, its place in the schedule, and its record."""

    def __init__(
        self,
        model: nn.Module,
        loader: Iterable[Any],
        loss: Loss,
        blocks: Sequence[Block] | None,
        design: Design,
        model_clip: float | None,
        clean: FineTune | None,
        fine_tune: FineTune | None,
        options: Options,
    ) -> None:
        self.model, self.loss, self.blocks, self.options = model, loss, tuple(blocks or ()), options
        self.recipes = {"clean": clean, "fine-tune": fine_tune}
        _refuse_misuse(loss, design, self.recipes)
        self.model_clip = model_clip
        self.inventory = take_inventory(model, public=options.public, recompute=options.recompute)
        self.parameters = list(self.inventory.trainable.values())
        self.partition = design.bind(self.inventory.shapes)
        if blocks is not None and self.partition.dimensions != [block.dimension for block in blocks]:
            raise ConfigError(
                f"the plan's blocks have dimensions {_few([block.dimension for block in blocks])}; this model with "
                f"{design} has {_few(self.partition.dimensions)}. Make the plan for this model and design."
            )
        guard = Guard(loader, options.forget, options.indices)
        random = torch.Generator().manual_seed(int(torch.randint(2**62, ()).item())).get_state()
        self.batches = Batches(loader, self.parameters[0].device, random=random, guard=guard)
        self.guard = guard
        simulate = options.simulate
        self.noise = NoiseSource.certified() if simulate is None else NoiseSource.simulation(simulate)
        self.record = self._new_record(design)
        self.checkpoint = Checkpoint(
            options.checkpoint, every=options.checkpoint_every, fingerprint=self._fingerprint()
        )
        self.phase: Phase = "clean"
        self.active: ActiveBlock | None = None
        self.coordinates: dict[int, list[Tensor]] = {}  # of a block that was interrupted
        self.optimizer: torch.optim.Optimizer | None = None
        self.step = 0  # within the phase

    def execute(self) -> Record:
        """All phases, from wherever the run stands."""
        public = self.inventory.public_sha256()
        resumed = self.checkpoint.load()
        if resumed is None:
            self._start()
        else:
            self._resume(resumed)
        for phase in PHASES[PHASES.index(self.phase) :]:
            started = time.monotonic()
            self._enter(phase)
            if phase == "noise":
                self._noisy_blocks()
            else:
                self._train(phase)
            if phase != "clean":
                self._renew_buffers()
            spent = self.record.seconds
            spent[phase] = spent.get(phase, 0.0) + time.monotonic() - started
        return self._finish(public)

    def clean_only(self) -> None:
        """The clean phase and nothing else."""
        self._start()
        self._train("clean")
        self._renew_buffers()

    # The phases

    def _start(self) -> None:
        reset_statistics(self.inventory)
        if self.model_clip is not None:
            self.record.model_norm = _clip_model(self.parameters, self.model_clip)

    def _enter(self, phase: Phase) -> None:
        self.model.zero_grad(set_to_none=True)  # a gradient of before the noise must not reach fine-tuning
        if phase != self.phase:
            self.phase, self.step = phase, 0
            self.checkpoint.save(self._state, now=True)

    def _noisy_blocks(self) -> None:
        total = sum(len(block.steps) for block in self.blocks)
        first = 0
        self.seal = Seal(self.model, self.inventory.trainable)
        for index, block in enumerate(self.blocks):
            last = first + len(block.steps)
            if self.step < last:
                self._noisy_block(index, block, first, total)
            first = last
        self.seal.check("after the last noisy step")

    def _noisy_block(self, index: int, block: Block, first: int, total: int) -> None:
        """The block's steps, from where the run stands; the next block is watched meanwhile: it must not move."""
        if len(self.record.blocks) == index:
            self.record.blocks.append(BlockRecord(self.partition.dimensions[index]))
        record, parts = self.record.blocks[index], self.partition.parts(index, self.parameters)
        decays = any(step.weight_decay * step.step_size > 0.0 for step in block.steps)
        self.active = ActiveBlock(self.parameters, parts, decays=decays, coordinates=self.coordinates.pop(index, None))
        bystander = Bystander(self.partition, index, self.parameters)
        for step in block.steps[self.step - first :]:
            where = f"block {index}, step {self.step - first}"
            loss = self._backward(where) if step.drift > 0.0 else None
            self.seal.check(where)
            measured = self.active.read_gradients(step)
            measured.finite &= loss is None or math.isfinite(loss)
            if not measured.finite:
                self._tolerate("gradient", where)
            self.active.move(step, measured, self.noise, self.step)
            self.seal.close()
            record.note(step, measured)
            self.step += 1
            self.options.progress(Progress("noise", self.step, total, index, loss, measured.gradient_norm, step.clip))
            self.checkpoint.save(self._state)
        record.off_block = max(record.off_block, bystander.moved())
        self.active = None

    def _train(self, phase: Phase) -> None:
        recipe = self.recipes[phase]
        if recipe is None:
            return
        if self.optimizer is None:
            self.optimizer = recipe.make_optimizer(self.parameters)
        base = [group.setdefault("initial_lr", group["lr"]) for group in self.optimizer.param_groups]
        last: dict[str, float] = {}

        def closure() -> float:
            last["loss"] = self._backward(f"{phase}, step {self.step}")
            return last["loss"]

        while self.step < recipe.steps:
            for group, rate in zip(self.optimizer.param_groups, base, strict=True):
                group["lr"] = rate * recipe.rate(self.step)
            self.optimizer.step(closure)
            self.step += 1
            self.options.progress(Progress(phase, self.step, recipe.steps, loss=last.get("loss")))
            self.checkpoint.save(self._state)
        self.optimizer = None
        self.model.zero_grad(set_to_none=True)

    def _renew_buffers(self) -> None:
        """Statistics of the weights as they are now, from retained data."""
        estimate_statistics(self.inventory, lambda: self._forward(self.batches.next()), self.options.statistics_batches)
        recompute_buffers(self.model, self.inventory)

    def _finish(self, public: str) -> Record:
        self.model.zero_grad(set_to_none=True)
        for name, tensor in self.inventory.trainable.items():
            if not bool(torch.isfinite(tensor).all()):
                raise CertificationError(f"parameter {name!r} is no longer finite. Lower the step size or the noise.")
        now = take_inventory(self.model, public=self.options.public, recompute=self.options.recompute)
        self.inventory.refuse_changes(now)
        self.record.public_changed = int(now.public_sha256() != public)
        self.record.batches = self.batches.given
        self.record.output_sha256 = weights.digest(self.model.state_dict())
        self.checkpoint.delete()
        return self.record

    # One gradient

    def _forward(self, batch: Any) -> Tensor:
        dtype, device = self.options.autocast, self.parameters[0].device.type
        with torch.autocast(device, dtype=dtype) if dtype is not None else nullcontext():
            return self.loss(self.model, batch)

    def _backward(self, where: str) -> float:
        """Gradients of the mean loss over `accumulate` batches; none where the loss is not finite and that is allowed."""
        self.model.zero_grad(set_to_none=True)
        total = 0.0
        with torch.enable_grad():
            for _ in range(self.options.accumulate):
                value = self._forward(self.batches.next())
                if not isinstance(value, Tensor) or value.numel() != 1:
                    raise ConfigError(f"loss(model, batch) must return a scalar tensor; got {type(value).__name__}.")
                value = value / self.options.accumulate
                value.backward()
                total += value.item()
        if not math.isfinite(total):
            self._tolerate("loss", where)
            self.model.zero_grad(set_to_none=True)
        return total

    def _tolerate(self, what: str, where: str) -> None:
        if self.options.nonfinite == "error":
            raise DataError(
                f"the {what} is not finite ({where}). Look at the batch, lower the step size, or pass nonfinite='zero' to "
                "count such a gradient as zero."
            )

    # Interruption

    def _state(self) -> dict[str, Any]:
        return {
            "phase": self.phase,
            "step": self.step,
            "weights": dict(self.inventory.trainable),
            "buffers": {name: buffer for name, (buffer, _) in self.inventory.recompute.items()},
            "coordinates": {len(self.record.blocks) - 1: self.active.coordinates} if self.active else {},
            "optimizer": self.optimizer.state_dict() if self.optimizer else None,
            "random": random_state(),
            "data": {"start": self.batches.start, "given": self.batches.given, "seen": self.batches.seen},
            "record": self.record.dump(),
        }

    def _resume(self, state: dict[str, Any]) -> None:
        self.phase, self.step = state["phase"], state["step"]
        self.record = Record.restore(state["record"])
        self.coordinates = state["coordinates"]
        with torch.no_grad():
            for name, parameter in self.inventory.trainable.items():
                parameter.copy_(state["weights"][name])
            for name, (buffer, _) in self.inventory.recompute.items():
                buffer.copy_(state["buffers"][name])
        reset_statistics(self.inventory)
        self.batches.rewind(**state["data"])
        recipe = self.recipes.get(self.phase)
        if recipe is not None and state["optimizer"] is not None:
            self.optimizer = recipe.make_optimizer(self.parameters)
            self.optimizer.load_state_dict(state["optimizer"])
        restore_random_state(state["random"])

    def _fingerprint(self) -> str:
        """What must be the same for a checkpoint to be this run's."""
        options, recipes = self.options, {name: r and r.describe() for name, r in self.recipes.items()}
        parts = [
            to_json(self.blocks) if self.blocks else None,
            self.record.subspace,
            self.record.input_sha256,
            self.record.forget_sha256,
            recipes,
        ]
        parts += [self.model_clip, options.simulate, options.accumulate, options.nonfinite, options.statistics_batches]
        return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()

    def _new_record(self, design: Design) -> Record:
        forget = self.guard.forget
        packed = None if forget is None else b"".join(i.to_bytes(8, "little") for i in sorted(forget))
        return Record(
            subspace={**design.describe(), "dimensions": self.partition.dimensions},
            input_sha256=weights.digest(self.model.state_dict()),
            generator=self.noise.description,
            simulated=self.noise.simulated,
            parameters=sum(parameter.numel() for parameter in self.parameters),
            forget_sha256=None if packed is None else hashlib.sha256(packed).hexdigest(),
            forget_count=None if forget is None else len(forget),
            retained_how=self.guard.how,
            decomposition_error=decomposition_error(self.partition, self.parameters),
            fates=self.inventory.fates,
            epsilon_machine=max(torch.finfo(parameter.dtype).eps for parameter in self.parameters),
            model_clip=self.model_clip,
            clean=self.recipes["clean"] and self.recipes["clean"].describe(),
            fine_tune=self.recipes["fine-tune"] and self.recipes["fine-tune"].describe(),
        )


def _refuse_misuse(loss: object, design: object, recipes: Mapping[str, object]) -> None:
    if not callable(loss):
        raise ConfigError(f"loss must be a function of (model, batch); got {type(loss).__name__}.")
    if isinstance(loss, nn.Module) and any(True for _ in loss.parameters()):
        raise ConfigError(
            "the loss has parameters of its own, which may remember the forgotten data: make them part of the model."
        )
    if not isinstance(design, Design):
        raise ConfigError(f"design must be a block design, such as expunge.Permutation(4); got {design!r:.60}.")
    for name, recipe in recipes.items():
        if recipe is not None and not isinstance(recipe, FineTune):
            raise ConfigError(f"{name} must be an expunge.FineTune; got {recipe!r:.60}.")


def _clip_model(parameters: Sequence[Tensor], clip: float) -> float:
    """Π_C₀ on the whole parameter vector; its norm afterwards."""
    with torch.no_grad():
        norm = _total_norm(parameters)
        if norm > clip:
            for parameter in parameters:
                parameter.mul_(clip * BELOW_CLIP / norm)
        return _total_norm(parameters)


def _total_norm(tensors: Sequence[Tensor]) -> float:
    return math.hypot(*(torch.linalg.vector_norm(tensor, dtype=torch.float64).item() for tensor in tensors))


def _few(numbers: Sequence[int | None]) -> str:
    shown = ", ".join(str(number) for number in numbers[:6])
    return f"[{shown}{', …' if len(numbers) > 6 else ''}] ({len(numbers)})"
