"""Requests one after another, several looks at one request, and simulations."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paperwork import batches, cross_entropy, issued, network, opened, plan, refused, unlearn, values

import expunge
from expunge import Proximity, certificate
from expunge import accounting as acc
from expunge.certificate.document import canonical

SEED = 918273645


def chain(length, *, looks=(1, 1, 1, 1), failure=0.01):
    """Certificates of so many requests on one model."""
    made = []
    for number in range(1, length + 1):
        proximity = Proximity(0.1 * number, failure * number, "pairs", requests=number)
        hashes = (str(number) * 64, str(number + 1) * 64)
        after = made[-1] if made else None
        made.append(issued(proximity=proximity, hashes=hashes, after=after, looks=looks[number - 1], epsilon=number))
    return made


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=4, max_size=4), st.floats(0.0, 0.05))
def test_costs_add_over_requests_and_looks_within_one_add_in_squares(looks, failure):
    documents = chain(4, looks=looks, failure=failure)
    costs = [acc.gaussian.mu(number, 1e-5) * looks[number - 1] ** 0.5 for number in (1, 2, 3, 4)]
    for number, document in enumerate(documents, 1):
        certificate.verify(document)
        assert document.mu == pytest.approx(sum(costs[:number]), rel=1e-6)
        assert document.epsilon == acc.gaussian.epsilon(document.mu, 1e-5)
        failures = [failure * n for n in range(1, number + 1)]
        unconditional = 1e-5 + acc.composition.successive_failure(costs[:number], failures)
        assert document["guarantee"]["unconditional_delta"] == pytest.approx(min(1.0, unconditional), rel=1e-5)
    names = [hop["certificate"] for hop in documents[-1]["hops"]]
    assert names == [*(document.sha256 for document in documents[:-1]), None]


@pytest.mark.parametrize("requests", [1, 3])
def test_the_proximity_must_be_that_of_the_whole_pipeline(requests):
    (first,) = chain(1)
    with pytest.raises(expunge.ProximityError):
        issued(after=first, hashes=("2" * 64, "3" * 64), proximity=Proximity(0.1, 0.0, "pairs", requests=requests))


def test_a_later_request_names_the_earlier_one():
    with pytest.raises(expunge.ProximityError):
        issued(proximity=Proximity(0.1, 0.0, "pairs", requests=2))


def second_plan(model):
    return plan(model, proximity=Proximity(0.1, 0.05, "pairs", requests=2))


def test_two_real_requests_add(tmp_path):
    model = network()
    first = unlearn(model).certificate
    first.save(tmp_path / "first.json")
    second = unlearn(model, second_plan(model), after=tmp_path / "first.json").certificate
    certificate.verify(second, model)
    assert second.mu == pytest.approx(2 * first.mu, rel=1e-6)
    assert refused(first, model)


def test_the_next_request_starts_from_the_certified_weights():
    model = network()
    first = unlearn(model).certificate
    with pytest.raises(expunge.ProximityError):
        unlearn(network(), second_plan(model), after=first)


def test_an_earlier_certificate_that_was_edited_is_refused(tmp_path):
    """Its fingerprint is broken; what follows it would inherit a cost that is too low, and verify."""
    model = network()
    edited = opened(unlearn(model).certificate)
    for block in edited["hops"][0]["blocks"]:
        for step in block["steps"]:
            step["sigma"] *= 1e4
    (tmp_path / "edited.json").write_bytes(canonical(edited) + b"\n")
    with pytest.raises(expunge.ExpungeError):
        unlearn(model, second_plan(model), after=tmp_path / "edited.json")


@pytest.mark.parametrize("mistake", ["looks", "requests", "after", "simulated"])
def test_a_run_that_can_never_be_certified_is_refused_before_it_spends_the_model(mistake):
    model, other = network(), network(1)
    options = {
        "looks": {"looks": 0},
        "requests": {"made": second_plan(model)},
        "after": {"made": second_plan(model), "after": unlearn(other).certificate},
        "simulated": {"made": second_plan(model), "after": unlearn(network(), simulate=1).certificate},
    }[mistake]
    before = values(model)
    with pytest.raises(expunge.ExpungeError):
        unlearn(model, **options)
    assert all(tensor.equal(before[name]) for name, tensor in values(model).items())


def test_a_simulation_is_reproducible_says_so_and_verifies_nowhere():
    first, second = (unlearn(network(), simulate=SEED) for _ in range(2))
    assert all(tensor.equal(values(second.model)[name]) for name, tensor in values(first.model).items())
    assert first.certificate["kind"] == "simulation"
    assert refused(first.certificate, first.model)
    assert refused(first.certificate.to_bytes())


def test_neither_seed_nor_key_nor_data_is_in_a_certificate():
    simulated, certified = unlearn(network(), simulate=SEED), unlearn(network())
    assert str(SEED) not in json.dumps(dict(simulated.certificate))
    assert f"{SEED:x}" not in json.dumps(dict(simulated.certificate))
    hashes = {value for value in certified.certificate["sha256"].values() if value}
    text = json.dumps(dict(certified.certificate))
    for value in hashes:
        text = text.replace(value, "")
    assert not [word for word in text.replace('"', " ").split() if len(word) > 40]
    numbers = {f"{x:.6g}" for x in batches()[0][0].flatten().tolist()}
    assert not [word for word in text.split() if word.strip(",") in numbers]


def test_two_certified_runs_never_draw_the_same_noise():
    weights = [values(unlearn(network(), plan(network(), clip=0.0), loss=cross_entropy).model) for _ in range(2)]
    assert not any(tensor.equal(weights[1][name]) for name, tensor in weights[0].items())
