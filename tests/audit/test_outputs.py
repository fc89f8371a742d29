import numpy as np
import pytest
import torch
from overfit import batches, made_up, network, parts
from torch import nn

from expunge import audit, weights
from expunge.audit.outputs import same_samples
from expunge.errors import ConfigError, DataError


def test_collected_logits_are_the_models_own():
    model = network(1).train()
    found = audit.collect(model, batches())
    for name, part in found.parts():
        x, y = parts()[name]
        with torch.no_grad():
            assert np.allclose(part.logits, model(x).numpy(), atol=1e-6)
        assert np.array_equal(part.labels, y.numpy())
    assert found.weights_sha256 == weights.digest(model.state_dict())


def test_every_module_keeps_its_mode_and_dropout_is_off():
    model = nn.Sequential(nn.Dropout(0.9), network(1)).train()
    model[1].eval()
    first, second = audit.collect(model, batches()), audit.collect(model, batches())
    assert np.array_equal(first.test.logits, second.test.logits)
    assert [module.training for module in model] == [True, False]


def test_what_is_saved_comes_back(tmp_path):
    before = audit.collect(network(1), batches())
    before.save(tmp_path / "o.safetensors")
    after = audit.load(tmp_path / "o.safetensors")
    for (_, one), (_, other) in zip(before.parts(), after.parts(), strict=True):
        assert np.array_equal(one.logits, other.logits)
        assert np.array_equal(one.labels, other.labels)
    assert after.weights_sha256 == before.weights_sha256
    assert audit.is_outputs(tmp_path / "o.safetensors")


def test_weights_are_no_outputs(tmp_path):
    weights.save(network(1).state_dict(), tmp_path / "w.safetensors")
    assert not audit.is_outputs(tmp_path / "w.safetensors")
    with pytest.raises(DataError, match="holds no outputs"):
        audit.load(tmp_path / "w.safetensors")
    (tmp_path / "noise").write_bytes(b"noise" * 10)
    assert not audit.is_outputs(tmp_path / "noise")
    with pytest.raises(DataError, match="no safetensors"):
        audit.load(tmp_path / "noise")
    with pytest.raises(DataError, match="cannot read"):
        audit.load(tmp_path / "nowhere")


def test_unseen_samples_are_of_the_forgotten_classes():
    found = made_up()
    only = found.forget.labels == 2
    gone = audit.Outputs(found.forget[only], found.retain[found.retain.labels != 2], found.test)
    assert set(gone.unseen().labels) == {2}
    assert gone.forgotten_classes == (2,)
    assert found.forgotten_classes == ()
    with pytest.raises(DataError, match="no test sample"):
        audit.Outputs(found.forget[only], found.retain, found.test[found.test.labels != 2]).unseen()


@pytest.mark.parametrize(
    ("logits", "labels", "told"),
    [
        (np.zeros((3, 1)), [0, 0, 0], "two classes or more"),
        (np.zeros(3), [0, 0, 0], "one row of logits"),
        (np.zeros((3, 4)), [0, 0], "one label"),
        (np.zeros((0, 4)), np.zeros(0, int), "one sample or more"),
        (np.full((3, 4), np.nan), [0, 1, 2], "NaN"),
        (np.zeros((3, 4)), [0, 1, 4], "0 … 3"),
        (np.zeros((3, 4)), [0, 1, -1], "0 … 3"),
        (np.zeros((3, 4)), [0.0, 1.0, 2.0], "whole numbers"),
        (np.zeros((3, 5)), [0, 1, 2], "same classes"),
    ],
)
def test_a_part_that_makes_no_sense_is_refused(logits, labels, told):
    good = made_up()
    with pytest.raises(DataError, match=told):
        audit.Outputs(audit.Part(logits, labels), good.retain, good.test)


def test_models_asked_about_other_samples_are_not_compared():
    first, second = made_up(), made_up(sizes=(60, 200, 151))
    with pytest.raises(DataError, match="its test part"):
        same_samples(first, second, "the retrained model")
    shuffled = audit.Outputs(first.forget[::-1], first.retain, first.test)
    with pytest.raises(DataError, match="its forget part"):
        audit.measure(first, reference=shuffled)


def test_a_model_without_a_classifier_head_is_refused():
    flat = nn.Sequential(network(1), nn.Flatten(0))
    with pytest.raises(ConfigError, match="classifier"):
        audit.collect(flat, batches())
    with pytest.raises(ConfigError, match="all three"):
        audit.collect(network(1), {"forget": [], "test": []})
    with pytest.raises(DataError, match="no batches of forget"):
        audit.collect(network(1), {**batches(), "forget": []})
    with pytest.raises(DataError, match="two tensors"):
        audit.collect(network(1), {**batches(), "forget": [torch.zeros(3, 12)]})
    with pytest.raises(DataError, match="two classes or more"):
        audit.collect(nn.Linear(12, 1), batches())
