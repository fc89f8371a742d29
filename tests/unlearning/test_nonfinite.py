"""Losses and gradients that are no numbers: an error, or a zero that is counted; never silent."""

import math

import pytest
import rig

from expunge import ConfigError, DataError, FineTune


def final(model=None, *, seed=3, **keywords):
    model = model if model is not None else rig.mlp()
    outcome = rig.unlearn(model, simulate=seed, **keywords)
    return rig.copies(model), outcome


def at_call(number, spoiled):
    """The usual loss, spoiled at one call."""
    calls = []

    def loss(model, batch):
        calls.append(1)
        value = rig.cross_entropy(model, batch)
        return spoiled(model, value) if len(calls) == number else value

    return loss


def infinite_gradient(model, value):
    """A finite loss: √|0| has no slope."""
    return value + (model[0].weight - model[0].weight.detach()).abs().sum().sqrt()


def steep(model):
    """Value 0, slope above float32's largest."""
    weight = model[0].weight
    return ((weight - weight.detach()) * 1e30).mul(1e30).sum()


SPOILED = {
    "NaN loss": lambda _, value: value * math.nan,
    "infinite loss": lambda _, value: value * math.inf,
    "NaN gradient": infinite_gradient,
    "infinite gradient": lambda model, value: value + steep(model),
}


@pytest.mark.parametrize("what", SPOILED)
def test_what_is_not_finite_is_an_error(what):
    with pytest.raises(DataError, match=r"not finite \(block 0, step 1\).*nonfinite='zero'"):
        rig.unlearn(rig.mlp(), loss=at_call(2, SPOILED[what]))


@pytest.mark.parametrize("what", SPOILED)
def test_what_is_not_finite_counts_as_zero_where_that_is_asked(what):
    """Step 1 of 0, 1, 2 has no gradient; and the record counts it."""
    model = rig.mlp()
    made = rig.plan(model, steps=3)
    expected, _ = final(made=made, loss=at_call(2, lambda _, value: value * 0.0))
    found, outcome = final(made=made, loss=at_call(2, SPOILED[what]), nonfinite="zero")
    assert rig.equal(expected, found)
    assert [block.zeroed for block in outcome.record.blocks] == [1]
    assert outcome.certificate["run"]["measured"][0]["zeroed"] == 1


def test_a_loss_that_is_not_finite_in_fine_tuning_is_an_error_too():
    with pytest.raises(DataError, match="fine-tune, step 1"):
        rig.unlearn(rig.mlp(), loss=at_call(4, SPOILED["NaN loss"]), fine_tune=FineTune(steps=3))


def test_nonfinite_is_one_of_two_words():
    with pytest.raises(ConfigError, match="'error' or 'zero'"):
        rig.unlearn(rig.mlp(), nonfinite="ignore")
