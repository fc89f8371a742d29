"""A plan is what was promised: it comes back from its file, a damaged one never runs, and it costs what it says."""

import json
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from paperwork import network, plan, unlearn

import expunge
from expunge import FastRotation, LayerCycle, Permutation, Proximity, RandomRotation, Whole
from expunge import accounting as acc


def certify(made):
    return unlearn(network(), made).certificate


DESIGNS = [Whole(), Permutation(3, seed=4), RandomRotation(2), FastRotation(2), LayerCycle(2)]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_a_plan_comes_back_from_its_json_and_runs(design):
    entry = Proximity(0.1, 0.05, "pairs", ("exchangeable",))
    made = plan(network(), blocks=design, proximity=entry, steps=4, step_size=[0.01, 0.02, 0.03, 0.04], noise_every=2)
    again = expunge.Plan.from_json(made.to_json())
    assert again == made
    assert again.sha256 == made.sha256
    assert replace(made, epsilon=2.0).sha256 != made.sha256
    assert certify(again)["hops"][0]["proximity"]["failure"] == 0.05


WRONG_JSON = [
    *({name: value} for name in ("accountant", "design", "model_clip") for value in ([], "3", 5, {"kind": []})),
    *(
        {name: value}
        for name in ("epsilon", "delta", "blocks", "proximity", "schema")
        for value in (None, "x", [], True)
    ),
    {"design": None},
    {"more": 1},
]


@pytest.mark.parametrize("wrong", WRONG_JSON, ids=str)
def test_a_plan_file_that_was_damaged_never_runs(wrong):
    text = json.dumps(json.loads(plan(network()).to_json()) | wrong)
    if wrong == {"model_clip": 5}:
        return  # a plan like any other
    with pytest.raises(expunge.ExpungeError):
        certify(expunge.Plan.from_json(text))


@pytest.mark.parametrize("level", [0.5, 1.0, 3.0])
def test_a_level_shape_of_noise_is_no_shape(level):
    made = plan(network(), steps=4, noise_shape=[level] * 4)
    assert made.mu == pytest.approx(plan(network(), steps=4).mu, rel=1e-9)


POSITIVE = st.floats(1e-3, 0.4)


def over(steps, values=POSITIVE):
    return st.one_of(values, st.lists(values, min_size=steps, max_size=steps))


@settings(max_examples=60, deadline=None, phases=[Phase.generate])
@given(st.data())
def test_every_schedule_costs_at_most_epsilon_and_hardly_less(data):
    every, noisy = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    steps, blocks = every * noisy, data.draw(st.sampled_from([*DESIGNS, Permutation(7)]))
    count = len(plan(network(), blocks=blocks).blocks)
    made = plan(
        network(),
        blocks=blocks,
        epsilon=data.draw(st.floats(0.1, 50.0)),
        delta=data.draw(st.sampled_from([1e-10, 1e-5, 1e-2])),
        steps=steps,
        noise_every=every,
        step_size=data.draw(over(steps)),
        weight_decay=data.draw(over(steps, st.floats(0.0, 2.0))),
        clip=data.draw(st.one_of(POSITIVE, st.lists(POSITIVE, min_size=count, max_size=count))),
        noise_shape=data.draw(st.none() | st.lists(st.floats(0.1, 9.0), min_size=noisy, max_size=noisy)),
        accountant=data.draw(st.sampled_from(["gaussian", "renyi"])),
    )
    spent = getattr(acc, made.accountant).epsilon(made.mu, made.delta)
    assert made.epsilon * (1 - 1e-6) < spent <= made.epsilon
