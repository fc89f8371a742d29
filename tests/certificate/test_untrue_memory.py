"""Ways in which the trained model could be remembered outside its parameters and buffers. Each is refused."""

from functools import partial

import pytest
import torch
from paperwork import certified, cross_entropy, network, unlearn
from torch import nn

from expunge import FineTune

TEACHER = network(seed=5)


def after_a_global(model, batch):
    return cross_entropy(model, batch) + (model(batch[0]) - TEACHER(batch[0])).square().mean()


def through_a_helper(model, batch):
    return after_a_global(model, batch)


def losses(model):
    """Losses that pull the model back to what it was (or to a teacher that saw the data)."""
    anchor = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}

    def pulled(model, batch, kept):
        distance = sum((p - kept[name]).square().sum() for name, p in model.named_parameters())
        return cross_entropy(model, batch) + 100.0 * distance

    class Trainer:
        def __init__(self):
            self.state = {"anchor": anchor}

        def loss(self, model, batch):
            return pulled(model, batch, self.state["anchor"])

    class Weighted(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("anchor", anchor["0.bias"])

        def forward(self, model, batch):
            return cross_entropy(model, batch) + (model[0].bias - self.anchor).square().sum()

    return {
        "closure": lambda model, batch: pulled(model, batch, anchor),
        "default": lambda model, batch, kept=anchor: pulled(model, batch, kept),
        "partial": partial(pulled, kept=anchor),
        "bound method": Trainer().loss,
        "module with a buffer": Weighted(),
        "global": after_a_global,
        "helper": through_a_helper,
    }


@pytest.mark.parametrize("way", losses(network()))
def test_a_loss_that_remembers_is_refused(way):
    model = network()
    assert not certified(model, loss=losses(model)[way], fine_tune=FineTune(2))


def test_a_loss_may_name_the_model_itself_and_what_is_declared():
    model = network()
    assert certified(model, loss=lambda _, batch: cross_entropy(model, batch))
    weights = torch.ones(3)
    weighted = lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1], weight=weights)  # noqa: E731
    assert not certified(network(), loss=weighted)
    assert certified(network(), loss=weighted, public=["loss"])


class OnTheClass(nn.Linear):
    memory = torch.full((3, 4), 9.0)

    def forward(self, x):
        return super().forward(x) + x @ self.memory.T


def in_a_closure(kept):
    model = nn.Linear(4, 3)
    forward = model.forward
    model.forward = lambda x: forward(x) + x @ kept.T
    return model


def in_a_partial(kept):
    model = nn.Linear(4, 3)
    model.register_forward_hook(partial(lambda kept, _module, given, out: out + given[0] @ kept.T, kept))
    return model


def on_a_parameter(kept):
    model = nn.Linear(4, 3)
    model.weight.initial = kept
    return model


@pytest.mark.parametrize("make", [lambda _: OnTheClass(4, 3), in_a_closure, in_a_partial, on_a_parameter])
def test_memory_in_classes_functions_and_parameters_is_refused(make):
    assert not certified(make(torch.full((3, 4), 9.0)))


def test_what_is_declared_public_stands_in_the_certificate_by_name():
    model = OnTheClass(4, 3)
    model.register_buffer("mask", torch.ones(3))
    certificate = unlearn(model, public=["memory", "mask"]).certificate
    assert certificate["run"]["public"] == ["mask", "memory (0)"]


def test_parameters_made_in_inference_mode_are_refused():
    with torch.inference_mode():
        model = nn.Linear(4, 3)
    assert not certified(model)
