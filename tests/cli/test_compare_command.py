"""`expunge compare`."""

import csv
import json
import shlex

import pytest

pytest.importorskip("sklearn")
QUICK = ("compare", "--epochs", "1", "--proximity", "2", "--methods", "fine_tune", "--without", "from_public")
SETTINGS = ("--set", "fine_tune.steps=5", "--set", "output_perturbation.fine_tune.steps=5")


def test_it_compares_and_writes_what_it_says(expunge, tmp_path):
    output, table, page, text = (tmp_path / f"c.{kind}" for kind in ("json", "csv", "html", "md"))
    words = (*QUICK, *SETTINGS, "--seeds", "2", "--simulate", "--shadows", "0", "--output", str(output))
    code, out, err = expunge(*words, "--csv", table, "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer == json.loads(output.read_text())
    assert answer["schema"] == "expunge.comparison/1"
    assert answer["command"] == shlex.join(["expunge", *words, "--csv", str(table), "--json"])
    kinds = [(row["method"], row["seed"]) for row in answer["rows"]]
    assert kinds == [(name, seed) for name in ("retrain", "output_perturbation", "fine_tune") for seed in (0, 1)]
    assert {row["steps"] for row in answer["rows"] if row["method"] == "fine_tune"} == {5}
    with table.open() as file:
        assert [line["method"] for line in csv.DictReader(file)] == [name for name, _ in kinds]
    more = ("--fewer", "fine_tune=1", "--brief", "--markdown", text, "--report", page)
    code, out, err = expunge(*words, *more)  # the cells are there: only the table is made
    assert (code, err) == (0, "")
    assert "fine_tune (1 of 2 seeds)" in out
    assert "…" not in out.replace("UA … MIA", "")
    assert [row["seed"] for row in json.loads(output.read_text())["rows"]] == [0, 1, 0, 1, 0]
    assert all("curve" not in row for row in json.loads(output.read_text())["rows"])
    assert "| fine_tune (1 of 2 seeds) | empirical |" in text.read_text()
    assert page.read_text().lstrip().startswith("<!doctype html>")
    for told in ("output_perturbation", "certified", "±", "random", "UA", "(before)"):
        assert told in out
    assert max(map(len, out.splitlines())) > 100  # nothing is cut, however narrow the terminal


def test_a_brief_comparison_trains_as_it_is_told_and_follows_no_curve(expunge, tmp_path):
    output = tmp_path / "c.json"
    words = (*QUICK, *SETTINGS, "--simulate", "--shadows", "0", "--brief", "--output", output)
    code, _, err = expunge(*words, "--training", "steps=7", "--training", "schedule=linear")
    assert (code, err) == (0, "")
    folder = output.with_suffix(".cells")
    recipe = json.loads((folder / "comparison.json").read_text())["recipe"]
    assert (recipe["steps"], recipe["schedule"]) == (7, "linear")
    assert json.loads((folder / "retrained-0.json").read_text())["steps"] == 7
    assert json.loads((folder / "fine_tune-0.json").read_text())["curve"] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--methods", "magic"), "there is no method 'magic'; they are retrain"),
        (("--deletion", "class:12"), "removes nothing: label 12"),
        (("--deletion", "half"), "file:… or package.module:function; got 'half'"),
        (("--deletion", "random:2.5"), "fraction must be a number above 0 and below 1"),
        (("--fewer", "salun"), "--fewer must be METHOD=NUMBER, such as amun=3; got 'salun'"),
        (("--fewer", "salun=9"), "salun can have 1 to 1 of the 1 seeds; got 9"),
        (("--report", "/nowhere/c.html"), "there is no folder /nowhere"),
        (("--set", "salun"), "--set must be METHOD.FIELD=VALUE, such as salun.lr=0.1; got 'salun'"),
        (("--set", "salun.lrr=1"), "salun cannot be set so"),
        (("--set", "salun.lr=-1", "--methods", "salun"), "lr must be a finite number, above 0"),
        (("--training", "steps"), "--training must be FIELD=VALUE, such as epochs=20; got 'steps'"),
        (("--training", "stepz=9"), "a training recipe has no 'stepz'. It has workload, scale"),
        (("--device", "abacus"), "device 'abacus' is not there"),
        (("--output", "/nowhere/c.json"), "there is no folder /nowhere"),
        (("--csv", "/nowhere/c.csv"), "there is no folder /nowhere"),
        (("--seeds", "0"), "seeds must be one or more"),
        (("--proximity", "nowhere.json"), "nowhere.json"),
        (("--workload", "mnist-mlp", "--data-dir", "/nowhere"), "no train-images-idx3-ubyte.gz"),
    ],
)
def test_wrong_use_is_one_line(refused, tmp_path, words, told):
    given = {word for word in words if word.startswith("--")}
    output = () if "--output" in given else ("--output", tmp_path / "c.json")
    proximity = () if "--proximity" in given else ("--proximity", "2")
    methods = () if "--methods" in given else ("--methods", "salun")
    assert told in refused("compare", "--epochs", "1", *output, *proximity, *methods, *words)
