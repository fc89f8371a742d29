"""Reset blocks on a model: what is not kept is the reference's, what is kept is noised, and no reference saw the data."""

import copy
import functools
import json
import math
from dataclasses import replace

import pytest
import rig
import torch

import expunge
from expunge import Core, Factor, FineTune, Head, Proximity, Reference
from expunge.certificate.document import Certificate, sealed
from expunge.errors import ConfigError, CoverageError, ProximityError
from expunge.unlearning import find_bases

RUN = FineTune(6, lr=0.1)
STILL = {"clip": 0.0, "step_size": 0.0, "weight_decay": 0.0, "steps": 1}


def fresh():
    return rig.mlp(seed=0)


@functools.cache
def _trained(steps):
    model = fresh()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(steps):
        for batch in rig.batches():
            optimizer.zero_grad()
            rig.cross_entropy(model, batch).backward()
            optimizer.step()
    return model.requires_grad_(True)


def trained(steps=30):
    """As if on all data: from the same initialisation."""
    return copy.deepcopy(_trained(steps))


REFERENCE = Reference(fresh)
SPACES = [
    Core(2, reference=REFERENCE, bases=RUN),
    Core(2, "keep", reference=REFERENCE, bases=RUN, k=2, rest="run"),
    Factor(1, "left", reference=REFERENCE, bases=RUN),
    Head("2", reference=REFERENCE),
]
EVERY = pytest.mark.parametrize("space", SPACES, ids=lambda space: f"{type(space).__name__}-{space.rest}")


def reset(model, space, *, schedule=STILL, **options):
    made = rig.plan(model, space, **schedule)
    return rig.unlearn(model, made, design=space, **options)


def differences(first, second):
    return [a.detach() - b.detach() for a, b in zip(first.parameters(), second.parameters(), strict=True)]


def outside(partition, differences):
    """The part of a difference that lies in no block."""
    left = [difference.clone() for difference in differences]
    for index, tensor in enumerate(left):
        for piece in partition.pieces_of(index, tensor):
            piece.add_(tensor, -piece.project(tensor))
    return math.sqrt(sum(float(tensor.double().square().sum()) for tensor in left))


def blocks_of(space):
    """The blocks that a simulated run with seed 3 has."""
    return find_bases(trained(), rig.batches(), rig.cross_entropy, space, seed=3)


@EVERY
@pytest.mark.parametrize("schedule", [STILL, {"steps": 3}], ids=["still", "noisy steps"])
def test_what_is_not_kept_is_the_references(space, schedule):
    model = trained()
    outcome = reset(model, space, schedule=schedule, simulate=3)
    reference, partition = Reference(fresh).parameters, blocks_of(space)
    if space.rest == "reference":
        moved = [parameter.detach() - reference[name] for name, parameter in model.named_parameters()]
        assert outside(partition, moved) < 1e-5
        assert outside(partition, differences(model, trained())) > 0.1
    assert outcome.record.reset["error"] < 1e-6
    assert outcome.record.reset["dimension"] == sum(p.numel() for p in model.parameters()) - sum(partition.dimensions)
    assert outcome.record.decomposition_error < 1e-6


def test_tensors_that_keep_nothing_are_the_references_bit_for_bit():
    model = trained()
    reset(model, SPACES[3])
    for name in ("0.weight", "0.bias"):
        assert torch.equal(model.get_parameter(name), REFERENCE.parameters[name])


def test_the_kept_part_is_the_models_and_the_rest_may_be_where_the_run_ended():
    space = replace(SPACES[1], k=1)
    model = trained()
    reset(model, space, schedule={**STILL, "proximity": 1e-5}, simulate=3)  # hardly any noise
    partition, start = blocks_of(space), [parameter.detach() for parameter in trained().parameters()]
    assert outside(partition, [now.detach() - was for now, was in zip(model.parameters(), start, strict=True)]) > 0.1
    for index, (now, was) in enumerate(zip(model.parameters(), start, strict=True)):
        for piece in partition.pieces_of(index, was):
            assert torch.allclose(piece.project(now.detach()), piece.project(was), atol=1e-4)


def wide():
    return torch.nn.Sequential(torch.nn.Linear(60, 50), torch.nn.ReLU(), torch.nn.Linear(50, 3))


def test_noise_in_the_core_has_its_variance():
    torch.manual_seed(0)
    start, loader = wide(), rig.batches(features=60)
    space = Core(20, reference=Reference(wide, seed=1), bases=FineTune(2))
    partition = find_bases(start, loader, rig.cross_entropy, space, seed=0)
    sigma, noise = rig.plan(start, space, **STILL).blocks[0].steps[0].sigma, []
    for seed in range(20):
        model = copy.deepcopy(start)
        reset(model, space, simulate=seed, loader=loader)
        for index, moved in enumerate(differences(model, start)):
            noise += [piece.project(moved) / sigma for piece in partition.pieces_of(index, moved)]
    found = torch.cat(noise).double()
    assert len(found) == 20 * (400 + 9)
    assert found.mean().item() == pytest.approx(0.0, abs=5 / math.sqrt(len(found)))
    assert found.square().mean().item() == pytest.approx(1.0, abs=5 * math.sqrt(2 / len(found)))


@EVERY
def test_a_certificate_of_reset_blocks_verifies_and_says_what_it_rests_on(space):
    model = trained()
    outcome = reset(model, space, fine_tune=FineTune(3), clean=None)
    findings = {finding.name: finding.detail for finding in expunge.verify(outcome.certificate, model)}
    assert "declared never to have seen the removed data" in findings["reference"]
    assert space.reference.describe()["sha256"] in findings["reference"]
    assert outcome.certificate["run"]["subspace"]["bases"] == (space.bases and space.bases.describe())
    assert "bases" in outcome.record.seconds
    assert outcome.record.batches == (6 if space.bases else 0) + 3


def test_a_clean_phase_and_gradient_steps_go_with_reset_blocks():
    clean, model = FineTune(2, lr=0.05), trained()
    proximity = Proximity(0.05, 0.1, "pairs", entry=expunge.api.entry_of(clean))
    outcome = reset(model, SPACES[0], schedule={"proximity": proximity, "steps": 2}, clean=clean)
    expunge.verify(outcome.certificate, model)


def measured_in(space, gap=0.05, **changes):
    return Proximity(gap, 0.1, "pairs", design=json.dumps(space.describe(), sort_keys=True), **changes)


def test_a_proximity_of_another_construction_is_refused():
    model, (one, other, *_) = trained(), SPACES
    made = rig.plan(model, one, proximity=measured_in(one), **STILL)
    with pytest.raises(ProximityError, match="another design"):
        rig.plan(model, other, proximity=measured_in(one), **STILL)
    with pytest.raises(ProximityError, match="another design"):
        rig.plan(model, replace(one, bases=FineTune(7)), proximity=measured_in(one), **STILL)
    with pytest.raises(ConfigError, match="the plan was made with"):
        rig.unlearn(model, made, design=replace(one, reference=Reference(fresh, seed=1)))
    with pytest.raises(ConfigError, match="design="):
        rig.unlearn(model, made)
    expunge.verify(rig.unlearn(model, made, design=one).certificate, model)


TRAINED = trained()


@pytest.mark.parametrize(
    "make",
    [
        lambda model: Reference(lambda: copy.deepcopy(model)),
        lambda model: Reference(lambda: copy.deepcopy(TRAINED)),
        lambda model: Reference(lambda _=model: fresh()),
    ],
    ids=["closure", "global", "default"],
)
def test_a_factory_that_holds_weights_is_refused(make):
    with pytest.raises(CoverageError, match="holds tensors"):
        reset(TRAINED, replace(SPACES[0], reference=make(TRAINED)))


@pytest.mark.parametrize(
    "change", [lambda v: v, lambda v: v * (1 + 1e-4), lambda v: v.half().float()], ids=["same", "near", "half"]
)
def test_weights_from_a_file_that_are_the_models_are_refused(tmp_path, change):
    model, path = trained(), tmp_path / "public.safetensors"
    sha256 = expunge.weights.save({name: change(value) for name, value in model.state_dict().items()}, path)
    for reference in (
        Reference(file=path, sha256=sha256, origin="somewhere"),
        Reference(functools.partial(from_file, path)),
    ):
        with pytest.raises(CoverageError, match=r"number for number|was made from them"):
            reset(trained(), replace(SPACES[0], reference=reference))


def from_file(path):
    model = fresh()
    model.load_state_dict(expunge.weights.load(path))
    return model


def test_one_tensor_of_the_models_is_one_too_many(tmp_path):
    path = tmp_path / "public.safetensors"
    state = {**fresh().state_dict(), "2.weight": trained().state_dict()["2.weight"]}
    sha256 = expunge.weights.save(state, path)
    with pytest.raises(CoverageError, match=r"'2\.weight' is the trained model's"):
        reset(trained(), replace(SPACES[0], reference=Reference(file=path, sha256=sha256, origin="somewhere")))


def test_another_architecture_is_no_reference():
    with pytest.raises(ConfigError, match="same architecture"):
        reset(trained(), replace(SPACES[0], reference=Reference(lambda: torch.nn.Linear(4, 6))))


def test_the_run_of_the_bases_has_one_batch_a_step_and_full_precision():
    for options in ({"accumulate": 2}, {"autocast": torch.bfloat16}):
        with pytest.raises(ConfigError, match="one batch a step"):
            reset(trained(), SPACES[0], **options)


def test_the_bases_never_see_the_trained_weights():
    """Two models that differ in all but what is kept end alike, noise and all."""
    ends = []
    for steps in (5, 30):
        model = trained(steps)
        space = replace(SPACES[0], bases=FineTune(6, lr=0.1))
        reset(model, space, simulate=3)
        ends.append(model)
    partition = blocks_of(SPACES[0])
    apart = [a.detach() - b.detach() for a, b in zip(*(model.parameters() for model in ends), strict=True)]
    assert outside(partition, apart) < 1e-5


def forged(document, **changes):
    """The document with these measurements of the reset, under a fingerprint that fits."""
    run = {**document["run"], "reset": changes.get("reset", {**document["run"]["reset"], **changes})}
    return Certificate(sealed({**document, "run": run}))


@pytest.mark.parametrize(
    "changes",
    [
        {"reset": None},
        {"dimension": 0},
        {"error": 2e-5},
        {"error": float("inf")},
        {"nearness": 501.0},
        {"nearness": -1.0},
    ],
    ids=str,
)
def test_a_certificate_whose_reset_was_not_as_it_must_be_is_refused(changes):
    document = reset(trained(), SPACES[0]).certificate
    expunge.verify(Certificate(dict(document)), None)
    with pytest.raises(expunge.ExpungeError):
        expunge.verify(forged(document, **changes), None)


def test_the_reference_can_be_verified_by_whoever_has_it():
    model = trained()
    certificate = reset(model, SPACES[0]).certificate
    for reference in (fresh(), dict(fresh().named_parameters())):
        found = expunge.verify(certificate, model, reference=reference)
        assert "reference weights" in [finding.name for finding in found]
    for other in (trained(), rig.mlp(seed=1)):
        with pytest.raises(expunge.CertificationError, match="not the reference of the run"):
            expunge.verify(certificate, model, reference=other)
    with pytest.raises(ConfigError, match="reference must be"):
        expunge.verify(certificate, model, reference=3)
    plain = rig.unlearn(rig.mlp())
    with pytest.raises(ConfigError, match="without reset blocks"):
        expunge.verify(plain.certificate, plain.model, reference=fresh())
