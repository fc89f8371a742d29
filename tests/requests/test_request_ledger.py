"""Requests one after another: the ledger's ε is never less than what the accountant says of the whole stream."""

import json
import math

import pytest
import torch
from convex import flat, minimiser, samples
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Subset, TensorDataset

import expunge
from expunge import weights
from expunge.accounting import Proximity, gaussian, mu
from expunge.accounting.ledger import read_blocks
from expunge.errors import BudgetError, CertificationError, ConfigError, DataError, ProximityError
from expunge.requests import Head, Ledger, Pipeline
from expunge.unlearning import FineTune

DATA = TensorDataset(*samples())


@pytest.fixture(scope="module")
def head():
    return Head(*samples(), 3, l2=1e-2, gradient=1e-4)


def loss(model, batch):
    return cross_entropy(model(batch[0]), batch[1])


def train(stream, seed):
    torch.manual_seed(seed)
    model = torch.nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for batch in DataLoader(stream, 60, shuffle=True):
        optimizer.zero_grad()
        loss(model, batch).backward()
        optimizer.step()
    return model


def loader(stream, seed=0):
    return DataLoader(stream, 60, shuffle=True)


def retained(ledger, new):
    gone = {*ledger.forgotten, *new}
    return loader(Subset(DATA, [index for index in range(len(DATA)) if index not in gone]))


def claim(request, gap=0.02):
    return Proximity(gap, 1 / 11, "ten coupled pairs", requests=request)


def recomputed(ledger):
    """ε of the whole stream from the ledgers of its runs, by the accountant alone."""
    costs = []
    for number in range(1, len(ledger.requests) + 1):
        document = json.loads((ledger.folder / f"certificate-{number}.json").read_text())
        *_, last = document["hops"]
        costs.append(mu(last["proximity"]["gap"], read_blocks(last["blocks"])))
    return costs


def test_a_chain_of_twenty_requests_is_never_understated(tmp_path):
    model = train(DATA, 0)
    ledger = Ledger.begin(tmp_path, model, epsilon=10, delta=1e-5, most=20)
    for request in range(1, 21):
        ledger.carry_out(
            model, retained(ledger, [request]), loss, forget=[request], proximity=claim(request, 0.01 * request)
        )
        costs = recomputed(ledger)
        assert ledger.spent >= math.fsum(costs) * (1 - 1e-12)
        assert ledger.spent_epsilon >= gaussian.epsilon(math.fsum(costs), 1e-5) * (1 - 1e-12)
    assert ledger.spent_epsilon <= 10
    assert Ledger.load(tmp_path).spent == ledger.spent
    with pytest.raises(BudgetError, match="Retrain"):
        ledger.carry_out(model, retained(ledger, [99]), loss, forget=[99], proximity=claim(21))


def test_twenty_anchored_requests_stand_alone_and_are_what_they_claim(tmp_path, head):
    model = head.train()
    ledger = Ledger.begin(tmp_path, model, epsilon=1, delta=1e-5)
    for request in range(20):
        outcome = head.carry_out(ledger, model, [request, 100 + request], mend=2)
        assert ledger.spent_epsilon >= gaussian.epsilon(recomputed(ledger)[-1], 1e-5) * (1 - 1e-12)
        assert len(outcome.certificate["hops"]) == 1
        entered = noiseless(head, ledger, outcome)
        assert (entered - minimiser(head, ledger.forgotten)).norm() <= head.proximity.gap / 2
    assert Ledger.load(tmp_path).forgotten == [*range(20), *range(100, 120)]
    assert ledger.spent <= ledger.budget
    assert [file.name for file in tmp_path.glob("model-*")] == ["model-20.safetensors"]


def noiseless(head, ledger, outcome):
    """Where the noise entered, had it started from this request's result: the bound holds from anywhere."""
    model = head.model()
    model.load_state_dict(outcome.model.state_dict())
    expunge.unlearning.train_clean(model, head.retained(ledger.forgotten), head.loss, head.clean, seed=0)
    return flat(model)


def test_a_second_request_needs_the_proximity_of_the_whole_pipeline(tmp_path):
    model = train(DATA, 0)
    ledger = Ledger.begin(tmp_path, model, epsilon=10, delta=1e-5, most=2)
    ledger.carry_out(model, retained(ledger, [3]), loss, forget=[3], proximity=claim(1))
    with pytest.raises(ProximityError, match="whole pipeline"):
        ledger.carry_out(model, retained(ledger, [4]), loss, forget=[4], proximity=claim(1))


def test_pairs_after_an_anchoring_clean_phase_do_not_anchor(tmp_path, head):
    model = head.train()
    ledger = Ledger.begin(tmp_path, model, epsilon=1, delta=1e-5, most=2)
    pairs = Proximity(1e-4, 1 / 11, "ten coupled pairs", entry=head.proximity.entry)
    settings = {"clean": head.clean, "indices": lambda batch: batch[2], "proximity": pairs}
    ledger.carry_out(model, head.retained([1]), head.loss, forget=[1], **settings)
    with pytest.raises(ProximityError, match="whole pipeline"):
        ledger.carry_out(model, head.retained([1, 2]), head.loss, forget=[2], **settings)


def test_a_pipeline_is_calibrated_with_coupled_noise(tmp_path):
    model = train(DATA, 0)
    ledger = Ledger.begin(tmp_path, model, epsilon=1, delta=1e-5, most=2)
    deletion = expunge.RandomDeletion(5)
    first = expunge.calibrate(train, DATA, deletion, pairs=3)
    tuning = FineTune(5, lr=0.05)
    outcome = ledger.carry_out(
        model, retained(ledger, [3]), loss, forget=[3], proximity=first.proximity, fine_tune=tuning
    )
    assert outcome.certificate["kind"] == "certificate"
    plan = expunge.plan(model, blocks=expunge.Whole(), proximity=first, epsilon=ledger.share(claim(1)), delta=1e-5,
                        clip=0.0, step_size=0.0)  # fmt: skip
    both = Pipeline(train, loader, loss, (plan,), (tuning,))
    second = expunge.calibrate(both, DATA, deletion, pairs=3, requests=both.requests)
    sigma = plan.blocks[0].steps[0].sigma
    assert second.proximity.requests == 2
    assert 0.0 < second.proximity.gap < sigma  # independent noise would part the runs by σ√(2·21)
    ledger.carry_out(model, retained(ledger, [4]), loss, forget=[4], proximity=second.proximity)
    assert len(ledger.last["hops"]) == 2


def test_what_a_ledger_refuses(tmp_path, head):
    model = head.train()
    ledger = Ledger.begin(tmp_path, model, epsilon=1, delta=1e-5)
    head.carry_out(ledger, model, [7], mend=0)
    with pytest.raises(DataError, match="earlier request"):
        head.carry_out(ledger, model, [7])
    with pytest.raises(DataError, match="nobody"):
        head.carry_out(ledger, model, [])
    with pytest.raises(DataError, match="twice"):
        head.carry_out(ledger, model, [8, 8])
    with pytest.raises(DataError, match="no sample 240"):
        head.carry_out(ledger, model, [240])
    with pytest.raises(DataError, match="no sample -1"):
        head.carry_out(ledger, model, [-1])
    with pytest.raises(ConfigError, match="not the one"):
        head.carry_out(ledger, head.train(), [8])
    with pytest.raises(ConfigError, match="already"):
        Ledger.begin(tmp_path, model, epsilon=1, delta=1e-5)
    with pytest.raises(BudgetError, match="left"):
        head.carry_out(ledger, model, [9], looks=4)
    with pytest.raises(CertificationError, match="simulation"):
        head.carry_out(ledger, model, [9], simulate=1)


@pytest.mark.parametrize("how", ["budget", "names", "weights", "certificate"])
def test_a_ledger_that_was_changed_is_refused(tmp_path, head, how):
    model = head.train()
    head.carry_out(Ledger.begin(tmp_path, model, epsilon=1, delta=1e-5), model, [7], mend=0)
    file = tmp_path / "requests.json"
    document = json.loads(file.read_text())
    if how == "names":
        document["requests"][0]["forget"] = [8]
    elif how == "budget":
        del document["epsilon"]
    elif how == "weights":
        weights.save(head.train().state_dict(), tmp_path / "model-1.safetensors")
    else:
        other = tmp_path / "other"
        twin = head.train()
        head.carry_out(Ledger.begin(other, twin, epsilon=2, delta=1e-5), twin, [7], mend=0)
        (other / "certificate-1.json").rename(tmp_path / "certificate-1.json")
    file.write_text(json.dumps(document))
    with pytest.raises(DataError):
        Ledger.load(tmp_path)
