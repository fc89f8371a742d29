"""Ways in which a run could do something else than its ledger says. Each is refused.

A loss that holds tensors is refused before it runs; here it lies that they are public, so that what it does is noticed.
"""

import copy
import json
from dataclasses import replace
from functools import partial

import pytest
import torch
from paperwork import batches, certified, cross_entropy, network, plan, values
from torch import nn

from expunge import FineTune, LayerCycle, Proximity

TINY = {"clip": 1e-6, "proximity": Proximity(1e-4, 0.05, "pairs"), "epsilon": 30.0}


def test_a_loss_that_replaces_a_parameter_is_refused():
    def replaces(model, batch):
        model[0].weight = nn.Parameter(model[0].weight.detach().clone())
        return cross_entropy(model, batch)

    assert not certified(network(), loss=replaces)


def test_a_loss_that_loads_the_old_weights_is_refused():
    model = network()
    before = values(model)

    def restores(model, batch):
        loss = cross_entropy(model, batch)
        model.load_state_dict(before, assign=True)
        return loss

    assert not certified(model, loss=restores, public=["loss"])


def test_a_loss_that_replaces_a_module_is_refused():
    def replaces(model, batch):
        model[2] = nn.Linear(6, 3)
        return cross_entropy(model, batch)

    assert not certified(network(), loss=replaces)


@pytest.mark.parametrize("way", ["no_grad", "data", "optimizer in backward"])
def test_parameters_that_change_between_the_steps_are_noticed(way):
    model = network()
    before = values(model)

    def restores(model, batch):
        for name, parameter in model.named_parameters():
            if way == "no_grad":
                with torch.no_grad():
                    parameter.copy_(before[name])
            elif way == "data":
                parameter.data.copy_(before[name])
        return cross_entropy(model, batch)

    if way == "optimizer in backward":
        for parameter in model.parameters():
            optimizer = torch.optim.SGD([parameter], lr=0.1)
            parameter.register_post_accumulate_grad_hook(lambda _, optimizer=optimizer: optimizer.step())
    assert not certified(model, plan(model, steps=4), loss=restores, public=["loss"])


def test_a_block_that_was_noised_stays_so_while_others_run():
    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(2)), nn.Linear(4, 3))
    before, calls = values(model), []

    def restores(model, batch):
        calls.append(None)
        if len(calls) == 3:  # block 1 runs, block 2 is watched, block 0 gets its old weights back
            model[0].load_state_dict({name: before[f"0.{name}"] for name in ("weight", "bias")})
        return cross_entropy(model, batch)

    assert not certified(model, plan(model, LayerCycle(3)), loss=restores, public=["loss"])


@pytest.mark.parametrize("way", ["load_state_dict", "data"])
@pytest.mark.parametrize("phase", ["noise", "fine-tune"])
@pytest.mark.parametrize("last", [False, True])
def test_a_meter_that_restores_the_best_weights_so_far_is_noticed(way, phase, last):
    model = network()
    best = values(model)

    def meter(progress):
        if progress.phase == phase and last == (progress.step == progress.steps):
            if way == "load_state_dict":
                model.load_state_dict(best)
            for name, parameter in model.named_parameters():
                parameter.data.copy_(best[name])

    assert not certified(model, fine_tune=FineTune(2), progress=meter)
    assert certified(network(), fine_tune=FineTune(2))


@pytest.mark.parametrize("call", [6, -1])
def test_a_loss_that_restores_weights_after_the_noise_is_noticed(call):
    """In fine-tuning, and while the statistics of BatchNorm are estimated at the very end."""
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3))
    before, calls = values(model), []

    def counts(model, batch):
        calls.append(None)
        return cross_entropy(model, batch)

    assert certified(
        nn.Sequential(*map(copy.deepcopy, model)), loss=counts, fine_tune=FineTune(3), statistics_batches=3
    )
    chosen = call % len(calls)
    calls.clear()

    def restores(model, batch):
        if len(calls) == chosen:
            model.load_state_dict(before)
        return counts(model, batch)

    assert not certified(model, loss=restores, fine_tune=FineTune(3), statistics_batches=3, public=["loss"])


def test_a_function_that_computes_a_buffer_and_moves_weights_is_noticed():
    model = network()
    model.register_buffer("scale", torch.ones(1))

    def scale(model):
        with torch.no_grad():
            model[0].weight.mul_(0.0)
        return model.scale

    assert not certified(model, recompute={"scale": scale})


def test_an_embedding_that_shortens_its_rows_is_refused():
    model = nn.Sequential(nn.Embedding(10, 4, max_norm=0.1), nn.Flatten(), nn.Linear(8, 3))
    loader = [(torch.randint(0, 10, (8, 2)), torch.randint(0, 3, (8,)))]
    assert not certified(model, plan(model, **TINY), loader=loader)


def test_an_optimiser_that_remembers_the_training_is_refused():
    model = network()
    old = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    cross_entropy(model, batches()[0]).backward()
    old.step()
    assert not certified(model, fine_tune=FineTune(1, optimizer=lambda _: old))
    assert not certified(network(), fine_tune=FineTune(1, optimizer=lambda _: old))


def test_no_gradient_of_before_the_last_noise_is_left_for_fine_tuning():
    class Impatient(torch.optim.SGD):
        def step(self, closure=None):
            return super().step()

    model = network()
    made = plan(model, steps=1, **TINY)
    before = values(model)
    tune = FineTune(1, optimizer=lambda parameters: Impatient(parameters, lr=1.0))
    if certified(model, made, loss=lambda *given: 1e3 * cross_entropy(*given), fine_tune=tune):
        assert all((tensor - before[name]).abs().max() < 0.1 for name, tensor in values(model).items())


@pytest.mark.parametrize("make", [partial, lambda kind, lr: lambda parameters: kind(parameters, lr=lr)])
def test_a_clean_phase_with_another_optimiser_is_not_the_calibrated_one(make):
    calibrated, other = (FineTune(3, optimizer=make(torch.optim.SGD, lr=lr)) for lr in (0.1, 10.0))
    entry = json.dumps(calibrated.describe(), sort_keys=True)
    model = network()
    assert not certified(model, plan(model, proximity=Proximity(0.1, 0.05, "pairs", entry=entry)), clean=other)


def test_a_clean_phase_that_was_not_calibrated_is_refused():
    assert not certified(network(), clean=FineTune(3))
    assert not certified(network(), plan(network(), proximity=Proximity(0.1, 0.0, "pairs", entry="{}")))


def test_a_clipped_model_does_not_move_before_the_noise():
    model, clean = network(), FineTune(20, lr=1.0)
    made = plan(model, proximity=None, model_clip=0.1)
    entry = json.dumps(clean.describe(), sort_keys=True)
    assert not certified(model, replace(made, proximity=replace(made.proximity, entry=entry)), clean=clean)
