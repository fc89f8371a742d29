"""One training run: a recipe, a stream of samples and a seed give a model. The same three give the same model.

All chance comes from the seed, by purpose and step (see `seeds`): initialisation, order, augmentation, and what the model
draws itself (dropout). So two runs on streams of equal length are coupled, and a run that was interrupted ends bit for bit
where it would have ended. (Bit for bit on one device and with one number of threads: torch promises no more.)
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from .. import optimizers, weights
from ..checkpoint import Checkpoint
from ..errors import ConfigError, DataError
from ..lbfgs import Lbfgs
from .evaluation import accuracy
from .heads import penalty
from .recipes import Recipe
from .seeds import derive, generator
from .stream import Stream


@dataclass(frozen=True)
class Step:
    """A step just taken: number `step` of `steps`, from 1, in epoch `epoch`, from 1. `model` is the one being trained."""

    epoch: int
    step: int
    steps: int
    loss: float
    model: nn.Module


OnStep = Callable[[Step], None]
OnEpoch = Callable[[dict[str, Any]], None]


def train(
    model: nn.Module,
    stream: Stream,
    recipe: Recipe,
    *,
    seed: int,
    device: str | torch.device = "cpu",
    on_step: OnStep | None = None,
    on_epoch: OnEpoch | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 60.0,
) -> nn.Module:
    """Train `model` in place, and give it back.

    on_step     told after every step; it may look at the model (say, to keep a trajectory), not change it
    on_epoch    told a row of metrics after every epoch; a resumed run begins by telling again what it told before
    checkpoint  a path; a run that was killed resumes from it. It stays when the run is over
    """
    run = _Run(model.to(device), stream, recipe, seed, on_step or _ignore, on_epoch or _ignore)
    saved = Checkpoint(checkpoint, every=checkpoint_every, fingerprint=run.fingerprint())
    if (state := saved.load()) is not None:
        run.restore(state)
    while run.step < run.steps:
        run.advance()
        saved.save(run.dump, now=run.step == run.steps)
    return model


def steps(
    model: nn.Module, stream: Stream, recipe: Recipe, *, seed: int, device: str | torch.device = "cpu"
) -> Iterator[Step]:
    """The same training, step by step: its model may be looked at between them, not changed."""
    taken: list[Step] = []
    run = _Run(model.to(device), stream, recipe, seed, taken.append, _ignore)
    while run.step < run.steps:
        run.advance()
        yield taken.pop()


class _Run:
    """Where a run stands."""

    def __init__(
        self, model: nn.Module, stream: Stream, recipe: Recipe, seed: int, on_step: OnStep, on_epoch: OnEpoch
    ) -> None:
        self.model, self.stream, self.recipe, self.seed = model.train(), stream, recipe, seed
        self.on_step, self.on_epoch = on_step, on_epoch
        self.device = next(model.parameters()).device
        self.mean = recipe.mean or stream.dataset.mean
        self.std = recipe.std or stream.dataset.std
        self.optimizer = _optimizer(model, recipe)
        self.step, self.steps = 0, recipe.total_steps(len(stream))
        self.order, self.order_epoch = torch.empty(0), -1
        self.whole: tuple[Tensor, Tensor] | None = None
        self.loss_sum, self.right, self.seen, self.seconds = 0.0, 0, 0, 0.0
        self.history: list[dict[str, Any]] = []
        self.look: list[tuple[float, int]] = []  # loss and hits at the last look, if there was one
        self.mean_state: dict[str, Tensor] = {}

    def advance(self) -> None:
        """One step, and the end of the epoch where it is one."""
        started = time.monotonic()
        epoch, position = divmod(self.step, self.recipe.steps_per_epoch(len(self.stream)))
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.rate(epoch, self.step / self.steps)
        inputs, labels = self._batch(epoch, position)
        with torch.random.fork_rng():
            torch.manual_seed(derive(self.seed, "model", self.step))  # for dropout
            loss = self._update(inputs, labels)
        self.step += 1
        self._average()
        self.seconds += time.monotonic() - started
        self.on_step(Step(epoch + 1, self.step, self.steps, loss, self.model))
        if self.step % self.recipe.steps_per_epoch(len(self.stream)) == 0 or self.step == self.steps:
            self._close(epoch + 1)

    def _batch(self, epoch: int, position: int) -> tuple[Tensor, Tensor]:
        size = self.recipe.batch_size
        if size is None:
            if self.whole is None or self.recipe.augment.chance:
                self.whole = self._prepared(torch.arange(len(self.stream)))
            return self.whole
        if epoch != self.order_epoch:
            self.order = torch.randperm(len(self.stream), generator=generator(self.seed, "order", epoch))
            self.order_epoch = epoch
        return self._prepared(self.order[position * size : (position + 1) * size])

    def _prepared(self, slots: Tensor) -> tuple[Tensor, Tensor]:
        inputs, labels = self.stream.batch(slots)
        chance = generator(self.seed, "augmentation", self.step)
        inputs = self.recipe.augment.training(inputs.to(self.device), chance, self.mean, self.std)
        return inputs, labels.to(self.device)

    def _update(self, inputs: Tensor, labels: Tensor) -> float:
        looks: list[tuple[float, int]] = []

        def closure() -> float:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.autocast):
                scores = self.model(inputs)
                loss = cross_entropy(scores, labels) + penalty(self.model, self.recipe.l2)
            looks.append((loss.item(), int((scores.argmax(1) == labels).sum())))
            loss.backward()
            return loss.item()

        loss = float(self.optimizer.step(closure))  # where the step began; L-BFGS may have looked there a step ago
        self._check(loss)
        looks = [*self.look, *looks]
        self.look = looks[-1:]
        self.loss_sum += loss * len(labels)
        self.right += next(right for found, right in looks[::-1] if found == loss)
        self.seen += len(labels)
        return loss

    @torch.no_grad()
    def _average(self) -> None:
        """Collect the mean of the last weights (and statistics), and end with it."""
        first = self.steps - round(self.recipe.average * self.steps)
        if self.step <= first:
            return
        own = {name: value for name, value in self.model.state_dict().items() if value.is_floating_point()}
        if not self.mean_state:
            self.mean_state = {name: value.clone() for name, value in own.items()}
        for name, value in own.items():
            self.mean_state[name] += (value - self.mean_state[name]) / (self.step - first)
            if self.step == self.steps:
                value.copy_(self.mean_state[name])

    def _check(self, loss: float) -> None:
        if not math.isfinite(loss):
            raise DataError(
                f"the loss is {loss} at step {self.step + 1} of {self.steps} (seed {self.seed}). Lower the learning "
                f"rate ({self.recipe.rate(0):g}), or look for broken samples."
            )

    def _close(self, epoch: int) -> None:
        """The epoch's metrics; training loss and accuracy are those of its batches, as they were when they were used."""
        if not all(bool(parameter.isfinite().all()) for parameter in self.model.parameters()):
            self._check(math.nan)  # the last step can break a model without another loss to show it
        test, limit = self.stream.dataset, self.recipe.test_samples
        started = time.monotonic()
        inputs, labels = test.test_inputs[:limit], test.test_labels[:limit]
        found = accuracy(self.model, inputs, labels, mean=self.mean, std=self.std, augment=self.recipe.augment)
        row = {
            "epoch": epoch,
            "step": self.step,
            "learning_rate": self.recipe.rate(epoch - 1, (self.step - 1) / self.steps),
            "loss": self.loss_sum / self.seen,
            "train_accuracy": self.right / self.seen,
            "test_accuracy": found,
            "test_samples": len(labels),
            "train_seconds": round(self.seconds, 3),
            "test_seconds": round(time.monotonic() - started, 3),
        }
        self.loss_sum, self.right, self.seen, self.seconds = 0.0, 0, 0, 0.0
        self.history.append(row)
        self.on_epoch(row)

    def fingerprint(self) -> str:
        """What makes this run this run: another of any of them cannot resume it."""
        about = {
            "recipe": self.recipe.describe(),
            "stream": self.stream.sha256,
            "seed": self.seed,
            "model": weights.digest(self.model.state_dict()),
            "torch": torch.__version__,
        }
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    def dump(self) -> dict[str, Any]:
        """For the checkpoint."""
        counters = {name: getattr(self, name) for name in _COUNTERS}
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), **counters}

    def restore(self, state: dict[str, Any]) -> None:
        """As `dump` gave it. Rows that were told are told again."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        for name in _COUNTERS:
            setattr(self, name, state[name])
        for row in self.history:
            self.on_epoch(row)


_COUNTERS = ("step", "loss_sum", "right", "seen", "seconds", "history", "look", "mean_state")


def _optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not parameters:
        raise ConfigError("the model has no trainable parameter. Unfreeze some.")
    if recipe.optimizer == "sgd":
        settings = {"lr": recipe.lr, "momentum": recipe.momentum, "weight_decay": recipe.weight_decay}
        dense = not any(getattr(module, "sparse", False) for module in model.modules())  # embeddings may be
        return optimizers.sgd(parameters, dense=dense, **settings)
    if recipe.optimizer == "adamw":
        return optimizers.adamw(parameters, lr=recipe.lr, weight_decay=recipe.weight_decay)
    if recipe.optimizer == "lbfgs":
        return Lbfgs(parameters, recipe.lr)
    raise ConfigError(f"optimizer must be sgd, adamw or lbfgs; got {recipe.optimizer!r}.")


def _ignore(_: Any) -> None:
    pass
