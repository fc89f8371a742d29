"""Ways in which state that no noise reached could be released under a valid certificate. Each is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from paperwork import certified, network, plan, values
from torch import nn

from expunge import FineTune, Permutation, Proximity


class Remembers(nn.Module):
    """A linear layer and something that it keeps, where no parameter or buffer shows it."""

    def __init__(self, kept, read):
        super().__init__()
        self.layer, self.kept, self.read = nn.Linear(4, 3), kept, read

    def forward(self, x):
        return self.layer(x) + x @ torch.as_tensor(self.read(self.kept)).T


MEMORY = torch.full((3, 4), 9.0)
HIDDEN = {
    "a tensor": (MEMORY, lambda kept: kept),
    "a list": ([MEMORY], lambda kept: kept[0]),
    "lists in a list": ([[MEMORY]], lambda kept: kept[0][0]),
    "a dict in a dict": ({"class": {"prototype": MEMORY}}, lambda kept: kept["class"]["prototype"]),
    "a list in a dict": ({"class": [MEMORY]}, lambda kept: kept["class"][0]),
    "an object": (SimpleNamespace(bank=MEMORY), lambda kept: kept.bank),
    "an array": (MEMORY.numpy(), lambda kept: kept),
    "arrays in a dict": ({"class": MEMORY.numpy()}, lambda kept: kept["class"]),
}


@pytest.mark.parametrize("hidden", HIDDEN)
def test_tensors_outside_parameters_and_buffers_are_refused(hidden):
    assert not certified(Remembers(*HIDDEN[hidden]), fine_tune=FineTune(2))


class Caches(nn.Module):
    """Keeps its first weights, under a name that appears in the first forward pass."""

    def __init__(self, keep):
        super().__init__()
        self.layer, self.keep = nn.Linear(4, 3), keep

    def forward(self, x):
        if not hasattr(self, "first"):
            self.keep(self, self.layer.weight.detach().clone())
        return self.layer(x)


@pytest.mark.parametrize("kind", ["buffer", "attribute", "parameter"])
def test_state_that_appears_during_the_run_is_refused(kind):
    keep = {
        "buffer": lambda module, value: module.register_buffer("first", value),
        "attribute": lambda module, value: setattr(module, "first", value),
        "parameter": lambda module, value: module.register_parameter("first", nn.Parameter(value)),
    }[kind]
    assert not certified(Caches(keep), fine_tune=FineTune(2))


def test_public_state_outside_parameters_and_buffers_must_not_change_either():
    model = Remembers(torch.zeros(3, 4), lambda kept: kept)

    def remember(module, _):
        module.kept.copy_(module.layer.weight.detach())

    model.register_forward_pre_hook(remember)
    assert not certified(model, public=["kept", "read"])


def test_a_state_dict_that_gives_other_tensors_is_refused():
    class Average(nn.Linear):
        def state_dict(self, *arguments, **keywords):
            kept = super().state_dict(*arguments, **keywords)
            return {name: torch.ones_like(tensor) for name, tensor in kept.items()}

    assert not certified(Average(4, 3))


@pytest.mark.parametrize("kind", ["numpy", "two types"])
def test_parameters_that_share_memory_are_refused(kind):
    model = nn.Module()
    if kind == "numpy":
        memory = np.zeros(20, dtype=np.float32)
        first, second = torch.from_numpy(memory[:12]), torch.from_numpy(memory[8:])
    else:
        memory = torch.zeros(16)
        first, second = memory[8:12], memory.view(torch.float64)[4:6]
    model.first, model.second = nn.Parameter(first), nn.Parameter(second)
    assert not certified(model, loss=lambda model, _: model.first.sum() + model.second.sum())


def test_a_loss_with_trained_parameters_of_its_own_is_refused():
    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.classes = nn.Parameter(torch.eye(3))

        def forward(self, model, batch):
            return nn.functional.cross_entropy(model(batch[0]) @ self.classes, batch[1])

    assert not certified(network(), loss=Head())


def test_frozen_and_toggled_parameters_do_not_escape():
    model = network()
    model[0].weight.requires_grad_(False)
    assert not certified(model)
    model = network()
    before = values(model)

    def freezes(model, batch):
        model[2].weight.requires_grad_(False)
        return nn.functional.cross_entropy(model(batch[0]), batch[1])

    made = plan(model, Permutation(2), proximity=Proximity(1.0, 0.05, "pairs"))
    assert not certified(model, made, loss=freezes) or not torch.isclose(before["2.weight"], model[2].weight).any()
