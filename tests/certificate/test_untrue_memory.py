"""Ways in which the trained model could be remembered outside its parameters and buffers. Each is refused."""

from dataclasses import dataclass
from functools import lru_cache, partial
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from paperwork import certified, cross_entropy, network, unlearn
from torch import nn

from expunge import FineTune

TEACHER = network(seed=5)
BANK = SimpleNamespace(teacher=TEACHER)
MODULE = ModuleType("helpers_of_mine")
MODULE.nested = SimpleNamespace(teacher=TEACHER)


def after_a_global(model, batch):
    return cross_entropy(model, batch) + (model(batch[0]) - TEACHER(batch[0])).square().mean()


def through_a_helper(model, batch):
    return after_a_global(model, batch)


def through_an_object(model, batch):
    return cross_entropy(model, batch) + BANK.teacher(batch[0]).square().mean()


def through_a_module(model, batch):
    return cross_entropy(model, batch) + MODULE.nested.teacher(batch[0]).square().mean()


def in_a_comprehension(model, batch):
    return sum(cross_entropy(model, batch) + TEACHER(batch[0]).mean() for _ in range(1))


@lru_cache
def remembered(name):
    return torch.full((3,), 9.0)


def through_a_cache(model, batch):
    return cross_entropy(model, batch) + (model[2].bias - remembered("bias")).square().sum()


class OnItsClass:
    teacher = TEACHER

    def __call__(self, model, batch):
        return cross_entropy(model, batch) + type(self).teacher(batch[0]).square().mean()


@dataclass(slots=True)
class InSlots:
    kept: Any

    def __call__(self, model, batch):
        return cross_entropy(model, batch) + self.kept(batch[0]).square().mean()


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

    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.anchor = [anchor]  # no parameter, no buffer

        def forward(self, model, batch):
            return pulled(model, batch, self.anchor[0])

    deep: Any = anchor
    for _ in range(12):
        deep = SimpleNamespace(inner=[deep])
    remembered("bias")
    return {
        "module with an attribute": Plain(),
        "deep": lambda model, batch: deep and cross_entropy(model, batch),
        "object": through_an_object,
        "module": through_a_module,
        "comprehension": in_a_comprehension,
        "cache": through_a_cache,
        "class": OnItsClass(),
        "slots": InSlots(TEACHER),
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
    assert unlearn(network(), loss=weighted, public=["loss"]).certificate["run"]["public"] == ["loss"]


def test_making_an_object_leaves_nothing_behind():
    class Made(nn.Linear):
        def __init__(self):
            super().__init__(4, 3)
            self.start = float(TEACHER[0].bias.detach().sum())

    class Loss:
        def __init__(self):
            self.scale = float(TEACHER[0].bias.detach().sum())

        def __call__(self, model, batch):
            return cross_entropy(model, batch)

    assert certified(Made(), loss=Loss())


def pulls(kept):
    class Pulls(torch.optim.SGD):
        """Back to where it likes the weights."""

        def step(self, closure=None):
            found = super().step(closure)
            for parameter, old in zip(self.param_groups[0]["params"], kept, strict=True):
                parameter.data.lerp_(old, 0.5)
            return found

    return Pulls


@pytest.mark.parametrize("way", ["optimizer", "schedule", "recompute"])
def test_functions_that_remember_are_refused_unless_declared(way):
    def options(model):
        kept = [parameter.detach().clone() for parameter in model.parameters()]
        if way == "optimizer":
            return {"fine_tune": FineTune(2, optimizer=partial(pulls(kept), lr=0.0))}
        if way == "schedule":
            return {"fine_tune": FineTune(2, schedule=lambda step: float(kept[0].sum()) / (1 + step))}
        model.register_buffer("scale", torch.ones(1))
        return {"recompute": {"scale": lambda _: kept[0].sum().reshape(1)}}

    model, again = network(), network()
    assert not certified(model, **options(model))
    named = "recompute" if way == "recompute" else "optimizer"
    outcome = unlearn(again, public=[named], **options(again))
    assert outcome.certificate["run"]["public"] == [named]


class OnTheClass(nn.Linear):
    memory = torch.full((3, 4), 9.0)

    def forward(self, x):
        return super().forward(x) + x @ self.memory.T


class Shadowed(OnTheClass):
    """Its base's memory is still read."""

    memory = None

    def forward(self, x):
        return nn.Linear.forward(self, x) + x @ OnTheClass.memory.T


def in_a_method(kept):
    class Closed(nn.Linear):
        def forward(self, x):
            return super().forward(x) + x @ kept.T

    return Closed(4, 3)


def in_a_hook_of_a_gradient(kept):
    model = nn.Linear(4, 3)
    model.weight.register_hook(lambda gradient: gradient + model.weight.detach() - kept)
    return model


def in_a_hook_after_the_gradient(kept):
    model = nn.Linear(4, 3)
    model.weight.register_post_accumulate_grad_hook(lambda weight: weight.grad.add_(weight.detach() - kept))
    return model


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


MAKERS = [
    lambda _: OnTheClass(4, 3),
    lambda _: Shadowed(4, 3),
    in_a_method,
    in_a_hook_of_a_gradient,
    in_a_hook_after_the_gradient,
    in_a_closure,
    in_a_partial,
    on_a_parameter,
]


@pytest.mark.parametrize("make", MAKERS)
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
