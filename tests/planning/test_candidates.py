import math

import pytest

from expunge import planning
from expunge.accounting import Proximity, gaussian
from expunge.errors import ConfigError
from expunge.planning import Start, candidates

LAYERS = {"first": (1000, 5.0), "last": (50, 1.0)}
WHOLE = Start("all weights", Proximity(0.5, 0.1, "ten pairs"), LAYERS)
PROMISE = {"epsilon": 10.0, "delta": 1e-5, "budget": 200}


def test_every_candidate_keeps_the_promise_and_the_budget():
    found = candidates([WHOLE], **PROMISE)
    assert {one.keep for one in found} == {1.0, 0.3, 0.1, 0.03}
    for one in found:
        assert one.plan.mu <= gaussian.mu(10.0, 1e-5) * (1 + 1e-9)
        assert one.recovery + sum(len(block.steps) for block in one.plan.blocks) == 200
        assert sum(block.dimension for block in one.plan.blocks) == 1050
        assert one.noise_norm == pytest.approx(math.sqrt(sum(planning.noise_norm(b) ** 2 for b in one.plan.blocks)))


def test_noise_alone_is_output_perturbation_whatever_is_kept():
    alone = [one for one in candidates([WHOLE], **PROMISE) if one.clip == 0.0]
    assert len(alone) == 4
    for one in alone:
        assert one.sigma == pytest.approx(one.keep * 0.5 / gaussian.mu(10.0, 1e-5))
        assert one.total_signal == pytest.approx(math.hypot(5.0, 1.0) / (one.sigma / one.keep * math.sqrt(1050)))
        assert one.signal["last"] == pytest.approx(one.keep * 1.0 / (one.sigma * math.sqrt(50)))


def test_gradient_steps_cost_signal_and_a_smaller_place_for_the_noise_buys_it():
    core = Start("core", Proximity(0.2, 0.1, "ten pairs"), {"core": (40, 3.0)}, {"kind": "Whole"}, steps=30)
    found = candidates([WHOLE, core], **PROMISE)
    assert [one.total_signal for one in found] == sorted((one.total_signal for one in found), reverse=True)
    assert found[0].start is core
    assert found[0].recovery == 200 - 30 - 1
    best = max(one.total_signal for one in found if one.start is WHOLE and one.clip == 0.0)
    assert all(one.total_signal < best for one in found if one.clip > 0.0)


def test_names_tell_candidates_apart():
    names = [one.name for one in candidates([WHOLE], **PROMISE)]
    assert len(set(names)) == len(names)


def test_what_does_not_fit_is_left_out_or_refused():
    two = Start("two weights", WHOLE.proximity, {"a": (2, 1.0)})
    assert all(one.plan.blocks[0].dimension for one in candidates([two], **PROMISE))
    with pytest.raises(ConfigError, match="budget"):
        candidates([Start("core", WHOLE.proximity, LAYERS, {"kind": "Whole"}, steps=500)], **PROMISE)
    with pytest.raises(ConfigError, match="no start"):
        candidates([], **PROMISE)
