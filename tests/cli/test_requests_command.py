"""`expunge requests`: begin, ask, look; and what it says no to."""

import json

import pytest

MINE = """
import torch


def samples():
    random = torch.Generator().manual_seed(0)
    labels = torch.arange(120) % 3
    return torch.randn(120, 4, generator=random) + 2.0 * torch.eye(4)[labels], labels


def others():
    features, labels = samples()
    return features + 1.0, labels


def list_of_them():
    return list(samples())
"""
BEGIN = ("--data", "mine:samples", "--epsilon", "1", "--delta", "1e-5", "--l2", "0.1", "--gradient", "1e-3")


@pytest.fixture
def shop(tmp_path, monkeypatch, expunge):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "one.txt").write_text("17")
    (tmp_path / "two.txt").write_text("3, 4")
    assert expunge("requests", "shop", *BEGIN)[0] == 0
    return tmp_path


def test_requests_come_one_after_another(shop, expunge):
    for name in ("one", "two"):
        assert expunge("requests", "shop", "--data", "mine:samples", "--forget", f"{name}.txt")[0] == 0
    code, out, _ = expunge("requests", "shop", "--json")
    answer = json.loads(out)
    assert code == 0
    assert [row["forgotten"] for row in answer["requests"]] == [1, 2]
    assert all(0.99 < row["epsilon"] <= 1 for row in answer["requests"])
    assert expunge("verify", "shop/certificate-2.json", "--weights", "shop/model-2.safetensors")[0] == 0
    assert not (shop / "shop" / "model-0.safetensors").exists()
    assert "stands alone" in expunge("requests", "shop")[1]


def test_a_ledger_of_before_whitening_goes_on_without(shop, expunge):
    path = shop / "shop" / "requests.json"
    document = json.loads(path.read_text())
    assert document["about"].pop("whiten") == 2000
    path.write_text(json.dumps(document))
    assert expunge("requests", "shop", "--data", "mine:samples", "--forget", "one.txt")[0] == 0
    certificate = json.loads((shop / "shop" / "certificate-1.json").read_text())
    assert "whiten" not in certificate["run"]["clean"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nowhere",), "begins one"),
        (("nowhere", *BEGIN, "--forget", "one.txt"), "no --forget yet"),
        (("nowhere", "--data", "mine:list_of_them", *BEGIN[2:]), "two tensors"),
        (("shop", "--forget", "one.txt"), "--data"),
        (("shop", "--epsilon", "2"), "was settled"),
        (("shop", "--data", "mine:others", "--forget", "one.txt"), "other data"),
        (("shop", "--data", "mine:samples", "--forget", "none.txt"), "cannot read"),
    ],
)
def test_wrong_use_is_one_clear_line(shop, refused, words, told):
    assert told in refused("requests", *words)


def test_the_same_sample_cannot_go_twice(shop, expunge, refused):
    words = ("requests", "shop", "--data", "mine:samples", "--forget", "one.txt")
    assert expunge(*words)[0] == 0
    assert "earlier request" in refused(*words)
