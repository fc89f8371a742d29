import json

import pytest

from expunge import accounting as acc

STEP = acc.Step(1e-4, 100.0, 2500.0, 0.4)


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text(acc.to_json([acc.Block((STEP,) * 3, 10), acc.Block((STEP,), 20)]))
    return path


def test_a_ledger_is_accounted_as_by_the_library(expunge, ledger):
    code, out, err = expunge("account", ledger, "--proximity", "0.5", "--delta", "1e-5", "--json")
    assert (code, err) == (0, "")
    answer, mu = json.loads(out), acc.mu(0.5, acc.load(ledger))
    assert answer["mu"] == mu
    assert answer["epsilon"] == {"gaussian": acc.gaussian.epsilon(mu, 1e-5), "renyi": acc.renyi.epsilon(mu, 1e-5)}
    assert (answer["blocks"], answer["steps"]) == (2, 4)


def test_people_read_the_same(expunge, ledger):
    mu = acc.mu(0.5, acc.load(ledger))
    code, out, err = expunge("account", ledger, "--proximity", "0.5", "--delta", "1e-5", "--failure", "0.1")
    assert (code, err) == (0, "")
    for fact in (
        "2, 4",
        f"{mu:.5g}",
        f"{acc.gaussian.epsilon(mu, 1e-5):.5g}",
        f"{acc.renyi.epsilon(mu, 1e-5):.5g}",
        "0.5",
        "0.1",
    ):
        assert fact in out, fact


def test_drift_after_the_last_noise_is_a_failed_check(refused, tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text(acc.to_json(acc.Block((STEP, acc.Step(1e-4, 100.0, 2500.0, 0.0)))))
    assert "no noise follows" in refused("account", path, "--proximity", "0.5", "--delta", "1e-5", code=1)


def test_no_noise_at_all_is_a_failed_check(refused, tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text(acc.to_json(acc.Block((acc.Step(1e-4, 100.0, 0.0, 0.0),))))
    assert "sigma" in refused("account", path, "--proximity", "0.5", "--delta", "1e-5", code=1)


def test_extreme_ledgers_are_answered_or_refused(expunge, tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text(acc.to_json([acc.Block((acc.Step(1e40, 0.0, 1e40, s),)) for s in (1e-40, 2e-40)]))
    code, out, err = expunge("account", path, "--proximity", "1", "--delta", "1e-5")
    assert (code in (1, 2), out, err.count("\n")) == (True, "", 1)
    path.write_text(acc.to_json(acc.Block((acc.Step(0.0, 0.0, 0.0, 1e40),))))
    for delta in ("1e-5", "1e-300"):
        code, _, err = expunge("account", path, "--proximity", "1e-35", "--delta", delta, "--json")
        assert (code, err) == (0, "")
