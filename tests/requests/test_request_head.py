"""The bound that needs no pairs: wherever a clean phase begins, it ends within g/λ of the minimiser, or there is no run."""

import pytest
import torch
from convex import flat, minimiser, samples

import expunge
from expunge.accounting import mu
from expunge.errors import CertificationError, ConfigError, DataError
from expunge.requests import Head
from expunge.unlearning import FineTune, train_clean


@pytest.fixture(scope="module")
def head():
    return Head(*samples(), 3, l2=1e-2, gradient=1e-4, length=2.0)


@pytest.mark.parametrize("start", ["zero", "trained", "far away"])
def test_every_clean_phase_ends_within_half_the_gap_of_the_minimiser(head, start):
    model = head.train() if start == "trained" else head.model()
    if start == "far away":
        torch.nn.init.normal_(model.weight, std=30.0, generator=torch.Generator().manual_seed(1))
    train_clean(model, head.retained(range(40)), head.loss, head.clean, seed=0)
    assert (flat(model) - minimiser(head, range(40))).norm() <= head.proximity.gap / 2


def test_the_gap_is_what_the_gradient_norm_gives(head):
    assert head.proximity.gap == pytest.approx(2 * 1e-4 / 1e-2)
    assert head.proximity.gap >= 2 * 1e-4 / 1e-2
    assert head.proximity.failure == 0.0


def test_features_are_scaled_one_by_one():
    features, labels = samples()
    scaled = Head(features, labels, 3, l2=1e-2, gradient=1e-4, length=5.0).features
    assert torch.allclose(scaled.norm(dim=1), torch.tensor(5.0, dtype=torch.float64))
    assert torch.equal(scaled[:7], Head(features[:7], labels[:7], 3, l2=1e-2, gradient=1e-4, length=5.0).features)


def unlearned(head, **changes):
    model = head.train()
    plan = expunge.plan(
        model, blocks=expunge.Whole(), proximity=head.proximity, epsilon=1, delta=1e-5, clip=0.0, step_size=0.0
    )
    settings = {"clean": head.clean, "forget": range(40), "indices": lambda batch: batch[2]} | changes
    return expunge.unlearn(model, head.retained(range(40)), head.loss, plan, **settings)


def test_the_certificate_shows_the_gradient_that_was_measured(head):
    outcome = unlearned(head)
    entry = {finding.name: finding.detail for finding in expunge.verify(outcome.certificate, outcome.model)}
    assert "≤ 0.0001" in entry["noise entry"]
    assert 0.0 < outcome.record.entry_gradient <= 1e-4
    assert outcome.certificate["guarantee"]["unconditional_delta"] == 1e-5


def test_a_gradient_that_was_not_measured_is_no_certificate(head):
    outcome = unlearned(head)
    for value in (2e-4, None):
        edited = {**outcome.certificate, "run": {**outcome.certificate["run"], "entry_gradient": value}}
        with pytest.raises(expunge.ExpungeError):
            expunge.certificate.verify(expunge.Certificate(expunge.certificate.document.sealed(edited)))


def test_a_phase_that_does_not_arrive_is_refused(head):
    short = FineTune(1, "sgd", lr=0.01, until=1e-4)
    with pytest.raises(CertificationError, match="gradient norm"):
        train_clean(head.model(), head.retained(), head.loss, short, seed=0)


@pytest.mark.parametrize("wrong", ["float32", "batches"])
def test_a_gradient_that_decides_nothing_is_refused(head, wrong):
    (batch,) = retained = head.retained()
    model = head.model().float() if wrong == "float32" else head.model()
    batches = [batch, batch] if wrong == "batches" else retained
    with pytest.raises(ConfigError, match=r"float64|one batch"):
        train_clean(model, batches, head.loss, head.clean, seed=0)


def test_only_a_clean_phase_ends_so(head):
    with pytest.raises(ConfigError, match="fine-tune"):
        unlearned(head, fine_tune=FineTune(1, until=1e-4))


def test_other_proximities_do_not_fit_this_clean_phase(head):
    other = Head(head.features, head.labels, 3, l2=1e-2, gradient=2e-4)
    with pytest.raises(expunge.ProximityError, match="entry"):
        unlearned(other, clean=head.clean)


def test_wrong_heads_are_refused():
    features, labels = samples()
    with pytest.raises(ConfigError, match="l2"):
        Head(features, labels, 3, l2=0.0, gradient=1e-4)
    with pytest.raises(DataError, match="features"):
        Head(features[0], labels, 3, l2=1e-2, gradient=1e-4)


def test_fine_tuning_after_the_noise_costs_nothing(head):
    outcome = unlearned(head, fine_tune=FineTune(5))
    assert outcome.certificate.mu == pytest.approx(mu(head.proximity.gap, outcome.record.ledger))
