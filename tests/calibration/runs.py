"""Small trainings for the tests of calibration, at the top level of a module, so that other processes find them."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from expunge.errors import DataError

SIZE = 40


class Points:
    """Forty points in three dimensions with noisy labels; ten people's records."""

    def __init__(self):
        chance = torch.Generator().manual_seed(3)
        self.inputs = torch.randn(SIZE, 3, generator=chance)
        self.labels = (self.inputs[:, 0] + torch.randn(SIZE, generator=chance) > 0).long()
        self.groups = torch.arange(SIZE) % 10

    def __len__(self):
        return SIZE

    def __getitem__(self, index):
        return self.inputs[index], self.labels[index]


def points():
    return Points()


def steps(stream, seed, count=30):
    """SGD on batches of eight, coupled by the seed alone; each model on the way."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for step in range(1, count + 1):
        batch = torch.randint(len(stream), (8,))
        optimizer.zero_grad()
        loss(model, [torch.stack(part) for part in zip(*(stream[int(i)] for i in batch), strict=True)]).backward()
        optimizer.step()
        yield step, model


def loss(model, batch):
    return nn.functional.cross_entropy(model(batch[0]), torch.as_tensor(batch[1]))


def loader(stream, seed=0):
    return [tuple(torch.stack(part) for part in zip(*(stream[i] for i in range(len(stream))), strict=True))]


def train(stream, seed):
    for _, model in steps(stream, seed):
        last = model
    return last


def watched(stream, seed):
    for step, model in steps(stream, seed):
        if step % 10 == 0:
            yield step, model, {"test_accuracy": 0.5 + step / 100}


def deaf(stream, seed):
    """Never looks at its stream."""
    return train(Points(), seed)


def mistaken(stream, seed):
    """As users' code is, sometimes."""
    return stream.no_such_thing


def frozen(stream, seed):
    """Trained everywhere, and then frozen in part."""
    model = train(stream, seed)
    model[0].requires_grad_(False)
    return model


def last_tenth(dataset, seed):
    """A user's own deletion."""
    return torch.arange(SIZE - 4, SIZE) - seed % 10


def short_train(stream, seed):
    return train(stream, seed).state_dict()


@dataclass(frozen=True)
class Diary:
    """Writes down every run: which samples it saw, and with which seed."""

    file: Path

    def __call__(self, stream, seed):
        with self.file.open("a") as lines:
            print(seed, *stream.index_map.tolist(), file=lines)
        return train(stream, seed)

    def runs(self):
        return [[int(word) for word in line.split()] for line in self.file.read_text().splitlines()]

    def describe(self):
        return {"function": "diary"}


@dataclass(frozen=True)
class Diverging:
    """Fails as a diverging run does, where `when` of its seed and the samples it sees says so."""

    how: str
    seeds: tuple[int, ...] = ()
    missing: int | None = None  # a sample without which it diverges

    def __call__(self, stream, seed):
        model = train(stream, seed)
        if seed in self.seeds or (self.missing is not None and self.missing not in stream.index_map):
            if self.how == "raise":
                raise DataError("the loss is nan at step 3.")
            if self.how == "metric":
                return [(1, model, {"loss": float("nan")})]
            with torch.no_grad():
                model[0].weight[0, 0] = float("nan")
        return [(1, model, {"loss": 0.5})]

    def describe(self):
        return {"function": "diverging", "how": self.how}


@dataclass(frozen=True)
class Deadly:
    """Kills its own process, once or always, when sample `missing` is not in the stream."""

    folder: Path
    missing: int
    always: bool = False

    def __call__(self, stream, seed):
        if self.missing not in stream.index_map:
            mark = self.folder / "killed"
            if self.always or not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return train(stream, seed)

    def describe(self):
        return {"function": "deadly"}


@dataclass(frozen=True)
class Fixed:
    """One list for each pair, in the order in which pairs ask; the last list for all further ones."""

    lists: tuple[tuple[int, ...], ...]

    def forget(self, dataset, seed):
        from expunge.calibration.coupling import chance

        asked = {chance(base, pair, "deletion"): pair for base in range(12) for pair in range(12)}[seed]
        return torch.tensor(self.lists[min(asked, len(self.lists) - 1)])

    def describe(self):
        return {"kind": "fixed lists"}
