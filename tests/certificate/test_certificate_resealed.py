"""A forger recomputes the fingerprint. Without a signature much can be forged, but nothing that contradicts itself."""

import json
import math
import random
import time

import pytest
from paperwork import at, issued, network, opened, plan, refused, resealed, unlearn
from test_certificate_mutations import tampered

import expunge
from expunge import Proximity, certificate
from expunge.certificate.hops import guarantee

HONEST = {"gap": 0.1, "failure": 0.05, "source": "pairs"}


@pytest.fixture(scope="module")
def document():
    return opened(issued((5, 5), steps=3))


@pytest.fixture(scope="module")
def second():
    after = issued(hashes=("a" * 64, "b" * 64))
    return opened(issued(after=after, hashes=("b" * 64, "c" * 64), proximity=Proximity(**HONEST, requests=2)))


def forged(document, path, value):
    """The document with one value set (or changed by a function), resealed."""
    changed = json.loads(json.dumps(document))
    parent = at(changed, path[:-1])
    parent[path[-1]] = value(parent[path[-1]]) if callable(value) else value
    assert changed != document
    return resealed(changed)


def test_resealing_what_was_not_changed_verifies(document, second):
    certificate.verify(resealed(document))
    certificate.verify(resealed(second))


def test_whatever_verifies_after_a_forgery_states_what_its_ledger_gives(second):
    dice = random.Random(3)
    for _ in range(1_500):
        content = resealed(changed) if isinstance((changed := tampered(second, dice)).get("sha256"), dict) else b""
        if not refused(content):
            stated = changed["guarantee"]
            found = guarantee(changed["hops"], delta=stated["delta"], accountant=stated["accountant"])
            assert all(math.isclose(stated["epsilon"][n], e, rel_tol=1e-8) for n, e in found["epsilon"].items())
            assert stated["unconditional_delta"] >= stated["delta"]


@pytest.mark.parametrize("name", ["mu", "unconditional_delta", "epsilon gaussian", "epsilon renyi", "delta"])
@pytest.mark.parametrize("factor", [0.0, 0.5, 0.999, 1.001, -1.0, math.pi])
def test_a_guarantee_that_the_ledger_does_not_give_is_refused(second, name, factor):
    assert refused(forged(second, ["guarantee", *name.split()], lambda value: value * factor))


@pytest.mark.parametrize("name", ["gap", "failure"])
@pytest.mark.parametrize("hop", [0, 1])
def test_another_proximity_needs_another_guarantee(second, hop, name):
    assert refused(forged(second, ["hops", hop, "proximity", name], lambda value: value * 0.5))


@pytest.mark.parametrize("name", ["step_size", "weight_decay", "clip", "sigma", "count"])
@pytest.mark.parametrize("hop", [0, 1])
def test_another_ledger_needs_another_guarantee(second, hop, name):
    assert refused(forged(second, ["hops", hop, "blocks", 0, "steps", 0, name], lambda value: value * 2))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["hops"], []),
        (["hops", 1, "proximity", "requests"], 1),
        (["hops", 0, "proximity", "requests"], 2),
        (["hops", 1, "looks"], 4),
        (["hops", 1, "blocks"], lambda blocks: blocks[1:]),
        (["hops", 1, "blocks", 0, "dimension"], 4),
        (["run", "parameters"], 11),
        (["run", "parameters"], "ten"),
        (["run", "subspace", "dimensions"], [5, 6]),
        (["guarantee", "accountant"], "hope"),
        (["run", "simulated"], True),
        (["run", "decomposition_error"], 0.5),
        (["run", "forgotten_seen"], 3),
        (["run", "public_changed"], 1),
        (["run", "epsilon_machine"], 0.01),
        (["run", "measured", 0, "noise_energy"], 0.0),
        (["run", "measured", 0, "noisy_coordinates"], 5),
        (["run", "measured", 0, "largest_excess"], 2.0),
        (["run", "measured", 0, "off_block"], 0.5),
        (["sha256", "output_weights"], None),
        (["sha256", "output_weights"], "é"),
    ],
    ids=str,
)
def test_a_document_that_contradicts_itself_is_refused(second, path, value):
    assert refused(forged(second, path, value))


def test_a_hidden_earlier_request_is_missed(second):
    last = second["hops"][1:]
    lone = [{**last[0], "proximity": {**last[0]["proximity"], "requests": 1}}]
    promise = guarantee(lone, delta=second["guarantee"]["delta"], accountant="gaussian")
    assert refused(resealed({**second, "hops": last, "guarantee": promise}))


def test_a_promise_below_the_guarantee_is_refused(document):
    assert refused(forged(document, ["target", "epsilon"], 0.5))


@pytest.mark.parametrize("number", range(8))
def test_a_missing_failed_or_doubled_check_is_refused(document, number):
    check = document["checks"][number]
    bad = {**check, "measured": 1e3}
    rest = [other for other in document["checks"] if other is not check]
    for checks in (
        rest,
        [*rest, bad],
        [*rest, {**bad, "limit": 1e6}],
        [*rest, bad, check],
        [*rest, {"name": bad["name"]}],
    ):
        assert refused(forged(document, ["checks"], checks))


def test_a_clipped_model_needs_its_check():
    model = network()
    outcome = unlearn(model, plan(model, proximity=None, model_clip=0.1))
    rest = [check for check in outcome.certificate["checks"] if check["name"] != "model clip"]
    assert refused(forged(opened(outcome.certificate), ["checks"], rest))


def test_a_simulation_does_not_become_a_certificate_by_its_name():
    assert refused(forged(opened(issued(simulated=True)), ["kind"], "certificate"))


@pytest.mark.parametrize("looks", [2 * 10**6, 10**400], ids=["millions", "400 digits"])
def test_a_forgery_cannot_keep_the_reader_busy(document, looks):
    started = time.monotonic()
    assert refused(forged(document, ["hops", 0, "looks"], looks))
    assert time.monotonic() - started < 1.0


def test_weights_of_a_forgery_are_compared_in_words(document):
    with pytest.raises(expunge.ExpungeError):
        certificate.verify(forged(document, ["sha256", "output_weights"], "é"), network())
