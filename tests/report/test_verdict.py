import math

import pytest
from exhibits import reseal

from expunge.report import from_dict, verdict
from expunge.report.verdict import margin


def judged(values, *, own=0.95, public=0.80, perturbed=0.85, retrained=0.95, seconds=1.0, whole=10.0, calibration=0.0):
    """The example with these test accuracies and times."""
    accuracies = {
        "blockwise_nft": own,
        "from_public": public,
        "output_perturbation": perturbed,
        "retrain": retrained,
    }
    for row in values["comparison"]["rows"]:
        row["audit"]["accuracy"]["test"] = accuracies[row["method"]]
        row["seconds"] = whole if row["method"] == "retrain" else seconds
    values["cost"] = [{"stage": "calibration", "seconds": calibration, "once": True}]
    return verdict(from_dict(values))


def test_worth_it_where_it_beats_everything(values):
    found = judged(values)
    assert found.answer == "yes"
    assert [judgement.answer for judgement in found.judgements] == ["yes"] * 4


@pytest.mark.parametrize("public", [0.93, 0.95, 0.99])  # within chance, the same, better
def test_not_worth_it_where_starting_again_does_as_well(values, public):
    found = judged(values, public=public)
    assert found.answer == "no"
    assert found.judgements[0].answer == "no"
    assert f"{100 * public:.1f}" in found.judgements[0].says


@pytest.mark.parametrize(("mu", "public", "told"), [(2.0, 0.8, False), (6.0, 0.8, True), (6.0, 0.99, False)])
def test_what_was_worth_it_may_still_be_a_weak_promise(values, mu, public, told):
    values["certificate"]["guarantee"]["mu"] = mu
    reseal(values)
    assert ("The promise itself is weak: at ε = 10" in judged(values, public=public).headline) is told


def test_not_worth_it_where_retraining_is_no_dearer(values):
    found = judged(values, seconds=10.0)
    assert found.answer == "no"
    assert "Retraining takes no longer" in found.headline


@pytest.mark.parametrize("perturbed", [0.94, 0.99])
def test_output_perturbation_that_does_as_well_is_named(values, perturbed):
    found = judged(values, perturbed=perturbed)
    assert found.answer == "partly"
    assert "output perturbation" in found.headline


def test_accuracy_that_was_paid_is_named(values):
    found = judged(values, retrained=0.99)
    assert found.answer == "partly"
    assert "4.0 points less accurate" in found.judgements[2].says


def test_calibration_is_paid_back_after_so_many_requests(values):
    found = judged(values, calibration=80.0)  # a request saves 9 s
    assert "paid back after 9 requests" in found.judgements[3].says


def test_without_the_decisive_baseline_nothing_is_decided(values):
    values["comparison"]["rows"] = [row for row in values["comparison"]["rows"] if row["method"] != "from_public"]
    found = judged(values)
    assert found.answer == "unknown"
    assert "Not measured" in found.judgements[0].says


def test_without_a_comparison_nothing_is_said(values):
    values["comparison"] = None
    found = verdict(from_dict(values))
    assert found.answer == "unknown"
    assert found.judgements == ()


def test_a_small_lead_is_chance_and_a_large_one_is_not():
    assert margin(0.5, 0.5, 100) == pytest.approx(1.96 * math.sqrt(0.5 / 100))
    assert margin(0.9, 0.9, 400) < margin(0.9, 0.9, 100)
    assert margin(0.9, 0.8, None) == 0.0


def test_seeds_are_averaged(values):
    rows = values["comparison"]["rows"]
    rows += [{**row, "seed": 1} for row in rows]
    one, other = (judged(values, own=0.95), judged(values, own=0.95))
    assert one == other
    assert "95.0" in one.judgements[0].says


def test_forgotten_classes_are_left_out_of_test_accuracy(values):
    for row in values["comparison"]["rows"]:
        row["audit"]["accuracy"]["test_retained_classes"] = 0.99 if row["method"] == "blockwise_nft" else 0.5
    assert "99.0" in judged(values).judgements[0].says


def test_what_is_not_certified_was_not_worth_it(values):
    values["verification"] = {"schema": "expunge.verification/1", "valid": False, "reason": "the weights differ"}
    assert judged(values).answer == "no"
    assert "Nothing is certified" in judged(values | {"certificate": None, "verification": None}).headline
    values["certificate"]["kind"] = "simulation"
    assert judged(values).headline.startswith("Of a real run like this simulation: Yes.")


def test_the_example_is_honest(results):
    assert verdict(results).answer == "no"
