"""The same run under another proximity."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paperwork import SETTINGS, cross_entropy, issued, network, opened, plan, refused, resealed, unlearn, values

import expunge
from expunge import Permutation, Proximity, certificate
from expunge import accounting as acc
from expunge.accounting.ledger import read_blocks


def proximity_of(document):
    return document["hops"][-1]["proximity"]


@settings(max_examples=40, deadline=None)
@given(st.floats(0.0, 50.0), st.floats(0.0, 50.0))
def test_epsilon_grows_with_the_gap_and_is_that_of_the_ledger(first, second):
    document = issued()
    low, high = sorted((first, second))
    near, far = (expunge.recertify(document, proximity=Proximity(gap, 0.05, "new")) for gap in (low, high))
    assert near.epsilon <= far.epsilon
    assert far.mu == pytest.approx(acc.mu(high, read_blocks(document["hops"][0]["blocks"])), rel=1e-9)
    assert (document.epsilon < far.epsilon) == (high > SETTINGS["proximity"].gap) or high == SETTINGS["proximity"].gap


def test_at_the_same_gap_epsilon_is_the_same_and_the_parent_is_named():
    document = issued()
    again = expunge.recertify(document, proximity=SETTINGS["proximity"])
    assert again["guarantee"] == document["guarantee"]
    assert again["hops"] == document["hops"]
    assert again["sha256"]["parent"] == document.sha256 != again.sha256
    certificate.verify(again)


def test_a_chain_names_parent_after_parent_and_ends_where_it_began():
    document = first = issued()
    for gap in (0.4, 0.2, 0.1):
        parent, document = document, expunge.recertify(document, proximity=Proximity(gap, 0.05, "pairs"))
        assert document["sha256"]["parent"] == parent.sha256
    assert document.epsilon == first.epsilon


def test_another_delta_is_converted_exactly():
    document = issued()
    again = expunge.recertify(document, proximity=SETTINGS["proximity"], delta=1e-9)
    assert again.epsilon == acc.gaussian.epsilon(document.mu, 1e-9) > document.epsilon
    assert again["guarantee"]["unconditional_delta"] == pytest.approx(0.05 + 1e-9, rel=1e-12)


def test_the_model_is_not_touched_and_verifies_with_the_new_certificate(tmp_path):
    model = network()
    outcome = unlearn(model, plan(model, Permutation(3)))
    before = values(model)
    outcome.certificate.save(tmp_path / "old.json")
    again = expunge.recertify(tmp_path / "old.json", proximity=Proximity(0.3, 0.02, "more pairs"))
    certificate.verify(again, model)
    assert all(tensor.equal(before[name]) for name, tensor in values(model).items())
    assert again["sha256"]["output_weights"] == outcome.certificate["sha256"]["output_weights"]


def test_looks_never_decrease_and_cost_their_square_root():
    document = issued(looks=2)
    more = certificate.recertify(document, proximity=SETTINGS["proximity"], looks=8)
    assert more.mu == pytest.approx(2.0 * document.mu, rel=1e-9)
    assert certificate.recertify(document, proximity=SETTINGS["proximity"]).mu == document.mu
    for looks in (1, 0, -1, 1.5):
        with pytest.raises(expunge.ExpungeError):
            certificate.recertify(document, proximity=SETTINGS["proximity"], looks=looks)


@pytest.mark.parametrize("change", [{"requests": 2}, {"entry": "{}"}])
def test_a_proximity_of_another_request_or_entry_is_refused(change):
    with pytest.raises(expunge.ProximityError):
        expunge.recertify(issued(), proximity=Proximity(0.1, 0.05, "pairs", **change))


@pytest.mark.parametrize("proximity", [None, "0.1", -0.1, float("nan"), float("inf"), True])
def test_what_is_no_proximity_is_refused(proximity):
    with pytest.raises(expunge.ExpungeError):
        expunge.recertify(issued(), proximity=proximity)


def test_a_simulation_and_a_forgery_are_not_recertified():
    forgery = opened(issued())
    forgery["guarantee"]["mu"] /= 2
    for bad in (issued(simulated=True), certificate.Certificate(forgery)):
        with pytest.raises(expunge.ExpungeError):
            expunge.recertify(bad, proximity=0.1)
    assert refused(resealed(forgery))


def test_a_signature_is_not_carried_over(keys):
    signed = certificate.sign(issued(), keys[0])
    assert refused(expunge.recertify(signed, proximity=SETTINGS["proximity"]), public_key=keys[1])


def test_a_smaller_gap_without_evidence_does_not_keep_the_evidence_of_the_larger_one():
    """Nineteen pairs support failure 1/20 at their largest gap. At a tenth of it they support nothing."""
    again = expunge.recertify(issued(), proximity=0.01)
    assert proximity_of(again)["failure"] != 0.05 or proximity_of(again)["assumptions"]
    assert again["guarantee"]["unconditional_delta"] != pytest.approx(0.05 + 1e-5)


def test_a_gap_that_is_a_bare_number_promises_nothing_in_any_case():
    """Nobody said how often the gap is larger, so there is no unconditional δ to state (or it is stated as assumed)."""
    model = network()
    outcome = unlearn(model, plan(model, proximity=0.1), loss=cross_entropy)
    stated = outcome.certificate["guarantee"]["unconditional_delta"]
    assert stated is None or stated >= 1.0 or proximity_of(outcome.certificate)["assumptions"]
