"""What holds for every method of the registry."""

import copy
import json
import time

import pytest
import torch
from classifiers import QUICK, make

import expunge
from expunge import weights
from expunge.errors import CertificationError, DataError
from expunge.methods import METHODS, Certified

NAMES = list(METHODS)
CERTIFIED = [name for name in NAMES if issubclass(METHODS[name], Certified)]
LOOKS_AT_FORGOTTEN = {"gradient_ascent", "influence", "salun", "amun"}


def test_the_registry_has_the_methods_it_promises():
    assert set(NAMES) == set(QUICK)
    kinds = {name: METHODS[name].kind for name in NAMES}
    assert [name for name, kind in kinds.items() if kind == "certified"] == CERTIFIED
    assert {name for name, kind in kinds.items() if kind == "exact"} == {"retrain", "from_public"}


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_did(digits, name):
    task = digits.task()
    before = weights.digest(task.model.state_dict())
    random = torch.get_rng_state()
    done = make(name)(task)
    assert (done.method, done.kind) == (name, METHODS[name].kind)
    assert (done.certificate is not None) == (done.kind == "certified")
    assert done.steps > 0
    assert done.samples > 0
    assert 0.0 < done.seconds < 60.0
    assert json.loads(json.dumps(done.details))["settings"] == make(name).describe()
    assert weights.digest(done.model.state_dict()) != before
    assert (done.model is task.model) == (done.kind != "exact")
    if done.kind == "exact":  # the trained model plays no part
        assert weights.digest(task.model.state_dict()) == before
    else:
        assert not done.model.training  # as it was given
    assert all(parameter.grad is None for parameter in done.model.parameters())
    assert torch.equal(torch.get_rng_state(), random)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_model(digits, name):
    def run(seed):
        changes = {"simulate": seed} if name in CERTIFIED else {}
        return weights.digest(make(name, **changes)(digits.task(seed=seed)).model.state_dict())

    assert run(1) == run(1)
    if name not in ("gradient_ascent", "influence"):  # one pass over three batches, whose order hardly matters
        assert run(1) != run(2)


@pytest.mark.parametrize("name", NAMES)
def test_only_some_look_at_the_forgotten_data(digits, name):
    class Watched(list):
        seen = False

        def __iter__(self):
            self.seen = True
            return super().__iter__()

    forget = Watched(digits.task().forget)
    make(name)(digits.task(forget=forget))
    assert forget.seen == (name in LOOKS_AT_FORGOTTEN)


@pytest.mark.parametrize("name", ["fine_tune", "output_perturbation", "from_public"])
def test_looking_is_told_of_every_step_and_is_not_the_methods_time(digits, name):
    seen = []

    def look(progress, model):
        seen.append((progress.step, progress.loss, model))
        time.sleep(0.02)

    done = make(name)(digits.task(on_step=look))
    assert len(seen) == done.steps
    assert all(model is done.model for _, _, model in seen)
    assert seen[-1][1] is not None
    quiet = make(name)(digits.task())
    assert done.seconds < quiet.seconds + 0.02 * len(seen) / 2


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_certificate_is_of_the_model_that_is_given_back(digits, name):
    done = make(name)(digits.task())
    assert done.certificate["kind"] == "certificate"
    assert done.certificate["guarantee"]["epsilon"]["gaussian"] <= 10.0
    expunge.verify(done.certificate, done.model)
    other = copy.deepcopy(done.model)
    with torch.no_grad():
        next(other.parameters()).add_(1e-3)
    with pytest.raises(CertificationError):
        expunge.verify(done.certificate, other)


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_simulation_certifies_nothing_and_forgotten_samples_are_refused(digits, name):
    done = make(name, simulate=0)(digits.task())
    with pytest.raises(CertificationError):
        expunge.verify(done.certificate, done.model)
    everything = digits.batches(torch.arange(len(digits.labels)))
    with pytest.raises(DataError, match="forget set"):
        make(name)(digits.task(retain=everything))


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_certified_model_is_of_use_again_and_has_forgotten(digits, name):
    ua, ra = digits.ua_ra(make(name, simulate=0)(digits.task()).model)
    assert ua == 1.0
    assert ra > 0.9


def test_output_perturbation_keeps_its_promise_for_any_keep(digits):
    """Scaling weights and noise alike is free: σ shrinks with what is kept, and μ stays."""
    done = {keep: make("output_perturbation", keep=keep, simulate=0)(digits.task()) for keep in (1.0, 0.1)}
    sigmas = {keep: run.details["noise"][0]["sigma"][0] for keep, run in done.items()}
    assert sigmas[0.1] == pytest.approx(0.1 * sigmas[1.0], rel=1e-9)
    assert done[0.1].certificate.mu == pytest.approx(done[1.0].certificate.mu, rel=1e-12)
