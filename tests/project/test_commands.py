"""`init`, `run`, `demo` and --project as a newcomer meets them."""

import json

import pytest

from expunge import certificate
from expunge.cli.main import main
from expunge.errors import ConfigError
from expunge.project import demo, settings


def refusal(capsys, *words):
    capsys.readouterr()
    assert main([*map(str, words)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    return captured.err


def test_init_writes_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--workload", "digits-mlp"]) == 0
    assert "expunge run" in capsys.readouterr().out
    before = (tmp_path / "expunge.toml").read_text()
    assert "not overwritten" in refusal(capsys, "init")
    assert (tmp_path / "expunge.toml").read_text() == before
    assert settings.load().project.name == tmp_path.name


def test_run_without_a_project_says_how_to_begin(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "expunge init" in refusal(capsys, "run")


@pytest.mark.parametrize("words", [("plan", "--project"), ("plan", "--project={}")])
def test_a_command_with_a_project_is_its_stage(place, words):
    words = [word.format(place.file) for word in words] + ([] if "=" in words[-1] else [str(place.file)])
    assert main(words) == 0
    assert [line.split()[0] for line in place.capsys.readouterr().out.splitlines()] == ["calibrate", "plan"]
    assert (place.folder / "run" / "plan.json").exists()


def test_each_stage_is_one_line(place):
    first, second = place.run("verify").out.splitlines(), place.run("verify").out.splitlines()
    assert [line.split()[0] for line in first] == ["train", "calibrate", "plan", "unlearn", "verify"]
    assert all("(as it was)" in line for line in second)
    assert not any("as it was" in line for line in first)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('factory = "toy:model"', 'factory = "toy:modle"', "has no 'modle'"),
        ('factory = "toy:model"', 'factory = "tyo:model"', "no module 'tyo'"),
        ('factory = "toy:model"', 'factory = "toy"', "package.module:function"),
        ('factory = "toy:model"', 'factory = "toy:dataset"', "[model] factory must return a torch.nn.Module"),
        ('dataset = "toy:dataset"', 'dataset = "toy:model"', "[data] dataset must return samples by index"),
        ("random = 0.1", "class = 7", "label"),
        ("random = 0.1", 'file = "nowhere.txt"', "nowhere.txt"),
        ('train = "toy:train"', 'train = "toy:train"\nweights = "nowhere.safetensors"', "nowhere.safetensors"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_change(place, old, new, told):
    place.change(old, new)
    assert told in refusal(place.capsys, "run", "unlearn", "--project", place.file)


def test_a_demo_file_that_somebody_changed_is_left_alone(tmp_path):
    (tmp_path / "expunge.toml").write_text("# mine")
    with pytest.raises(ConfigError, match="was changed"):
        demo.play(tmp_path)
    assert (tmp_path / "expunge.toml").read_text() == "# mine"


def test_the_demo_in_small(tmp_path, monkeypatch, capsys):
    """Two pairs and one retrained model instead of ten and four; the rest is the demo."""
    from string import Template

    short = demo._FILE.template.replace("pairs = 10", "pairs = 2").replace("retrained = $retrained", "retrained = 1")
    monkeypatch.setattr(demo, "_FILE", Template(short))
    folder = tmp_path / "demo"
    assert main(["demo", "--output", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.count("worth it?") == 2
    assert str(folder / "report.html") in out
    for place, removed in ((folder, 144), (folder / "class", 131)):
        certificate.verify(place / "certificate.json", place / "unlearned.safetensors")
        assert (place / "report.html").stat().st_size > 1e5
        results = json.loads((place / "results.json").read_text())
        assert results["asked"]["deletion"]["removed"] == removed
        rows = {row["method"]: row["audit"]["accuracy"] for row in results["comparison"]["rows"]}
        assert rows["blockwise_nft"]["test"] > 0.3  # the noise has no seed
        assert rows["retrain"]["test"] > 0.8
    assert main(["demo", "--output", str(folder), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {request["epsilon"] <= 100.0 for request in answer["requests"]} == {True}
    assert all(one["fresh"] is False for one in _stages(folder))


def _stages(folder):
    import dataclasses

    from expunge.project import pipeline

    return [dataclasses.asdict(done) for done in pipeline.run(settings.load(folder / "expunge.toml"), quiet=True)]
