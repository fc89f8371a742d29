"""Batches of any form, accumulation, autocast."""

from collections import OrderedDict, namedtuple

import pytest
import rig
import torch

from expunge import ConfigError, FastRotation, RandomRotation

Batch = namedtuple("Batch", "x y")
LARGE = {"clip": 1e4, "weight_decay": 0.0, "epsilon": 1e5}


def final(model=None, *, seed=3, **keywords):
    model = model if model is not None else rig.mlp()
    outcome = rig.unlearn(model, simulate=seed, **keywords)
    return rig.copies(model), outcome


def by_key(model, batch):
    return rig.cross_entropy(model, (batch["x"], batch["y"]))


@pytest.mark.parametrize(
    ("pack", "loss"),
    [
        (lambda x, y: {"x": x, "y": y}, by_key),
        (lambda x, y: OrderedDict(x=x, y=y, note="kept"), by_key),
        (lambda x, y: [x, y], rig.cross_entropy),
        (lambda x, y: Batch(x, y), lambda model, b: rig.cross_entropy(model, (b.x, b.y))),
        (
            lambda x, y: {"in": {"x": x}, "out": (y, None)},
            lambda m, b: rig.cross_entropy(m, (b["in"]["x"], b["out"][0])),
        ),
    ],
    ids=["dict", "OrderedDict", "list", "namedtuple", "nested"],
)
def test_batches_of_any_form(pack, loss):
    expected, _ = final()
    found, _ = final(loader=[pack(x, y) for x, y in rig.batches()], loss=loss)
    assert rig.equal(expected, found)


@pytest.mark.parametrize("settings", [LARGE, {"clip": 0.01, "weight_decay": 1.0}], ids=["not clipped", "clipped"])
def test_accumulated_gradients_are_averaged_and_clipped_once(settings):
    """Three batches of 4 are one of 12."""
    model = rig.mlp()
    made = rig.plan(model, RandomRotation(2), **settings)
    whole, _ = final(loader=rig.batches(12), made=made)
    parts, outcome = final(loader=rig.batches(4), made=made, accumulate=3)
    for name, value in whole.items():
        assert torch.allclose(parts[name], value, rtol=1e-4, atol=1e-5)
    assert outcome.record.batches == 3 * 2 * 2


@pytest.mark.parametrize("wrong", [0, -1])
def test_accumulation_that_makes_no_sense(wrong):
    for name in ("accumulate", "statistics_batches"):
        with pytest.raises(ConfigError, match=name):
            rig.unlearn(rig.mlp(), **{name: wrong})


def test_autocast_is_for_the_forward_pass_alone():
    seen = set()

    def loss(model, batch):
        hidden = model(batch[0])
        seen.add(hidden.dtype)
        return torch.nn.functional.cross_entropy(hidden.float(), batch[1])

    made = rig.plan(rig.mlp(), FastRotation(2))
    plain, _ = final(made=made)
    cast, outcome = final(made=made, loss=loss, autocast=torch.bfloat16, fine_tune=None)
    assert seen == {torch.bfloat16}
    assert all(value.dtype == torch.float32 for value in cast.values())
    for name, value in plain.items():
        assert torch.allclose(value, cast[name], atol=0.01)
    assert not rig.equal(plain, cast)
    assert outcome.record.epsilon_machine == 2.0**-23


@pytest.mark.parametrize("loss", [lambda m, b: None, lambda m, b: 1.0, lambda m, b: m(b[0])])
def test_a_loss_must_be_a_scalar_tensor(loss):
    with pytest.raises(ConfigError, match="scalar tensor"):
        rig.unlearn(rig.mlp(), loss=loss)


def test_a_parameter_without_gradient_is_noised_all_the_same():
    model = torch.nn.ModuleDict({"used": torch.nn.Linear(4, 3), "unused": torch.nn.Linear(4, 3)})
    before = rig.copies(model)
    rig.unlearn(model, loss=lambda m, batch: rig.cross_entropy(m["used"], batch))
    assert all((value != before[name]).all() for name, value in rig.copies(model).items())
