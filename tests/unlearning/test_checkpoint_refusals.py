"""A checkpoint that is damaged, or of another run, is never resumed from."""

import interruptible
import pytest
import torch
from interruptible import StopError, run, stop_at
from safetensors.torch import save

import expunge
from expunge import ConfigError, DataError, FineTune, Permutation, RandomRotation
from expunge.unlearning.noise import NoiseSource


@pytest.fixture
def stopped(tmp_path):
    """The checkpoint of a run stopped in its noise phase."""
    path = tmp_path / "run.checkpoint"
    with pytest.raises(StopError):
        run("everything", path, progress=stop_at(7, lambda _: None))
    return path


@pytest.mark.parametrize(
    "other",
    [
        {"simulate": 6},
        {"simulate": None},
        {"fine_tune": FineTune(steps=5)},
        {"blocks": Permutation(3)},
        {"plan": {"epsilon": 20.0}},
        {"variant": "Adam"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_the_checkpoint_of_another_run_is_refused(stopped, other):
    options = {"variant": "everything"} | other
    before = stopped.read_bytes()
    with pytest.raises(ConfigError, match="another run"):
        run(options.pop("variant"), stopped, **options)
    assert stopped.read_bytes() == before


def test_the_checkpoint_of_another_accumulation_is_refused(tmp_path):
    path = tmp_path / "run.checkpoint"
    with pytest.raises(StopError):
        run("Adam", path, progress=stop_at(3, lambda _: None))
    with pytest.raises(ConfigError, match="another run"):
        run("Adam", path, accumulate=3)


def test_the_checkpoint_of_other_weights_is_refused(stopped, monkeypatch):
    monkeypatch.setattr(interruptible.rig, "mlp", lambda **k: interruptible.nn.Sequential(*_other(**k)))
    with pytest.raises(ConfigError, match="another run"):
        run("everything", stopped)


def test_the_checkpoint_of_other_blocks_of_the_same_name_is_refused(stopped, monkeypatch):
    """A version that divides the weights otherwise would noise some twice, and some never."""
    monkeypatch.setattr(RandomRotation, "layout", 2)
    with pytest.raises(ConfigError, match="another run"):
        run("everything", stopped)


def test_the_checkpoint_of_another_generator_is_refused(stopped, monkeypatch):
    monkeypatch.setattr(NoiseSource, "description", "another")
    with pytest.raises(ConfigError, match="another run"):
        run("everything", stopped)


def _other(norm, dropout):
    torch.manual_seed(1)
    return [
        torch.nn.Linear(4, 6),
        torch.nn.BatchNorm1d(6),
        torch.nn.ReLU(),
        torch.nn.Dropout(dropout),
        torch.nn.Linear(6, 3),
    ]


@pytest.mark.parametrize("damage", ["empty", "cut short", "noise", "json", "no metadata", "no fingerprint"])
def test_a_damaged_checkpoint_is_refused(stopped, damage):
    content = stopped.read_bytes()
    stopped.write_bytes(
        {
            "empty": b"",
            "cut short": content[:-100],
            "noise": bytes(range(256)) * 40,
            "json": b'{"state": 1}',
            "no metadata": save({"tensor:0": torch.zeros(2)}),
            "no fingerprint": save({"tensor:0": torch.zeros(2)}, metadata={"state": "{}"}),
        }[damage]
    )
    with pytest.raises(DataError, match="no checkpoint"):
        run("everything", stopped)


def test_a_flipped_bit_is_found(stopped):
    """The weights in it have no other guardian: half the file is tensors."""
    content = bytearray(stopped.read_bytes())
    for place in range(len(content) - 1, len(content) // 2, -max(1, len(content) // 40)):
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        stopped.write_bytes(bytes(damaged))
        with pytest.raises(expunge.ExpungeError):
            run("everything", stopped, progress=stop_at(1, lambda _: None))


def test_a_folder_that_does_not_exist_is_refused_before_anything_runs(tmp_path):
    def never(*_):
        raise AssertionError("a step was taken")

    with pytest.raises(expunge.ExpungeError, match="nowhere"):
        run("everything", tmp_path / "nowhere" / "run", progress=never)
