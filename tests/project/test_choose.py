"""The planner tries candidates on models and requests of its own, and says what to do."""

import json

import pytest

from expunge.cli.main import main


@pytest.fixture
def answer(place, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def ask(*words):
        place.capsys.readouterr()
        assert main(["choose", "--project", str(place.file), "--budget", "16", "--json", *words]) == 0
        return json.loads(place.capsys.readouterr().out)

    return ask


def test_everything_is_tried_once_and_one_thing_is_advised(answer, tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    found = answer("--tries", "2")
    names = [trial["name"] for trial in found["trials"]]
    assert len(set(names)) == len(names)
    kinds = [trial["kind"] for trial in found["trials"]]
    assert kinds.count("retrained") == 1
    assert kinds.count("from scratch") == 4
    assert {one for one in ("all weights", "core of rank 5") if any(one in name for name in names)}
    assert all(len(trial["scores"]) == 2 for trial in found["trials"])
    assert found["advice"]["verdict"] in ("unlearn", "train afresh", "retrain")
    assert found["advice"]["best"] in names
    assert set(found["front"]) <= set(names)
    sizes = {int(line.split()[0]) for line in (tmp_path / "log").read_text().splitlines()}
    assert sizes == {150, 137}  # calibration trains on all; practices without the judges


def test_a_project_can_take_the_settings(answer, place):
    found = answer()
    lines = [place.file.read_text().partition("[mechanism]")[0]]
    for table, values in found["settings"].items():
        lines += [f"[{table}]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
    place.file.write_text("\n".join(lines))
    place.run("verify")


def test_practices_are_not_the_request(answer):
    """Their seeds are hashes; the request's is what the file says."""
    found = answer("--tries", "2")
    seeds = [practice["seed"] for practice in found["practices"]]
    assert len(set(seeds)) == 2
    assert min(seeds) > 10_000


def test_a_budget_that_holds_nothing_is_refused(place):
    place.capsys.readouterr()
    assert main(["choose", "--project", str(place.file), "--budget", "1"]) == 2
    assert "budget" in place.capsys.readouterr().err
