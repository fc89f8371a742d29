import re
from statistics import NormalDist

import pytest
from exhibits import reseal

from expunge.report import from_dict, render, statement
from expunge.report.page import facts


def said(values):
    return statement(from_dict(reseal(values) if "certificate" in values else values))


def test_both_sentences_of_a_valid_certificate(values, results):
    found, promise = said(values), results.certificate.guarantee
    assert found.state == "valid"
    assert "144 of 1,438 training samples (a random 10 %)" in found.plain
    stated = float(re.search(r"at most ([\d.]+)\u202f%", found.plain)[1]) / 100
    assert 0 <= stated - NormalDist().cdf(promise.mu / 2) < 0.001  # rounded up, to a tenth of a percent
    assert "(ε, δ) = (10, 10⁻⁵)-indistinguishable" in found.exact
    assert f"Δ = {results.certificate.proximity.gap:.4g}" in found.exact
    assert "(ε, δ + ϱ) = (10, 0.09092)" in found.exact
    assert promise.unconditional_delta <= 0.09092


def test_a_certificate_that_nobody_verified_is_not_called_valid(values):
    values["verification"] = None
    assert said(values).state == "unchecked"


def test_weights_that_nobody_compared_are_said_to_be_so(values):
    values["verification"]["weights_compared"] = False
    assert said(values).state == "document"
    assert "weights not compared" in said(values).title


def test_a_refused_certificate_says_why(values):
    values["verification"] = {"schema": "expunge.verification/1", "valid": False, "reason": "the weights differ"}
    found = said(values)
    assert found.state == "invalid"
    assert "The weights differ." in found.plain
    assert found.exact is None


def test_a_simulation_certifies_nothing(values):
    values["certificate"]["kind"] = "simulation"
    values["verification"] = None
    found = said(values)
    assert found.state == "simulation"
    assert "the data counts as not removed" in found.plain
    assert found.exact.startswith("For a real run, whose noise nobody knows: given")


@pytest.mark.parametrize("kind", ["certificate", "simulation"])
def test_numbers_that_are_not_certified_are_not_shown_as_if_they_were(values, kind):
    values["certificate"]["kind"] = kind
    values["verification"] = {"schema": "expunge.verification/1", "valid": False, "reason": "the weights differ"}
    results = from_dict(values)
    assert [value for _, value, _ in facts(results)[:2]] == ["not certified"] * 2
    assert "nothing of it is certified" in render(results)


def test_no_certificate_says_why(asked):
    asked["refused"] = "The loss was not finite"
    found = said(asked)
    assert found.state == "none"
    assert found.plain.endswith("The loss was not finite.")


@pytest.mark.parametrize(
    ("failure", "says"), [(0.0, "in every case"), (1.0, "nobody measured"), (0.0001, "at most 0.1\u202f%")]
)
def test_the_condition_is_part_of_the_plain_sentence(values, failure, says):
    values["certificate"]["hops"][-1]["proximity"]["failure"] = failure
    assert says in said(values).plain


def test_a_proximity_without_evidence_promises_nothing_unconditionally(values):
    values["certificate"]["guarantee"]["unconditional_delta"] = 1.0
    assert "Unconditionally nothing" in said(values).exact
    assert "nothing is known" in render(from_dict(values))


def test_a_large_epsilon_and_a_missing_signature_are_not_passed_over(values):
    values["certificate"]["guarantee"]["mu"] = 6.0
    found = said(values)
    assert (found.state, found.title) == ("weak", "Valid certificate of a weak promise")
    assert "the promise alone hides little" in found.plain
    assert "not signed" in " ".join(found.notes)


@pytest.mark.parametrize(("mu", "state"), [(3.28, "valid"), (3.3, "weak")])
def test_weak_is_where_an_observer_may_be_right_more_than_95_times_in_100(values, mu, state):
    values["certificate"]["guarantee"]["mu"] = mu
    assert said(values).state == state


def test_successive_requests_are_one_statement(values):
    values["certificate"]["hops"] *= 2
    found = said(values)
    assert "the proximities of all 2 requests" in found.exact
    assert any("request 2" in note for note in found.notes)
