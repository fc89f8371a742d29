"""The document made anew from real runs, as small as they can be."""

import pytest

from expunge.report import from_dict, render, statement, verdict


@pytest.fixture(scope="module")
def made():
    from example import make

    return make(pairs=3, epochs=2, every=10)


def test_real_runs_give_results_that_are_read_and_shown(made):
    results = from_dict(made)
    assert statement(results).state == "valid"
    assert verdict(results).answer in ("yes", "partly", "no")
    assert "Valid certificate" in render(results)
    assert len(results.calibration.pairs) == 3


def test_a_simulated_run_is_shown_as_one():
    from example import make

    results = from_dict(make(pairs=2, epochs=1, every=50, simulate=7))
    assert statement(results).state == "simulation"
    assert "Simulation: certifies nothing" in render(results)
