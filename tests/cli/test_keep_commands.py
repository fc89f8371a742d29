"""Reset blocks on the command line: one set of options for calibrate and unlearn, which must agree."""

import json
import sys
from pathlib import Path

import pytest
import torch

from expunge import weights

MODULE = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

chance = torch.Generator().manual_seed(0)
inputs = torch.randn(40, 3, generator=chance)
data = TensorDataset(inputs, (inputs[:, 0] > 0).long())

def dataset():
    return data

def make():
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))

def train(stream, seed):
    torch.manual_seed(seed)
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for batch in DataLoader(stream, 10, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch[0]), batch[1]).backward()
        optimizer.step()
    return model

def loader(stream, seed=0):
    return DataLoader(stream, 10, shuffle=True)

def retained():
    return DataLoader(Subset(data, range(4, 40)), 10, shuffle=True)
"""
CORE = ("--design", "Core", "--rank", 1, "--bases-steps", 3, "--reference", "kept:make", "--blocks", 2)
TARGET = ("--epsilon", 10, "--delta", "1e-5", "--clip", 0, "--step-size", 0, "--quiet")


@pytest.fixture
def kept(tmp_path, monkeypatch):
    (tmp_path / "kept.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "kept", raising=False)
    import kept

    weights.save(kept.train(kept.data, 0).state_dict(), "trained.safetensors")
    (tmp_path / "forget.txt").write_text("0 1 2 3")
    return kept


def calibrate(*more):
    training = ("--train", "kept:train", "--dataset", "kept:dataset", "--clean-loader", "kept:loader", "--pairs", 3)
    return ("calibrate", *training, *more, "--quiet")


def unlearn(*more, proximity="proximity.json"):
    model = ("--model", "kept:make", "--weights", "trained.safetensors", "--data", "kept:retained")
    return ("unlearn", *model, "--forget", "forget.txt", "--proximity", proximity, *TARGET, *more)


def test_from_calibration_to_a_certificate_that_verifies(expunge, kept):
    assert expunge(*calibrate(*CORE))[0] == 0
    stated = json.loads(Path("proximity.json").read_text())
    assert json.loads(stated["proximity"]["design"])["rank"] == 1
    assert len(stated["pairs"][0]["gap"]["per_block"]) == 2
    code, _, err = expunge(*unlearn(*CORE))
    assert (code, err) == (0, "")
    code, out, _ = expunge("verify", "certificate.json", "--weights", "unlearned.safetensors")
    assert code == 0
    assert "kept:make under seed 0" in out
    assert not torch.equal(weights.load("unlearned.safetensors")["0.weight"], kept.make()[0].weight)


@pytest.mark.parametrize(
    "other", [("--rank", 2), ("--rest", "run"), ("--reference-seed", 1), ("--bases-lr", 0.1), ("--vectors", "keep")]
)
def test_other_options_than_the_calibrated_ones_are_refused(expunge, refused, kept, other):
    assert expunge(*calibrate(*CORE))[0] == 0
    words = dict(zip(CORE[::2], CORE[1::2], strict=True)) | dict([other])
    assert "another design" in refused(*unlearn(*(word for pair in words.items() for word in pair)), code=1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--design", "Core", "--bases-steps", 3), "--reference"),
        (("--design", "Core", "--reference", "kept:make"), "bases="),
        (("--design", "Head", "--reference", "kept:make"), "--head"),
        (("--design", "Head", "--reference", "kept:make", "--head", "9"), "'9'"),
        (("--design", "Factor", "--reference-file", "x.pt"), "SHA-256"),
    ],
)
def test_wrong_use_is_one_line(refused, kept, words, told):
    assert told in refused(*unlearn(*words, proximity="0.1"))


def test_a_keep_space_needs_the_later_runs_loader(refused, kept):
    words = [word for word in calibrate(*CORE) if word not in ("--clean-loader", "kept:loader")]
    assert "--clean-loader" in refused(*words)
