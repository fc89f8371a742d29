"""Block-wise noisy fine-tuning, the paper's Algorithm 1, on any module:

    clip the model (only where C₀ is asked for)       forget the statistics
    find bases by a run from the public reference     (only for a keep-space)
    train on retained data (a clean phase, if any)    reset what the keep-space does not hold
    for each block, for each of its steps:            B ← B − γ(clip(A_iᵀ g) + λB) + ξ
    estimate the statistics anew                      fine-tune on retained data

The engine follows a description (blocks of steps, a partition) and writes down what it did. It certifies nothing.
"""

import math
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from .. import weights
from ..accounting import Block
from ..errors import CertificationError
from ..subspaces import Design, KeepSpace, Partition, Whole
from ..subspaces.probe import Bystander, decomposition_error
from ..weights import local
from .batches import Batches, Guard
from .buffers import average_statistics, estimate_statistics, recompute_buffers, reset_statistics, training_mode
from .coverage import take_inventory
from .entry import arrived, refuse_unmeasurable
from .fine_tune import FineTune
from .gradients import Gradients
from .group import Group
from .noise import NoiseSource
from .opening import (
    clip_model,
    fingerprint,
    fit,
    new_record,
    refuse_keeping,
    refuse_memory,
    refuse_misuse,
    refuse_whitening,
)
from .options import Loss, Options
from .progress import Phase, Progress
from .record import BlockRecord, Record
from .reset import Reset
from .resuming import keep_in, resume, state_of
from .seal import Seal
from .step import ActiveBlock

PHASES: tuple[Phase, ...] = ("bases", "clean", "noise", "fine-tune")


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
        group = Group(model)
        group.refuse_strays()
        with group.watched():
            engine = Run(model, retain_loader, loss, blocks, design, model_clip, clean, fine_tune, options, group)
            with training_mode(group.module, engine.inventory):
                return engine.execute()


def train_clean(
    model: nn.Module,
    retain_loader: Iterable[Any],
    loss: Loss,
    recipe: FineTune,
    *,
    seed: int,
    public: Sequence[str] = (),
) -> None:
    """Only the clean phase, as `run` would carry it out: for calibration, which measures the gap where noise will enter."""
    options = Options(simulate=seed, public=public)
    with torch.random.fork_rng([torch.cuda.current_device()] if torch.cuda.is_available() else []):
        torch.manual_seed(seed)
        engine = Run(model, retain_loader, loss, None, Whole(), None, recipe, None, options, Group(model))
        with training_mode(model, engine.inventory):
            engine.clean_only()


def find_bases(
    model: nn.Module, retain_loader: Iterable[Any], loss: Loss, design: KeepSpace, *, seed: int
) -> Partition:
    """Only the run that finds a keep-space's bases, as `run` would make it; the model comes back as it was."""
    options = Options(simulate=seed)
    with torch.random.fork_rng([torch.cuda.current_device()] if torch.cuda.is_available() else []):
        torch.manual_seed(seed)
        engine = Run(model, retain_loader, loss, None, design, None, None, None, options, Group(model))
        with training_mode(model, engine.inventory):
            engine.find_bases()
    return engine.partition


class Run:
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
        group: Group,
    ) -> None:
        self.group, self.model, self.blocks, self.options = group, group.module, tuple(blocks or ()), options
        self.model_clip = model_clip
        bases: Any = design.bases if isinstance(design, KeepSpace) else None
        self.recipes: dict[Phase, FineTune | None] = {"bases": bases, "clean": clean, "fine-tune": fine_tune}
        refuse_misuse(loss, design, self.recipes)
        self.inventory = take_inventory(self.model, public=options.public, recompute=options.recompute)
        declared = refuse_memory(loss, self.recipes, options, self.model)
        self.parameters = list(self.inventory.trainable.values())
        refuse_whitening(self.recipes, self.parameters, group)
        self.partition = fit(design, self.inventory, blocks, group)
        refuse_keeping(design, group)
        self.reset = Reset(design, self.inventory, options.public) if isinstance(design, KeepSpace) else None
        guard = Guard(loader, options.forget, options.indices)
        random = torch.Generator().manual_seed(int(torch.randint(2**62, ()).item())).get_state()
        refuse_unmeasurable(self.recipes, loader, self.parameters)
        self.batches = Batches(loader, self.parameters[0].device, random=random, guard=guard)
        self.gradients = Gradients(model, loss, self.batches, options, group)
        simulate = options.simulate
        self.noise = NoiseSource.certified(group.from_first) if simulate is None else NoiseSource.simulation(simulate)
        self.record = new_record(
            self.model,
            self.inventory,
            design,
            self.partition,
            guard=guard,
            noise=self.noise,
            recipes=self.recipes,
            model_clip=model_clip,
            declared=declared,
            group=group,
        )
        self.checkpoint = keep_in(
            options.checkpoint,
            every=options.checkpoint_every,
            fingerprint=fingerprint(self.record, self.blocks, options, self.noise.description),
            group=group,
        )
        self.phase: Phase = "clean" if self.reset is None else "bases"
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
            resume(self, resumed)
        for phase in PHASES[PHASES.index(self.phase) :]:
            started = time.monotonic()
            self._enter(phase)
            if phase == "bases":
                self.find_bases()
            elif phase == "noise":
                self._reset()
                self._noisy_blocks()
            else:
                self._train(phase)
            if phase in ("noise", "fine-tune"):
                self._renew_buffers()
            spent = self.record.seconds
            spent[phase] = spent.get(phase, 0.0) + time.monotonic() - started
        return self._finish(public)

    def clean_only(self) -> None:
        """The clean phase and nothing else."""
        self._start()
        self._train("clean")
        self._renew_buffers()

    def find_bases(self) -> None:
        """A run on retained data from the reference; the trained weights are aside meanwhile."""
        if self.reset is None:
            return
        if self.reset.aside is None:
            self.reset.begin()
        self._train("bases")
        self.reset.finish()
        reset_statistics(self.inventory)
        self.partition = self.reset.partition()

    # The phases

    def _start(self) -> None:
        reset_statistics(self.inventory)
        if self.model_clip is not None:
            self.record.model_norm = clip_model(self.parameters, self.model_clip, self.partition)

    def _enter(self, phase: Phase) -> None:
        self.model.zero_grad(set_to_none=True)  # a gradient of before the noise must not reach fine-tuning
        if phase != self.phase:
            self.phase, self.step = phase, 0
            self._save(now=True)

    def _save(self, *, now: bool = False) -> None:
        self.checkpoint.save(lambda: state_of(self), now=now)

    def _reset(self) -> None:
        """Before the first noisy step: all that the keep-space does not hold becomes the reference's."""
        if self.reset is None or self.step > 0:
            return
        self.record.decomposition_error = decomposition_error(self.partition, self.parameters)
        self.reset.reset(self.partition)

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
        if self.reset is not None:
            rest = self.record.parameters - sum(self.partition.dimensions)
            error, nearness = self.reset.error(self.partition), self.reset.nearness
            self.record.reset = {"dimension": rest, "error": error, "nearness": nearness}

    def _noisy_block(self, index: int, block: Block, first: int, total: int) -> None:
        """The block's steps, from where the run stands; the next block is watched meanwhile: it must not move."""
        if len(self.record.blocks) == index:
            self.record.blocks.append(BlockRecord(self.partition.dimensions[index]))
        record, held = self.record.blocks[index], [local(parameter.detach()) for parameter in self.parameters]
        parts, decays = self.partition.parts(index, held), sum(s.weight_decay * s.step_size > 0.0 for s in block.steps)
        self.active = ActiveBlock(
            self.parameters,
            parts,
            keeps=decays > 1,
            coordinates=self.coordinates.pop(index, None),
            total=self.partition.total,
        )
        record.note_precision(self.group.largest(self.active.spacing()), block)
        bystander = Bystander(self.partition, index, held)
        idle = self.active.idle
        for step in block.steps[self.step - first :]:
            where = f"block {index}, step {self.step - first}"
            loss = self.gradients.backward(where, idle) if step.drift > 0.0 else None
            self.seal.check(where)
            measured = self.active.read_gradients(step)
            measured.finite &= loss is None or math.isfinite(loss)
            if not measured.finite:
                self.gradients.tolerate("gradient", where)
            self.active.move(step, measured, self.noise, self.step)
            self.seal.close()
            record.note(step, measured)
            self.step += 1
            self.options.progress(Progress("noise", self.step, total, index, loss, measured.gradient_norm, step.clip))
            self._save()
        record.off_block = max(record.off_block, bystander.moved())
        self.active = None

    def _train(self, phase: Phase) -> None:
        recipe = self.recipes[phase]
        if recipe is None:
            return
        if self.optimizer is None:
            self.optimizer = self.make_optimizer(recipe)
        base = [group.setdefault("initial_lr", group["lr"]) for group in self.optimizer.param_groups]
        last: dict[str, float] = {}
        seal = Seal(self.model, self.inventory.trainable)

        def closure() -> float:
            where = f"{phase}, step {self.step}"
            seal.close()  # only the optimiser may have moved anything
            last["loss"] = self.gradients.backward(where)
            seal.check(where)
            return last["loss"]

        while not arrived(recipe, self.step, self.gradients, self.record):
            for group, rate in zip(self.optimizer.param_groups, base, strict=True):
                group["lr"] = rate * recipe.rate(self.step)
            self.optimizer.step(closure)
            seal.close()
            self.step += 1
            self.options.progress(Progress(phase, self.step, recipe.steps, loss=last.get("loss")))
            self._save()
            seal.check(f"after {phase}, step {self.step - 1}")
        self.optimizer = None
        self.model.zero_grad(set_to_none=True)

    def make_optimizer(self, recipe: FineTune) -> torch.optim.Optimizer:
        """The phase's own; one that whitens looks at a batch of retained data first."""
        return recipe.make_optimizer(self.parameters, self.batches.next() if recipe.whiten else None)

    def _renew_buffers(self) -> None:
        """Statistics of the weights as they are now, from retained data."""
        seal = Seal(self.model, self.inventory.trainable)
        estimate_statistics(self.inventory, self.gradients.forward, self.options.statistics_batches)
        average_statistics(self.inventory, self.group)
        recompute_buffers(self.model, self.inventory)
        seal.check("while buffers were made anew")

    def _finish(self, public: str) -> Record:
        self.model.zero_grad(set_to_none=True)
        for name, tensor in self.inventory.trainable.items():
            if not bool(torch.isfinite(local(tensor.detach())).all()):
                raise CertificationError(f"parameter {name!r} is no longer finite. Lower the step size or the noise.")
        now = take_inventory(self.model, public=self.options.public, recompute=self.options.recompute)
        self.inventory.refuse_changes(now)
        self.record.public_changed = int(self.group.largest(now.public_sha256() != public))
        self.record.batches = self.batches.given
        self.record.output_sha256 = weights.digest(self.model.state_dict())
        self.group.agree("weights and ledger", f"{self.record.output_sha256} {self.record.ledger}")
        self.checkpoint.delete()
        return self.record
