"""`expunge audit`: on a workload, on one's own model, on saved outputs, beside a certificate, and on repeated runs."""

import json
import sys

import numpy as np
import pytest
import torch

import expunge as house
from expunge import Whole, audit, weights

pytest.importorskip("sklearn")

OURS = """
import torch
from torch import nn

def model():
    return nn.Linear(4, 3)

def data():
    def part(seed, size):
        random = torch.Generator().manual_seed(seed)
        return [(torch.randn(size, 4, generator=random), torch.arange(size) % 3)]
    return {"forget": part(0, 30), "retain": part(1, 60), "test": part(2, 60)}

def list_of_parts():
    return []

def broken():
    raise ValueError("no data today")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A user's own module, weights of three models, and the certificate of a (simulated) run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ours.py").write_text(OURS)
    monkeypatch.delitem(sys.modules, "ours", raising=False)
    for seed in range(3):
        torch.manual_seed(seed)
        model = torch.nn.Linear(4, 3)
        if seed == 0:
            plan = house.plan(
                model, blocks=Whole(), proximity=0.1, epsilon=5.0, delta=1e-5, clip=0.0, step_size=0.1, steps=1
            )
            house.unlearn(model, [None], lambda *_: None, plan, simulate=0).certificate.save(tmp_path / "c.json")
        weights.save(model.state_dict(), tmp_path / f"{seed}.safetensors")
    return tmp_path


ASK = ("--model", "ours:model", "--data", "ours:data")


def answer(expunge, *words):
    code, out, err = expunge("audit", *words, "--json")
    assert (code, err) == (0, ""), err
    return json.loads(out)


def test_ones_own_model_with_a_certificate(expunge, folder):
    found = answer(
        expunge, "0.safetensors", *ASK, "--retrained", "1.safetensors", "2.safetensors", "--certificate", "c.json"
    )
    assert found["schema"] == "expunge.audit/1"
    assert found["certificate"]["kind"] == "simulation"
    assert found["certificate"]["epsilon"] <= 5.0
    assert found["certificate"]["allowed"] == audit.allowed(found["certificate"]["mu"])
    assert found["audit"]["mia"]["lira"]["models"] == 2
    first, second = (weights.load(folder / f"{seed}.safetensors") for seed in (0, 1))
    assert found["audit"]["to_retrained"]["weights"] == audit.weight_distance(first, second)
    assert found["lower_bound"] is None


def test_outputs_are_saved_once_and_need_neither_model_nor_data_afterwards(expunge, folder):
    (folder / "o").mkdir()
    rest = ("--retrained", "1.safetensors", "--save", "o")
    before = answer(expunge, "0.safetensors", *ASK, *rest)
    (folder / "ours.py").unlink()
    after = answer(
        expunge, "o/0.outputs.safetensors", "--retrained", "o/1.outputs.safetensors", "--certificate", "c.json"
    )
    assert before["audit"]["to_retrained"].pop("weights") > 0
    assert after["audit"]["to_retrained"].pop("weights") is None
    assert after["audit"] == before["audit"]


def test_people_get_a_few_lines(expunge, folder):
    code, out, err = expunge("audit", "0.safetensors", *ASK, "--retrained", "1.safetensors", "--certificate", "c.json")
    assert (code, err) == (0, "")
    for word in ("UA", "RA", "TA", "minus retrained", "allows at most", "MIA-Efficacy", "LiRA", "RMIA", "too few"):
        assert word in out, word
    assert max(map(len, out.splitlines())) < 125
    code, out, _ = expunge("audit", "0.safetensors", *ASK)
    assert "WARNING  no retrained model" in out


def test_a_workload_by_name(expunge, tmp_path):
    forget = tmp_path / "forget.txt"
    forget.write_text(" ".join(map(str, range(100))))
    for name, words in (("a", ()), ("b", ("--forget", forget))):
        assert expunge("train", "--epochs", "2", "--output", tmp_path / f"{name}.safetensors", *words)[0] == 0
    found = answer(
        expunge, tmp_path / "a.safetensors", "--workload", "digits-mlp", "--deletion", f"file:{forget}",
        "--retrained", tmp_path / "b.safetensors", "--svc-samples", "100",
    )  # fmt: skip
    trained = json.loads(expunge("train", "--epochs", "2", "--output", tmp_path / "a.safetensors", "--json")[1])
    assert found["audit"]["accuracy"]["test"] == pytest.approx(trained["last"]["test_accuracy"])
    assert found["audit"]["mia"]["svc_confidence"]["learned_from"] == {"retained": 100, "test": 100, "seed": 0}
    assert found["audit"]["mia"]["lira"]["members"] == 100


def test_repeated_runs_bound_epsilon_and_a_violation_ends_in_exit_code_1(expunge, refused, folder):
    chance = np.random.default_rng(0)

    def runs(shift):
        scores = {"unlearned": chance.normal(shift, size=4000).tolist(), "reference": chance.normal(size=4000).tolist()}
        (folder / "runs.json").write_text(json.dumps(scores))
        return ("audit", "0.safetensors", *ASK, "--certificate", "c.json", "--runs", "runs.json")

    code, out, err = expunge(*runs(0.5), "--json")
    assert (code, err) == (0, "")
    bound = json.loads(out)["lower_bound"]
    assert 0.3 < bound["mu"] < 0.5
    assert bound["delta"] == 1e-5
    assert "runs prove" in expunge(*runs(0.5))[1]
    assert "THE CERTIFICATE IS VIOLATED" in refused(*runs(5.0), code=1)


def test_another_models_certificate_is_refused(refused, folder):
    line = refused("audit", "1.safetensors", *ASK, "--certificate", "c.json", code=1)
    assert "is not the certificate of 1.safetensors" in line


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nowhere.safetensors", *ASK), "there is no file nowhere.safetensors"),
        (("0.safetensors",), "give --model and --data, or --workload and --deletion"),
        (("0.safetensors", "--model", "ours:model"), "give --model and --data"),
        (("0.safetensors", "--workload", "digits-mlp"), "go together"),
        (("0.safetensors", *ASK[:2], "--data", "ours:list_of_parts"), "must return a dict"),
        (("0.safetensors", *ASK, "--save", "nowhere"), "no such folder"),
        (("0.safetensors", *ASK, "--svc-samples", "1"), "2 samples"),
        (("0.safetensors", *ASK, "--runs", "ours.py"), "not valid JSON"),
        (("0.safetensors", *ASK, "--runs", "c.json"), '"unlearned": [scores]'),
        (("0.safetensors", "--workload", "digits-mlp", "--deletion", "class:five"), "--deletion class:five"),
        (
            ("0.safetensors", "--workload", "digits-mlp", "--deletion", "class:5"),
            "does not fit the model of digits-mlp",
        ),
    ],
)
def test_wrong_use_is_one_line(refused, folder, words, told):
    assert told in refused("audit", *words)


def test_what_the_users_code_raises_is_shown(expunge, folder):
    code, _, err = expunge("audit", "0.safetensors", *ASK[:2], "--data", "ours:broken")
    assert code == 2
    assert "ValueError: no data today" in err
