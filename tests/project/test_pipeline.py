"""The stages: in order, only where something changed, and from where they were interrupted."""

import json
import shutil

import pytest

from expunge import certificate
from expunge.errors import ConfigError
from expunge.project import pipeline

ALL = [stage.name for stage in pipeline.STAGES]


def test_everything_runs_once_and_the_certificate_holds(place, monkeypatch):
    log = place.folder / "log"
    monkeypatch.setenv("TOY_LOG", str(log))
    assert place.fresh() == ALL
    run = place.folder / "run"
    findings = certificate.verify(run / "certificate.json", run / "unlearned.safetensors")
    assert findings[-1].name == "weights"
    assert len(log.read_text().splitlines()) == 1 + (1 + 4) + 2  # the model, base and pairs, retrained models
    assert place.fresh() == []
    assert len(log.read_text().splitlines()) == 8


def test_its_files_say_what_was_done(place):
    place.run()
    run = place.folder / "run"
    comparison = json.loads((run / "comparison.json").read_text())
    rows = {row["method"]: row for row in comparison["rows"]}
    assert list(rows) == ["blockwise_nft", "retrain", "from_public", "from_public_noised", "output_perturbation"]
    promise = json.loads((run / "certificate.json").read_text())["guarantee"]
    assert rows["blockwise_nft"]["guarantee"]["epsilon"] == promise["epsilon"]["gaussian"] <= 20.0
    assert rows["retrain"]["guarantee"] is rows["from_public"]["guarantee"] is None
    assert rows["retrain"]["steps"] == 9  # 3 epochs of 135 samples in batches of 50
    assert rows["blockwise_nft"]["steps"] == rows["from_public"]["steps"] == 4 + 12
    assert rows["blockwise_nft"]["relative_steps"] == pytest.approx(16 / 9)
    assert rows["retrain"]["audit"]["to_retrained"]["weights"] == 0.0
    assert rows["blockwise_nft"]["audit"]["to_retrained"]["weights"] > 0.0
    assert all("lira" in row["audit"]["mia"] for row in rows.values())
    assert {name: row["kind"] for name, row in rows.items()} == {
        "blockwise_nft": "certified", "retrain": "exact", "from_public": "exact", "from_public_noised": "exact",
        "output_perturbation": "certified",
    }  # fmt: skip
    assert rows["from_public_noised"]["steps"] == 16
    curve = rows["blockwise_nft"]["curve"]
    assert [point["phase"] for point in curve] == ["noise"] * 4 + ["fine-tune"] * 12
    assert all(point["test_accuracy"] is not None for point in curve if point["phase"] == "noise")
    results = json.loads((run / "results.json").read_text())
    assert results["verification"]["valid"] is True
    assert results["certificate"] == json.loads((run / "certificate.json").read_text())


def test_noise_and_weights_of_blocks_and_layers_add_up(place):
    place.run()
    signal = json.loads((place.folder / "run" / "results.json").read_text())["signal"]
    for what in ("noise", "weights"):
        total = sum(row[what] ** 2 for row in signal["blocks"])
        assert sum(row[what] ** 2 for row in signal["layers"]) == pytest.approx(total, rel=1e-5)
    assert sum(row["dimension"] for row in signal["blocks"]) == sum(row["dimension"] for row in signal["layers"]) == 9


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ("epsilon = 20.0", "epsilon = 25.0", ["plan", "unlearn", "verify", "audit", "report"]),
        ("steps = 12", "steps = 10", ["unlearn", "verify", "audit", "report"]),
        ("retrained = 2", "retrained = 3", ["audit", "report"]),
        ('name = "toy"', 'name = "other"', ["report"]),
        ("pairs = 4", "pairs = 5", ["calibrate", "plan", "unlearn", "verify", "audit", "report"]),
        ("accuracy_every = 5", "accuracy_every = 4", []),
    ],
)
def test_only_what_depends_on_a_change_is_done_again(place, old, new, again):
    place.run()
    place.change(old, new)
    assert place.fresh() == again
    assert place.fresh() == []


def test_a_changed_function_is_a_change(place, tmp_path_factory, monkeypatch):
    own = tmp_path_factory.mktemp("own") / "toy.py"
    from pathlib import Path

    shutil.copy(Path(__file__).parent / "toy.py", own)
    monkeypatch.syspath_prepend(str(own.parent))
    assert place.fresh("plan") == ["calibrate", "plan"]
    own.write_text(own.read_text() + "\n# changed\n")
    assert place.fresh("plan") == ["calibrate", "plan"]


def test_a_file_that_was_lost_or_changed_is_made_again(place):
    place.run("verify")
    (place.folder / "run" / "verification.json").unlink()
    assert place.fresh("verify") == ["verify"]
    (place.folder / "run" / "verification.json").write_text("{}")
    assert place.fresh("verify") == ["verify"]


def test_a_stage_runs_what_it_needs_and_nothing_else(place):
    assert place.fresh("plan") == ["calibrate", "plan"]
    assert place.fresh("verify") == ["train", "unlearn", "verify"]


def test_an_unknown_stage_is_refused():
    with pytest.raises(ConfigError, match="Did you mean 'unlearn'"):
        pipeline.wanted("unlern")


def test_looks_at_one_request_are_counted_and_cost(place):
    """Who runs a request twice may choose: the second certificate pays for both."""
    place.run("unlearn")
    first = certificate.load(place.folder / "run" / "certificate.json")
    place.change("steps = 12", "steps = 11")
    told = place.run("unlearn").out
    second = certificate.load(place.folder / "run" / "certificate.json")
    assert (first["hops"][-1]["looks"], second["hops"][-1]["looks"]) == (1, 2)
    assert second.mu == pytest.approx(first.mu * 2**0.5)
    assert second.epsilon > 20.0
    assert "look 2" in told


def test_another_request_is_not_another_look(place):
    place.run("unlearn")
    place.change("random = 0.1", "random = 0.1\nseed = 1001")
    place.run("unlearn")
    assert certificate.load(place.folder / "run" / "certificate.json")["hops"][-1]["looks"] == 1


def test_a_certificate_that_does_not_fit_its_weights_stops_the_pipeline(place):
    place.run("unlearn")
    run = place.folder / "run"
    shutil.copy(run / "trained.safetensors", run / "unlearned.safetensors")
    record = json.loads((run / "stages" / "unlearn.json").read_text())
    record["outputs"]["unlearned.safetensors"] = record["outputs"]["unlearned.safetensors"]
    assert place.fresh("verify") == ["unlearn", "verify"]  # the stage sees that its file is another one, and repeats it


def test_given_weights_and_a_given_proximity_need_no_training(place, monkeypatch):
    place.run("plan")
    run = place.folder / "run"
    place.run("train")
    for name in ("trained.safetensors", "proximity.json"):
        shutil.copy(run / name, place.folder / name)
    shutil.rmtree(run)
    place.change('train = "toy:train"', 'weights = "trained.safetensors"')
    place.change("pairs = 4", 'proximity = "proximity.json"')
    place.change("retrained = 2", 'baselines = ["from_public"]')
    monkeypatch.setenv("TOY_LOG", str(place.folder / "log"))
    assert place.fresh() == ALL
    assert not (place.folder / "log").exists()
    rows = json.loads((run / "comparison.json").read_text())["rows"]
    assert [row["method"] for row in rows] == ["blockwise_nft", "from_public"]
    assert all(row["relative_seconds"] is None for row in rows)


def test_a_class_and_a_file_can_go_too(place):
    (place.folder / "forget.txt").write_text("0, 5, 17\n")
    place.change("random = 0.1", 'file = "forget.txt"')
    place.run("verify")
    assert json.loads((place.folder / "run" / "certificate.json").read_text())["run"]["forget_count"] == 3
    proximity = json.loads((place.folder / "run" / "proximity.json").read_text())
    assert proximity["coupling"]["seeds"] == [1, 2, 3, 4]  # not the model's own


def test_unlearning_leaves_no_unfinished_weights(place):
    place.run()
    assert list((place.folder / "run" / "unfinished").iterdir()) == []
    assert (place.folder / "run" / "trained.safetensors").stat().st_mode & 0o077 == 0
