"""The clean phase before the noise, fine-tuning after it."""

import functools
import json
import math

import pytest
import rig
import torch

import expunge
from expunge import ConfigError, FineTune, Permutation, Proximity, ProximityError

LBFGS = functools.partial(torch.optim.LBFGS, lr=0.5, max_iter=5)
RECIPES = {
    "sgd": FineTune(steps=3, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": FineTune(steps=3, optimizer="adam", lr=0.02),
    "adamw": FineTune(steps=3, optimizer="adamw", lr=0.02, weight_decay=0.1),
    "cosine": FineTune(steps=3, lr=0.1, schedule="cosine"),
    "a function of the step": FineTune(steps=3, lr=0.1, schedule=lambda step: 1.0 / (1 + step)),
    "an optimiser of one's own": FineTune(steps=3, optimizer=lambda p: torch.optim.RMSprop(p, lr=0.01)),
}
RATES = {"cosine": [1.0, 0.75, 0.25], "a function of the step": [1.0, 0.5, 1 / 3]}


def entry(recipe):
    return Proximity(0.05, 0.0, "given", entry=json.dumps(recipe.describe(), sort_keys=True))


def by_hand(model, recipe, loader, rates):
    optimizer = {
        "sgd": lambda p: torch.optim.SGD(p, recipe.lr, momentum=recipe.momentum, weight_decay=recipe.weight_decay),
        "adam": lambda p: torch.optim.Adam(p, recipe.lr, weight_decay=recipe.weight_decay),
        "adamw": lambda p: torch.optim.AdamW(p, recipe.lr, weight_decay=recipe.weight_decay),
    }.get(recipe.optimizer, recipe.optimizer)(model.parameters())
    for group in optimizer.param_groups:
        group["first"] = group["lr"]
    for step, rate in enumerate(rates):
        for group in optimizer.param_groups:
            group["lr"] = group["first"] * rate
        optimizer.zero_grad()
        rig.cross_entropy(model, loader[step % len(loader)]).backward()
        optimizer.step()


@pytest.mark.parametrize("name", RECIPES)
def test_fine_tuning_is_ordinary_training(name):
    model, twin, recipe = rig.mlp(), rig.mlp(), RECIPES[name]
    made = rig.plan(model, **rig.OUTPUT_PERTURBATION)
    outcome = rig.unlearn(model, made, fine_tune=recipe, simulate=1)
    rig.unlearn(twin, made, simulate=1)
    by_hand(twin, recipe, rig.batches(), RATES.get(name, [1.0] * 3))
    for found, expected in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(found, expected, atol=1e-6)
    assert outcome.certificate["run"]["fine_tune"]["steps"] == 3


def test_fine_tuning_certifies_its_own_weights():
    model = rig.mlp()
    outcome = rig.unlearn(model, fine_tune=RECIPES["adam"])
    assert expunge.verify(outcome.certificate, model)


def test_the_clean_phase_comes_before_the_noise():
    recipe, loader = RECIPES["sgd"], rig.batches()
    model, twin = rig.mlp(), rig.mlp()
    outcome = rig.unlearn(
        model, rig.plan(model, proximity=entry(recipe), **rig.OUTPUT_PERTURBATION), clean=recipe, simulate=1
    )
    by_hand(twin, recipe, loader, [1.0] * 3)
    rig.unlearn(twin, rig.plan(twin, **rig.OUTPUT_PERTURBATION), simulate=1)
    for found, expected in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(found, expected, atol=1e-6)
    assert outcome.certificate["run"]["clean"]["steps"] == 3


@pytest.mark.parametrize(
    ("calibrated", "used"), [(RECIPES["sgd"], None), (None, RECIPES["sgd"]), (RECIPES["sgd"], RECIPES["adam"])]
)
def test_a_proximity_of_another_entry_is_refused(calibrated, used):
    model = rig.mlp()
    proximity = 0.05 if calibrated is None else entry(calibrated)
    with pytest.raises(ProximityError, match="same clean phase"):
        rig.unlearn(model, rig.plan(model, proximity=proximity), clean=used)


def test_two_optimisers_that_differ_in_a_setting_are_two_entries():
    """A proximity calibrated after one L-BFGS says nothing about another."""
    slow, fast = (FineTune(steps=2, optimizer=functools.partial(torch.optim.LBFGS, lr=lr)) for lr in (0.01, 1.0))
    model = rig.mlp()
    with pytest.raises(ProximityError):
        rig.unlearn(model, rig.plan(model, proximity=entry(slow)), clean=fast)


def test_lbfgs_as_the_clean_optimiser():
    model, recipe = rig.mlp(), FineTune(steps=4, optimizer=LBFGS)
    losses = []
    whole = rig.batches(24)
    made = rig.plan(model, proximity=entry(recipe))
    before = rig.cross_entropy(model, whole[0]).item()
    outcome = rig.unlearn(
        model,
        made,
        clean=recipe,
        loader=whole,
        progress=lambda p: losses.append(p.loss) if p.phase == "clean" else None,
    )
    assert len(losses) == 4
    assert losses[-1] < 0.8 * before
    assert expunge.verify(outcome.certificate, model)


@pytest.mark.parametrize(
    "wrong",
    [{"optimizer": "sgdd"}, {"schedule": "linear"}, {"steps": -1}, {"steps": 1.5}, {"lr": -0.1}, {"momentum": 1.0}],
)
def test_a_recipe_that_makes_no_sense(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        FineTune(**({"steps": 1} | wrong))


def test_progress_tells_every_step():
    seen = []
    model, clean, fine_tune = rig.mlp(), FineTune(steps=2), FineTune(steps=3)
    made = rig.plan(model, Permutation(2), proximity=entry(clean))
    rig.unlearn(model, made, clean=clean, fine_tune=fine_tune, progress=seen.append)
    assert [(p.phase, p.step, p.steps) for p in seen] == [
        *(("clean", i, 2) for i in (1, 2)),
        *(("noise", i, 4) for i in (1, 2, 3, 4)),
        *(("fine-tune", i, 3) for i in (1, 2, 3)),
    ]
    assert [p.block for p in seen if p.phase == "noise"] == [0, 0, 1, 1]
    assert all(math.isfinite(p.loss) for p in seen)
