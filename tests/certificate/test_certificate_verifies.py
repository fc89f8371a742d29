"""What is issued verifies, and every number in it follows from its ledger."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from paperwork import issued, network, plan, refused, unlearn, values
from safetensors.torch import save_file

import expunge
from expunge import FastRotation, HeadBody, LayerCycle, Permutation, Proximity, RandomRotation, Whole, certificate
from expunge import accounting as acc
from expunge.accounting.ledger import read_blocks

DESIGNS = st.sampled_from(
    [Whole(), RandomRotation(3), FastRotation(2), Permutation(4, seed=7), LayerCycle(2), HeadBody()]
)
PLANS = st.fixed_dictionaries(
    {
        "epsilon": st.floats(0.05, 100.0),
        "delta": st.floats(1e-12, 1e-2),
        "clip": st.floats(0.0, 5.0),
        "step_size": st.floats(1e-4, 0.5),
        "weight_decay": st.floats(0.0, 1.9),
        "steps": st.integers(1, 6),
        "accountant": st.sampled_from(["gaussian", "renyi"]),
        "proximity": st.builds(
            Proximity, st.floats(1e-3, 10.0), st.floats(0.0, 0.5), st.text(max_size=9), st.tuples(st.text(max_size=9))
        ),
    }
)


def recomputed(document):
    """μ, ε, δ + ϱ of one hop, with nothing but the accountant."""
    (hop,) = document["hops"]
    mu = acc.mu(hop["proximity"]["gap"], read_blocks(hop["blocks"])) * hop["looks"] ** 0.5
    delta = document.delta
    return mu, acc.gaussian.epsilon(mu, delta), acc.renyi.epsilon(mu, delta), delta + hop["proximity"]["failure"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=6), PLANS, st.integers(1, 9))
def test_whatever_is_issued_verifies_and_follows_from_its_ledger(dimensions, chosen, looks):
    document = issued(dimensions, looks=looks, **chosen)
    certificate.verify(document)
    certificate.verify(document.to_bytes())
    promise = document["guarantee"]
    stated = (promise["mu"], promise["epsilon"]["gaussian"], promise["epsilon"]["renyi"])
    *found, unconditional = recomputed(document)
    assert stated == pytest.approx(found, rel=1e-9)
    assert promise["unconditional_delta"] == pytest.approx(min(1.0, unconditional), rel=1e-12)
    assert promise["unconditional_delta"] >= min(1.0, unconditional)
    assert document.epsilon == promise["epsilon"][chosen["accountant"]]
    assert looks > 1 or document.epsilon <= chosen["epsilon"]


@settings(max_examples=25, deadline=None)
@given(DESIGNS, PLANS)
def test_every_run_verifies_with_its_model_and_with_no_other(design, chosen):
    model = network()
    outcome = unlearn(model, plan(model, design, **chosen))
    names = {finding.name for finding in certificate.verify(outcome.certificate, model)}
    assert {"signature", "fingerprint", "guarantee", "coverage", "weights"} <= names
    assert outcome.certificate["sha256"]["plan"] == plan(network(), design, **chosen).sha256
    assert refused(outcome.certificate, network())


@pytest.fixture(scope="module")
def outcome():
    return unlearn(network())


def test_a_module_a_state_dict_and_both_kinds_of_file_verify(outcome, tmp_path):
    model, document = outcome.model, outcome.certificate
    state = values(model)
    document.save(tmp_path / "certificate.json")
    expunge.weights.save(state, tmp_path / "canonical.safetensors")
    save_file(state, tmp_path / "other.safetensors")
    torch.save(state, tmp_path / "plain.pt")
    torch.save({"state_dict": state, "epoch": 3}, tmp_path / "nested.pt")
    for held in (model, state, *(tmp_path / f for f in ("canonical.safetensors", "plain.pt", "nested.pt"))):
        certificate.verify(tmp_path / "certificate.json", held)
    expunge.verify(str(tmp_path / "certificate.json"), str(tmp_path / "other.safetensors"))


def test_one_changed_bit_in_any_weight_is_noticed(outcome):
    for name, tensor in values(outcome.model).items():
        for place in (0, tensor.numel() - 1):
            state = values(outcome.model)
            state[name].view(-1).view(torch.int32)[place] ^= 1
            assert refused(outcome.certificate, state), name


@pytest.mark.parametrize("change", ["swap", "rename", "leave out", "add", "reshape", "widen"])
def test_another_layout_of_the_same_numbers_is_not_the_certified_model(outcome, change):
    state = values(outcome.model)
    if change == "swap":
        state["0.bias"], state["2.bias"] = state["2.bias"], state["0.bias"]
    elif change == "rename":
        state["head.bias"] = state.pop("2.bias")
    elif change == "leave out":
        del state["2.bias"]
    elif change == "add":
        state["extra"] = torch.zeros(1)
    elif change == "reshape":
        state["0.weight"] = state["0.weight"].view(4, 6)
    else:
        state["0.bias"] = state["0.bias"].double()
    assert refused(outcome.certificate, state)


@pytest.mark.parametrize("nothing", [3, [], object(), {"0.weight": 3}, {"0.weight": torch.ones(2, device="meta")}])
def test_what_is_no_model_is_refused_in_words(outcome, nothing):
    assert refused(outcome.certificate, nothing)
