"""Model, data, training and loss of a project, whether they are a workload of ours or the user's own functions."""

from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.data import DataLoader, Subset

from .. import weights, workloads
from ..errors import ConfigError
from . import functions
from .settings import Project

Train = Callable[[Any, int], nn.Module]
Prepare = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Materials:
    """What the stages share.

    dataset, test   training and test samples by index     fresh      makes the public initialisation
    train           train(stream, seed) → model            loss       loss(model, batch) → scalar
    prepare         for training and for evaluation: from the samples of a batch to what the model takes; none: torch's own
    """

    project: Project
    dataset: Any
    test: Any
    fresh: Callable[[], nn.Module]
    train: Train | None
    loss: Callable[[nn.Module, Any], Tensor]
    prepare: tuple[Prepare | None, Prepare | None] = (None, None)
    workload: workloads.Workload | None = None

    @cached_property
    def deletion(self) -> workloads.Deletion:
        """The kind of request."""
        asked = self.project.deletion
        if asked.random is not None:
            return workloads.RandomDeletion(asked.random)
        if asked.class_ is not None:
            return workloads.ClassDeletion(asked.class_)
        return workloads.IndexDeletion.from_file(self.project.beside(str(asked.file)))

    @cached_property
    def split(self) -> workloads.Split:
        """What goes and what stays."""
        return workloads.split(self.dataset, self.deletion, self.project.deletion.seed)

    def check(self) -> None:
        """Raise now what would otherwise be raised after the training: no model, nothing to forget."""
        self.fresh()
        _ = self.split

    def trained(self, stream: Any, seed: int) -> nn.Module:
        """The model of one training run."""
        if self.train is None:
            raise ConfigError("nothing says how to train. Name [model] train, a function train(stream, seed) → model.")
        made = self.train(stream, seed)
        if not isinstance(made, nn.Module):
            raise ConfigError(f"[model] train must return a torch.nn.Module; got {type(made).__name__}.")
        return made

    def model(self, file: Any) -> nn.Module:
        """The model with the weights of a file, on the project's device."""
        return weights.put(weights.load(file), self.fresh(), f"{file} does not fit the project's model")

    def retained(self) -> DataLoader[Any]:
        """Batches of retained data to train on."""
        return self.batches(self.split.retain.tolist())

    def forgotten(self) -> DataLoader[Any]:
        """Batches of the data that goes."""
        return self.batches(self.split.forget.tolist())

    def batches(self, indices: list[int]) -> DataLoader[Any]:
        """Batches of these training samples, shuffled and prepared as for training."""
        return self._loader(self.dataset, indices, shuffle=True, prepare=self.prepare[0])

    def parts(self) -> dict[str, DataLoader[Any]]:
        """Batches to look at, always in the same order: "forget", "retain" and "test"."""
        chosen = {"forget": self.split.forget, "retain": self.split.retain}
        found = {name: self._to_look_at(self.dataset, indices.tolist()) for name, indices in chosen.items()}
        return {**found, "test": self.tests()}

    def tests(self) -> DataLoader[Any]:
        """Batches of test samples."""
        return self._to_look_at(self.test, list(range(len(self.test))))

    def accuracy(self, model: nn.Module) -> float | None:
        """On the test samples; none where batches are no pairs of inputs and labels."""
        return accuracy(model, self.tests())

    def judged(self, model: nn.Module, indices: list[int]) -> float:
        """Accuracy on these training samples, looked at as test samples are."""
        found = accuracy(model, self._to_look_at(self.dataset, indices))
        if found is None:
            raise ConfigError("models are judged by accuracy, and these batches are no pairs of inputs and labels.")
        return found

    def counted(self, stream: Any, seed: int) -> tuple[nn.Module, int]:
        """The model of one training run, and how many steps its optimisers took."""
        steps = [0]

        def count(*_: object) -> None:
            steps[0] += 1

        hook = register_optimizer_step_post_hook(count)
        try:
            return self.trained(stream, seed), steps[0]
        finally:
            hook.remove()

    def _to_look_at(self, samples: Any, indices: list[int]) -> DataLoader[Any]:
        return self._loader(samples, indices, shuffle=False, prepare=self.prepare[1], least=500)

    def _loader(
        self, samples: Any, indices: list[int], *, shuffle: bool, prepare: Prepare | None, least: int = 1
    ) -> DataLoader[Any]:
        size = max(least, self.project.data.batch_size)
        return DataLoader(Subset(samples, indices), size, shuffle=shuffle, collate_fn=prepare)


def gather(project: Project) -> Materials:
    """The project's materials; user's functions are called here."""
    functions.device(project.project.device)
    found = _own(project) if project.project.workload is None else _workload(project, project.project.workload)
    for name, samples in (("dataset", found.dataset), ("test", found.test)):
        if not isinstance(samples, Sized) or len(samples) == 0 or not hasattr(samples, "__getitem__"):
            raise ConfigError(
                f"[data] {name} must return samples by index, with a length of one or more; got {type(samples).__name__}."
            )
    return found


def _own(project: Project) -> Materials:
    factory, place = project.function("model", "factory"), project.project.device
    train = None if project.model.train is None else project.function("model", "train")

    def fresh() -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(project.project.seed)
            made = factory()
        if not isinstance(made, nn.Module):
            raise ConfigError(f"[model] factory must return a torch.nn.Module; got {type(made).__name__}.")
        return made.to(place)

    loss = _cross_entropy if project.model.loss is None else project.function("model", "loss")
    dataset, test = (project.function("data", name)() for name in ("dataset", "test"))
    return Materials(project, dataset, test, fresh, train, loss)


def _workload(project: Project, name: str) -> Materials:
    folder = None if project.data.folder is None else project.beside(project.data.folder)
    public = None if project.data.public_weights is None else project.beside(project.data.public_weights)
    opened = workloads.open_workload(
        name, scale=project.project.scale, data_dir=folder, weights=public, device=project.project.device
    )
    recipe, data = opened.recipe, opened.dataset
    mean, std = recipe.mean or data.mean, recipe.std or data.std

    def to_train_on(batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        chance = torch.Generator().manual_seed(int(torch.randint(2**62, ()).item()))
        return recipe.augment.training(batch[0], chance, mean, std), batch[1]

    def to_look_at(batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return recipe.augment.evaluation(batch[0], mean, std), batch[1]

    return Materials(
        project,
        _Samples(data.inputs, data.labels, data.sha256),
        _Samples(data.test_inputs, data.test_labels, data.sha256),
        lambda: opened.model(project.project.seed).to(project.project.device),
        lambda stream, seed: opened.train(opened.stream(stream.index_map), seed),
        opened.loss,
        (to_train_on, to_look_at),
        opened,
    )


class _Samples:
    """A part of a workload's data set, given out a whole batch at a time."""

    def __init__(self, inputs: Tensor, labels: Tensor, sha256: str) -> None:
        self.inputs, self.labels, self.sha256 = inputs, labels, sha256

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.inputs[index], self.labels[index]

    def __getitems__(self, indices: list[int]) -> tuple[Tensor, Tensor]:
        return self.inputs[indices], self.labels[indices]


def accuracy(model: nn.Module, batches: Iterable[Any]) -> float | None:
    """The share of samples whose label the model ranks first; none where that makes no sense for these batches."""
    right, seen, mode = 0, 0, model.training
    place = next(model.parameters()).device
    model.eval()
    with torch.inference_mode():
        for batch in batches:
            if isinstance(batch, Mapping) or len(batch) != 2 or not all(isinstance(part, Tensor) for part in batch):
                model.train(mode)
                return None
            right += int((model(batch[0].to(place)).argmax(-1) == batch[1].to(place)).sum())
            seen += len(batch[1])
    model.train(mode)
    return right / seen


def _cross_entropy(model: nn.Module, batch: Any) -> Tensor:
    if not isinstance(batch, (list, tuple)) or len(batch) != 2:
        raise ConfigError(
            f"without a [model] loss a batch must be (inputs, labels); got {type(batch).__name__}. Name one."
        )
    return cross_entropy(model(batch[0]), batch[1])
