"""`expunge calibrate`."""

import json
from itertools import pairwise

import pytest
import torch

import expunge as package
from expunge.cli import loading

pytest.importorskip("sklearn")
QUICK = ("calibrate", "--workload", "digits-mlp", "--epochs", "1", "--pairs", "2")
OWN = """
import torch
from torch import nn

class Points:
    groups = ["ann", "bob"] * 10
    def __len__(self):
        return 20
    def __getitem__(self, index):
        chance = torch.Generator().manual_seed(index)
        return torch.randn(3, generator=chance), torch.tensor(index % 2)

def points():
    return Points()

def batches(stream, seed=0):
    return [tuple(torch.stack(part) for part in zip(*(stream[i] for i in range(len(stream)))))]

def loss(model, batch):
    return nn.functional.cross_entropy(model(batch[0]), batch[1]) + 0.1 * sum(p.square().sum() for p in model.parameters())

def train(stream, seed):
    torch.manual_seed(seed)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        optimizer.zero_grad()
        loss(model, batches(stream)[0]).backward()
        optimizer.step()
        yield step, model, {"test_accuracy": 0.5}

def last(dataset, seed):
    return [seed % 20]

def diverges(stream, seed):
    model = nn.Linear(3, 2)
    if list(stream.index_map) != list(range(20)):
        nn.init.constant_(model.weight, float("nan"))
    return model

def broken(stream, seed):
    return 1 / stream.nothing

def number():
    return 3
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The user's module in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_calibration.py").write_text(OWN)
    yield "own_calibration"
    import sys

    sys.modules.pop("own_calibration", None)


def calibrated(expunge, *words):
    code, out, err = expunge("calibrate", *words, "--json")
    assert code == 0, err
    return json.loads(out)


def test_a_workload_gives_a_proximity_file_that_plans_take(expunge, tmp_path):
    output = tmp_path / "proximity.json"
    code, out, err = expunge(*QUICK, "--output", output, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads(output.read_text())
    found = loading.proximity(str(output))
    assert found.gap == max(json.loads(out)["gaps"]) > 0
    assert found.failure == 1 / 3
    options = {"epsilon": 10, "delta": 1e-5, "clip": 1, "step-size": 0.01, "weight-decay": 1, "parameters": 26122}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    code, out, err = expunge("plan", "--proximity", output, *words, "--json")
    assert code == 0, err
    assert json.loads(out)["proximity"] == found.gap


def test_people_get_the_trajectory_the_claim_and_a_picture(expunge, tmp_path):
    pytest.importorskip("matplotlib")
    words = (
        "--every",
        "10",
        "--plot",
        tmp_path / "t.svg",
        "--output",
        tmp_path / "p.json",
        "--design",
        "LayerCycle",
        "--blocks",
        "3",
    )
    code, out, err = expunge(*QUICK, *words)
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["step", "largest", "gap", "test", "accuracy,", "all", "data", "retained"]
    assert [line.split()[0] for line in out.splitlines()[1:4]] == ["10", "20", "23"]
    assert "So many pairs support no failure probability below 0.3333" in out
    assert "exchangeable" in out
    assert (tmp_path / "t.svg").read_text().lstrip().startswith("<?xml")
    document = json.loads((tmp_path / "p.json").read_text())
    assert [len(pair["gap"]["per_block"]) for pair in document["pairs"]] == [3, 3]


def test_own_training_and_data(expunge, own):
    found = calibrated(expunge, "--train", f"{own}:train", "--dataset", f"{own}:points", "--pairs", 3)
    assert found["coupling"]["train"] == f"{own}:train"
    assert [point["step"] for point in found["pairs"][0]["trajectory"]] == [0, 1, 2, 3, 4]
    module = __import__(own)
    assert found["gaps"] == package.calibrate(module.train, module.points(), package.RandomDeletion(0.1), pairs=3).gaps


@pytest.mark.parametrize(
    ("deletion", "removed", "described"),
    [
        ("random:0.25", 5, {"kind": "random", "fraction": 0.25}),
        ("group:ann", 10, {"kind": "group", "group": "ann"}),
        ("file:list.txt", 2, None),
        ("own_calibration:last", 1, {"kind": "own", "function": "own_calibration:last"}),
    ],
)
def test_every_deletion_setting(expunge, own, tmp_path, deletion, removed, described):
    (tmp_path / "list.txt").write_text("3, 4")
    words = ("--train", f"{own}:train", "--dataset", f"{own}:points", "--pairs", 2, "--deletion", deletion)
    coupling = calibrated(expunge, *words)["coupling"]
    assert coupling["removed"] == [removed] * 2
    assert described is None or coupling["deletion"] == described


def test_a_class(expunge, tmp_path):
    output = ("--output", tmp_path / "p.json")
    coupling = calibrated(expunge, *QUICK[1:], "--deletion", "class:3", *output)["coupling"]
    assert coupling["deletion"] == {"kind": "class", "label": 3}
    assert coupling["seeds"] == [0, 1]


@pytest.mark.parametrize("whiten", [0, 40])
def test_after_a_clean_phase_of_lbfgs_the_file_names_the_entry_that_unlearn_has(expunge, own, whiten):
    own_code = ("--train", f"{own}:train", "--dataset", f"{own}:points", "--pairs", 2)
    clean = ("--clean-steps", 15, "--clean-optimizer", "lbfgs", "--clean-lr", 1.0, "--clean-whiten", whiten)
    found = calibrated(expunge, *own_code, *clean, "--clean-loader", f"{own}:batches", "--clean-loss", f"{own}:loss")
    assert all(pair["gap"]["total"] < 0.5 * pair["gap_as_trained"]["total"] for pair in found["pairs"])
    assert found["proximity"]["entry"] == package.api.entry_of(loading.clean_phase(15, "lbfgs", 1.0, whiten))


def test_the_line_search_of_lbfgs_searches():
    """From a point near the minimum a plain first step of a steep loss overshoots: a search must shorten it."""
    weight = torch.nn.Parameter(torch.tensor([1e-3, 1e-3]))
    optimizer = loading.clean_phase(1, "lbfgs", 1.0).make_optimizer([weight])

    def closure():
        optimizer.zero_grad()
        loss = 2000 * weight[0].square() + weight[1].square()
        loss.backward()
        return loss

    losses = [optimizer.step(closure) for _ in range(6)]
    assert all(after < before for before, after in pairwise(losses))
    assert losses[-1] < 0.01 * losses[0]


def test_a_folder_keeps_finished_pairs(expunge, own, tmp_path):
    words = ("--train", f"{own}:train", "--dataset", f"{own}:points", "--folder", tmp_path / "kept")
    first = calibrated(expunge, *words, "--pairs", 2)
    assert calibrated(expunge, *words, "--pairs", 3)["pairs"][:2] == first["pairs"]


def test_pairs_that_diverged_are_no_proximity(refused, own):
    words = ("--train", f"{own}:diverges", "--dataset", f"{own}:points", "--pairs", "2")
    assert "all 2 pairs failed" in refused("calibrate", *words, code=1)


WRONG = [
    (("--pairs", "2"), "give either --workload, or both --train and --dataset"),
    (("--workload", "digits-mlp", "--train", "a:b", "--dataset", "a:c"), "give either"),
    (("--train", "own_calibration:train"), "both --train and --dataset"),
    ((*QUICK[1:], "--plot", "t.png"), "say with --every"),
    (("--train", "own_calibration:train", "--dataset", "own_calibration:points", "--every", "3"), "yields"),
    (
        ("--train", "own_calibration:train", "--dataset", "own_calibration:points", "--clean-steps", "3"),
        "--clean-loader",
    ),
    (("--train", "own_calibration:train", "--dataset", "own_calibration:number"), "a length and items; got int"),
    (("--train", "own_calibration:nothing", "--dataset", "own_calibration:points"), "has no 'nothing'"),
    (("--workload", "mnist-mlp", "--data-dir", "/nowhere"), "no train-images-idx3-ubyte.gz"),
    ((*QUICK[1:], "--deletion", "random:2.5"), "fraction must be"),
    ((*QUICK[1:], "--deletion", "random:ten"), "--deletion random:ten"),
    ((*QUICK[1:], "--deletion", "class:10"), "label 10 is no sample"),
    ((*QUICK[1:], "--deletion", "group:ann"), "needs `groups`"),
    ((*QUICK[1:], "--deletion", "half"), "--deletion must be random:…"),
    ((*QUICK[1:], "--deletion", "file:/nowhere/list"), "cannot read /nowhere/list"),
    ((*QUICK[1:], "--deletion", "own_calibration:nobody"), "has no 'nobody'"),
    ((*QUICK[1:], "--every", "0"), "every must be a whole number"),
    ((*QUICK[1:], "--failure", "2"), "failure must be"),
    ((*QUICK[1:], "--output", "/nowhere/p.json"), "there is no folder /nowhere"),
    ((*QUICK[1:], "--ray", "auto"), "Ray needs folder"),
    ((*QUICK[1:], "--device", "abacus"), "device 'abacus' is not there"),
]


@pytest.mark.parametrize(("words", "told"), WRONG, ids=lambda value: value if isinstance(value, str) else None)
def test_wrong_use_is_one_line(refused, own, words, told):
    assert told in refused("calibrate", *words)


@pytest.mark.parametrize(("text", "told"), [("1438", "out of range"), ("3 3", "twice"), ("", "at least one")])
def test_forget_lists_are_checked(refused, tmp_path, monkeypatch, text, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list").write_text(text)
    assert told in refused(*QUICK, "--deletion", "file:list")


def test_a_retain_set_that_is_empty(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list").write_text(" ".join(map(str, range(1438))))
    assert "removes all 1438 samples" in refused(*QUICK, "--deletion", "file:list")


def test_a_mistake_in_own_code_is_shown_with_its_place(expunge, own):
    code, out, err = expunge("calibrate", "--train", f"{own}:broken", "--dataset", f"{own}:points")
    assert (code, out) == (2, "")
    assert "own_calibration.py" in err
    assert "no attribute 'nothing'" in err.splitlines()[-1]
