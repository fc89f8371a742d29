"""All audits at once: plain JSON, nothing invented, and a warning where one is due."""

import json

import numpy as np
from overfit import made_up, original, retrained

from expunge import audit

ATTACK = {
    "auc",
    "interval",
    "tpr_at_1",
    "tpr_at_1_interval",
    "tpr_at_01",
    "tpr_at_01_interval",
    "members",
    "nonmembers",
    "roc",
}


def shunned(outputs):
    """The same model, made to be wrong about every forgotten sample."""
    logits = outputs.forget.logits.copy()
    logits[np.arange(len(logits)), outputs.forget.labels] -= 20.0
    return audit.Outputs(audit.Part(logits, outputs.forget.labels), outputs.retain, outputs.test)


def test_everything_is_there_as_plain_json():
    others = [retrained(seed) for seed in range(1, 4)]
    found = audit.measure(
        original(), reference=others[0], retrained=others[1:], unlearned=[original(1), original(2)], weights=1.5
    )
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert set(found) == {"accuracy", "ua", "mia", "to_retrained", "warnings"}
    assert set(found["mia"]) == {
        *(f"svc_{name}" for name in ("confidence", "correctness", "entropy", "modified_entropy", "probabilities")),
        *("loss_threshold", "lira", "rmia", "u_lira"),
    }
    for name in ("loss_threshold", "lira", "rmia", "u_lira"):
        assert set(found["mia"][name]) >= ATTACK
    assert found["ua"] == 1 - found["accuracy"]["forget"]
    assert found["to_retrained"]["weights"] == 1.5
    assert found["mia"]["lira"]["models"] == 3


def test_what_was_not_measured_is_absent():
    found = audit.measure(original(), svc_features=["confidence"])
    assert set(found["mia"]) == {"svc_confidence", "loss_threshold"}
    assert found["to_retrained"] is None
    assert "no retrained model" in found["warnings"][0]


def test_a_retrained_model_is_not_held_against_itself():
    found = audit.measure(retrained(1), reference=retrained(1), retrained=[retrained(2)], svc_features=[])
    assert found["mia"]["lira"]["models"] == 1
    assert found["to_retrained"]["kl"] == 0.0
    assert "lira" not in audit.measure(retrained(1), reference=retrained(1), svc_features=[])["mia"]


def test_remembering_and_over_unlearning_are_told_and_retraining_is_not():
    others = [retrained(seed) for seed in range(1, 5)]
    told = [
        audit.measure(model, retrained=others, svc_features=[])["warnings"]
        for model in (original(), shunned(retrained(20)), retrained(20))
    ]
    assert told[0][0].startswith("not forgotten")
    assert told[1][0].startswith("over-unlearned")
    assert told[2] == []


def test_the_same_seed_gives_the_same_numbers():
    others = [made_up(seed=1), made_up(seed=2)]
    first, again, other = (audit.measure(made_up(), retrained=others, svc_samples=40, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert first != other
