import math

import pytest

from expunge import accounting as acc
from expunge import planning
from expunge.errors import BudgetError, ConfigError

MNIST = {
    "epsilon": 30.0,
    "delta": 1e-5,
    "proximity": 0.5,
    "clip": 5000.0,
    "step_size": 1e-4,
    "weight_decay": 100.0,
}


@pytest.mark.parametrize("accountant", ["gaussian", "renyi"])
@pytest.mark.parametrize("blocks", [1, 4, 9])
@pytest.mark.parametrize("steps", [1, 3, "best"])
def test_a_plan_keeps_its_promise_and_wastes_nothing(accountant, blocks, steps):
    plan = planning.make([10] * blocks, **MNIST, steps=steps, accountant=accountant)
    epsilon = acc.recertified_epsilon(0.5, plan.blocks, delta=1e-5, accountant=accountant)
    assert 30.0 * (1 - 1e-6) < epsilon <= 30.0
    assert plan.mu == acc.mu(0.5, plan.blocks)
    assert len(plan.blocks) == blocks
    assert {step.clip for block in plan.blocks for step in block.steps} == {5000.0 / math.sqrt(blocks)}


def test_the_noise_does_not_depend_on_the_number_of_blocks():
    one, many = (planning.make([5] * k, **MNIST).blocks[0].steps[0].sigma for k in (1, 100))
    assert one == many


def test_the_best_number_of_steps_is_planned():
    settings = MNIST | {"clip": 500.0}
    best = acc.best_steps(0.5, step_size=1e-4, weight_decay=100.0, clip=500.0)
    plan = planning.make([5], **settings, steps="best")
    assert best > 1
    assert len(plan.blocks[0].steps) == best
    for steps in (best - 1, best + 1):
        assert planning.make([5], **settings, steps=steps).blocks[0].steps[0].sigma >= plan.blocks[0].steps[0].sigma


def test_noise_norm_is_that_of_the_noise_which_is_left():
    step = acc.Step(0.1, 2.0, 1.0, 0.5)
    block = acc.Block((step, acc.Step(0.1, 5.0, 0.0, 0.0), step), 49)
    variance = 0.5**2 * (1 + (0.8 * 0.5) ** 2)
    assert planning.noise_norm(block) == pytest.approx(7 * math.sqrt(variance))
    assert planning.noise_norm(acc.Block((step,) * 1000, 4)) == pytest.approx(2 * 0.5 / math.sqrt(1 - 0.8**2))


def test_output_perturbation_is_gap_over_mu_of_the_same_accountant():
    for accountant in ("gaussian", "renyi"):
        plan = planning.make([5] * 4, **MNIST, accountant=accountant)
        sigma = planning.alternatives(plan).output_perturbation
        assert sigma == pytest.approx(0.5 / getattr(acc, accountant).mu(30.0, 1e-5), rel=1e-10)


def test_the_papers_noise_is_judged_at_the_planned_steps():
    paper = planning.alternatives(planning.make([5] * 4, **MNIST)).paper
    assert paper.sigma == pytest.approx(0.32664, abs=1e-5)
    assert paper.optimal_steps == pytest.approx(0.4987, abs=1e-4)
    assert paper.steps == 1
    assert paper.variance_factor["renyi"] == pytest.approx(1.126, abs=5e-4)
    assert not paper.valid("renyi")
    assert paper.valid("gaussian")
    run = acc.Block((acc.Step(1e-4, 100.0, 5000.0, paper.sigma),))
    assert acc.recertified_epsilon(0.5, run, delta=1e-5, accountant="renyi") > 30.0
    assert acc.recertified_epsilon(0.5, run, delta=1e-5, accountant="gaussian") < 30.0


def test_where_the_paper_has_no_formula_there_is_no_verdict():
    assert planning.alternatives(planning.make([5], **(MNIST | {"clip": 0.0}))).paper is None
    assert planning.alternatives(planning.make([5], **(MNIST | {"proximity": 0.0}))).paper is None
    falling = planning.alternatives(planning.make([5], **(MNIST | {"clip": 1.0}))).paper
    assert falling.optimal_steps is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"epsilon": 0.0, "accountant": "renyi"}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"proximity": -1.0}, "proximity"),
        ({"clip": math.nan}, "clip"),
        ({"weight_decay": 1e4}, "step_size × weight_decay"),
        ({"steps": 0}, "steps"),
        ({"steps": 10**12}, "steps"),
        ({"dimensions": [5] * 1000, "steps": 10**5}, "steps"),
        ({"steps": "worst"}, "steps"),
        ({"accountant": "moments"}, "'moments'"),
        ({"dimensions": []}, "at least one block"),
        ({"dimensions": [-1]}, "dimension"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(change, named):
    with pytest.raises(ConfigError, match=named):
        planning.make(**({"dimensions": [5]} | MNIST | change))


def test_best_steps_without_gradients_is_refused():
    with pytest.raises(BudgetError, match="Give steps"):
        planning.make([5], **(MNIST | {"clip": 0.0}), steps="best")
