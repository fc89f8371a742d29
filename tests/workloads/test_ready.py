"""Training in two stages: the reference saw the permanent samples alone, and no request reaches them."""

import json
from dataclasses import replace

import pytest
import torch

import expunge
from expunge import weights, workloads
from expunge.errors import ConfigError, DataError
from expunge.workloads import RandomDeletion, Recipe


@pytest.fixture(scope="module")
def ready():
    return workloads.open_ready("digits-mlp", RandomDeletion(0.5), first={"epochs": 2}, second={"epochs": 2})


@pytest.fixture(scope="module")
def trained(ready):
    return ready.starting_from(ready.reference(0).state_dict())


def flat(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def shown(ready, changed):
    """The same workload where these samples show something else."""
    inputs = ready.workload.dataset.inputs.clone()
    inputs[changed] = 16 - inputs[changed]
    other = replace(ready.workload.dataset, inputs=inputs)
    return replace(ready, workload=replace(ready.workload, dataset=other))


def test_the_first_stage_sees_permanent_samples_alone(ready):
    assert torch.equal(flat(shown(ready, ready.revocable).reference(0)), flat(ready.reference(0)))
    assert not torch.equal(flat(shown(ready, ready.permanent).reference(0)), flat(ready.reference(0)))


def test_the_second_stage_sees_revocable_samples_alone(trained):
    stream = trained.stream()
    assert torch.equal(
        flat(shown(trained, trained.permanent).train(stream_of(trained, trained.permanent), 0)),
        flat(trained.train(stream, 0)),
    )
    assert not torch.equal(
        flat(shown(trained, trained.revocable).train(stream_of(trained, trained.revocable), 0)),
        flat(trained.train(stream, 0)),
    )


def stream_of(ready, changed):
    return shown(ready, changed).stream()


def test_a_second_stage_needs_the_first(ready):
    with pytest.raises(ConfigError, match="starting_from"):
        ready.train(ready.stream(), 0)


@pytest.mark.parametrize(("size", "count"), [(1, 1), (50, 50), (0.01, 7), (0.1, 72)])
def test_requests_of_every_size_are_drawn_from_the_revocable_part(ready, size, count):
    found = ready.deletion(RandomDeletion(size)).forget(ready.workload.dataset, 3)
    assert len(found) == count
    assert not torch.isin(found, ready.permanent).any()


def test_a_request_that_names_a_permanent_sample_is_refused(ready):
    one, other = int(ready.permanent[3]), int(ready.revocable[3])
    deletion = ready.deletion(expunge.IndexDeletion([one, other]))
    with pytest.raises(DataError, match=f"1 of 2 .*index {one}"):
        deletion.forget(ready.workload.dataset, 0)


def test_the_second_stage_alone_is_calibrated(trained):
    found = expunge.calibrate(trained.train, trained.workload.dataset, trained.deletion(RandomDeletion(50)), pairs=2)
    away = (flat(trained.train(trained.stream(), 0)) - flat_of(trained.start)).norm().item()
    assert 0.0 < found.proximity.gap < away
    assert found.coupling["train"]["reference_sha256"] == weights.digest(trained.start)


def flat_of(state):
    return torch.cat([value.flatten() for value in state.values()])


def test_a_reference_says_what_it_saw(trained, tmp_path):
    path = tmp_path / "reference.safetensors"
    model = trained.workload.model(0)
    model.load_state_dict(trained.start)
    saved = trained.save_reference(model, path, seed=0)
    assert saved.sha256["weights"] == weights.digest(weights.load(path))
    again = workloads.open_ready("digits-mlp", path)
    assert torch.equal(again.permanent, trained.permanent)
    assert weights.digest(again.start) == saved.sha256["weights"]


@pytest.mark.parametrize("wrong", ["weights", "permanent", "missing", "data"])
def test_a_reference_that_is_not_what_it_says_is_refused(trained, tmp_path, wrong):
    path = tmp_path / "reference.safetensors"
    trained.save_reference(trained.workload.model(0), path, seed=0)
    declared = json.loads(path.with_suffix(".json").read_text())
    if wrong == "weights":
        weights.save(trained.workload.model(1).state_dict(), path)
    elif wrong == "permanent":
        declared["permanent"] = declared["permanent"][1:]
    elif wrong == "data":
        declared["sha256"]["data"] = "0" * 64
    path.with_suffix(".json").write_text(json.dumps(declared))
    if wrong == "missing":
        path.with_suffix(".json").unlink()
    with pytest.raises(DataError, match=r"declares other|saw other|needs"):
        workloads.open_ready("digits-mlp", path)


RECIPE = Recipe(
    workload="w", scale="laptop", dataset="digits", model="digits_mlp", optimizer="sgd", lr=0.1, epochs=2, batch_size=64,
    schedule="linear", average=0.5,
)  # fmt: skip


def test_a_linear_schedule_falls_to_zero_step_by_step():
    assert [RECIPE.rate(0, done) for done in (0.0, 0.25, 0.99)] == pytest.approx([0.1, 0.075, 0.001])


def test_the_model_ends_with_the_mean_of_its_last_weights():
    data = workloads.load("digits")
    model = workloads.build("digits_mlp", seed=0)
    stream = workloads.Stream(data, torch.arange(256))
    workloads.train(model, stream, RECIPE, seed=0)
    plain = workloads.build("digits_mlp", seed=0)
    last = []
    workloads.train(plain, stream, replace(RECIPE, average=0.0), seed=0, on_step=lambda s: last.append(flat(s.model)))
    assert torch.allclose(flat(model), torch.stack(last[4:]).mean(0), atol=1e-6)
    assert not torch.allclose(flat(model), last[-1], atol=1e-6)


def test_an_average_survives_an_interruption(tmp_path):
    stream = workloads.Stream(workloads.load("digits"), torch.arange(256))

    class KilledError(Exception):
        pass

    def kill(step):
        if step.step == 6:
            raise KilledError

    whole = workloads.train(workloads.build("digits_mlp", seed=0), stream, RECIPE, seed=0)
    checkpoint = {"checkpoint": tmp_path / "c", "checkpoint_every": 0.0}
    with pytest.raises(KilledError):
        workloads.train(workloads.build("digits_mlp", seed=0), stream, RECIPE, seed=0, on_step=kill, **checkpoint)
    resumed = workloads.train(workloads.build("digits_mlp", seed=0), stream, RECIPE, seed=0, **checkpoint)
    assert torch.equal(flat(resumed), flat(whole))
