"""`expunge train`."""

import json
import subprocess
import sys

import pytest

from expunge import weights

pytest.importorskip("sklearn")
QUICK = ("train", "--epochs", "2")


def test_it_trains_and_writes_what_it_says(expunge, tmp_path):
    output, metrics = tmp_path / "model.safetensors", tmp_path / "metrics.jsonl"
    code, out, err = expunge(*QUICK, "--output", output, "--metrics", metrics, "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["schema"] == "expunge.trained/1"
    assert answer["sha256"]["weights"] == weights.digest(weights.load(output))
    assert (answer["samples"], answer["parameters"], answer["seed"]) == (1438, 26122, 0)
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2]
    assert rows[-1] == answer["last"]
    assert {"step", "loss", "train_accuracy", "test_accuracy", "train_seconds", "test_seconds"} <= rows[0].keys()


def test_people_get_a_few_lines_and_no_progress_without_a_terminal(expunge, tmp_path):
    code, out, err = expunge(*QUICK, "--output", tmp_path / "a.safetensors")
    assert (code, err) == (0, "")
    assert "digits-mlp (laptop), seed 0, 1,438 samples" in out
    assert "test (359 samples)" in out


def test_the_same_command_gives_the_same_weights(expunge, tmp_path):
    def run(name, *words):
        code, out, err = expunge(*QUICK, "--output", tmp_path / name, "--json", *words)
        assert code == 0, err
        return json.loads(out)["sha256"]["weights"]

    assert run("a") == run("b")
    assert run("c", "--seed", 1) != run("a")
    checkpoint = ("--checkpoint", tmp_path / "checkpoint")
    assert run("d", *checkpoint) == run("a")
    assert run("e", *checkpoint) == run("a")  # resumed at its end


def test_a_killed_run_resumes_and_its_metrics_are_whole(tmp_path):
    """As a shell would: the process ends without warning in the second epoch, and the same command goes on."""
    words = [
        "train",
        "--epochs",
        "3",
        "--checkpoint",
        "checkpoint",
        "--checkpoint-every",
        "0",
        "--metrics",
        "m.jsonl",
        "--json",
    ]
    deadly = (
        "import os, sys\nfrom expunge.workloads import training\n"
        "step = training._Run.advance\n"
        "def advance(run):\n    step(run)\n    if run.step == 35: os._exit(9)\n"
        "training._Run.advance = advance\nfrom expunge.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    )
    killed = subprocess.run([sys.executable, "-c", deadly, *words], cwd=tmp_path, capture_output=True, check=False)
    assert killed.returncode == 9, killed.stderr
    assert not (tmp_path / "model.safetensors").exists()
    results = []
    for folder in (tmp_path, tmp_path / "straight"):
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "expunge", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        results.append(json.loads(done.stdout)["sha256"]["weights"])
        assert [json.loads(line)["epoch"] for line in (folder / "m.jsonl").read_text().splitlines()] == [1, 2, 3]
    assert results[0] == results[1]


def test_training_on_retained_data_alone(expunge, tmp_path):
    forget = tmp_path / "forget.txt"
    forget.write_text("0, 5, 1437")
    code, out, _ = expunge(*QUICK, "--output", tmp_path / "a.safetensors", "--forget", forget, "--json")
    assert code == 0
    assert json.loads(out)["samples"] == 1435


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--workload", "imagenet"), "imagenet"),
        (("--workload", "mnist-mlp", "--data-dir", "/nowhere"), "no train-images-idx3-ubyte.gz"),
        (("--epochs", "0"), "epochs must be a whole number, at least 1; got 0"),
        (("--epochs", "2.5"), "2.5"),
        (("--forget", "/nowhere/forget"), "cannot read /nowhere/forget"),
        (("--device", "abacus"), "device 'abacus' is not there"),
        (("--output", "/nowhere/model.safetensors"), "there is no folder /nowhere"),
        (("--metrics", "/nowhere/metrics"), "cannot write /nowhere/metrics"),
    ],
)
def test_wrong_use_is_one_line(refused, tmp_path, words, told):
    output = () if "--output" in words else ("--output", tmp_path / "a.safetensors")
    assert told in refused("train", *output, *words)


def test_forget_indices_are_checked(refused, tmp_path):
    for text, told in [("1438", "out of range"), ("3 3", "twice"), ("", "at least one"), ("x", "nothing else")]:
        (tmp_path / "forget").write_text(text)
        assert told in refused(*QUICK, "--output", tmp_path / "a", "--forget", tmp_path / "forget")


def test_two_stages_and_what_they_refuse(tmp_path, monkeypatch, expunge, refused):
    monkeypatch.chdir(tmp_path)
    two = ("train", "--permanent", "random:0.5", "--epochs", "1")
    assert expunge(*two, "--quiet")[0] == 0
    declared = json.loads((tmp_path / "reference.json").read_text())
    (tmp_path / "permanent.txt").write_text(str(declared["permanent"][0]))
    (tmp_path / "revocable.txt").write_text(str(min(set(range(1438)) - set(declared["permanent"]))))
    assert expunge(*two, "--forget", "revocable.txt", "--output", "without.safetensors")[0] == 0
    assert "are permanent" in refused(*two, "--forget", "permanent.txt")
    assert "--permanent" in refused("train", "--first-stage", "reference.safetensors")
    assert "saw other permanent" in refused("train", "--permanent", "random:0.4", "--epochs", "1")
    words = (
        "calibrate",
        "--workload",
        "digits-mlp",
        "--first-stage",
        "reference.safetensors",
        "--pairs",
        "1",
        "--epochs",
        "1",
    )
    code, out, _ = expunge(*words, "--deletion", "random:50", "--json")
    assert (code, json.loads(out)["coupling"]["removed"]) == (0, [50])
    unlearn = (
        "unlearn",
        "--model",
        "m:m",
        "--weights",
        "w",
        "--data",
        "m:d",
        "--epsilon",
        "1",
        "--delta",
        "1e-5",
        "--clip",
    )
    unlearn += ("0", "--step-size", "0", "--proximity", "1", "--first-stage", "reference.safetensors")
    assert "are permanent" in refused(*unlearn, "--forget", "permanent.txt")
