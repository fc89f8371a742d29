"""Every command reads a project's file, and its --help is enough to use it."""

import dataclasses
import importlib
import inspect
import json
import re

import pytest

from expunge.cli import of_project
from expunge.cli.commands import COMMANDS, READERS, STAGES
from expunge.cli.keep import Keep

PROJECT = """
[project]
workload = "digits-mlp"
[data]
folder = "data"
[deletion]
class = 3
[target]
epsilon = 7.5
delta = 1e-6
[calibration]
pairs = 3
"""


@pytest.fixture
def file(tmp_path):
    place = tmp_path / "expunge.toml"
    place.write_text(PROJECT)
    (tmp_path / "run").mkdir()
    return place


def test_all_commands_but_those_without_a_project_read_its_file():
    themselves, without = {"run", "choose"}, {"init", "demo", "reproduce", "requests"}
    assert set(STAGES) | set(READERS) | themselves == set(COMMANDS) - without
    assert set(of_project.OPTIONS) == set(READERS)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_that_of_run(stage):
    assert of_project.words([stage, "--project", "mine.toml", "--json"]) == [
        "run",
        stage,
        "--project",
        "mine.toml",
        "--json",
    ]


@pytest.mark.parametrize("joined", [True, False])
def test_compare_is_told_what_the_project_says_unless_it_is_told_otherwise(file, joined):
    named = [f"--project={file}"] if joined else ["--project", str(file)]
    words = of_project.words(["compare", "--epsilon=3", *named, "--seeds", "2"])
    assert words[0] == "compare"
    assert words[-3:] == ["--epsilon=3", "--seeds", "2"]
    told = dict(zip(words[1:-3:2], words[2:-3:2], strict=True))
    assert {name: told[name] for name in ("--workload", "--deletion", "--delta", "--pairs")} == {
        "--workload": "digits-mlp", "--deletion": "class:3", "--delta": "1e-06", "--pairs": "3",
    }  # fmt: skip
    assert told["--data-dir"] == str(file.parent / "data")
    assert not {"--epsilon", "--proximity", "--project"} & set(told)
    (file.parent / "run" / "proximity.json").write_text("{}")
    assert str(file.parent / "run" / "proximity.json") in of_project.words(["compare", *named])


def test_compare_says_what_to_do_with_a_model_of_ones_own(file, refused):
    file.write_text(
        PROJECT.replace('workload = "digits-mlp"', "").replace("[data]", '[model]\nfactory = "a:b"\ntrain = "a:c"\n[data]\n')
        .replace("folder", 'dataset = "a:d"\ntest = "a:e"\nfolder')
    )  # fmt: skip
    assert "expunge run audit" in refused("compare", "--project", file)


def test_account_and_recertify_take_what_the_stages_left(file, expunge, refused):
    assert "expunge run plan" in refused("account", "--project", file)
    assert expunge("plan", "--project", file, "--quiet")[0] == 0
    code, out, _ = expunge("account", "--project", file, "--json")
    answer = json.loads(out)
    assert (code, answer["delta"], answer["failure"]) == (0, 1e-6, 0.25)
    assert answer["epsilon"]["gaussian"] == pytest.approx(7.5)
    assert "expunge run unlearn" in refused("recertify", "--project", file)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example_and_says_what_every_option_is(expunge, name):
    code, out, _ = expunge(name, "--help")
    assert code == 0
    assert f"Example: expunge {name}" in re.sub(r"\s+", " ", out)
    function = getattr(importlib.import_module(f"expunge.cli.{name}"), name)
    parameters = list(inspect.signature(function).parameters)
    assert _documented(function) == parameters
    if "keep" in parameters:  # a group of options
        assert _documented(Keep) == [field.name for field in dataclasses.fields(Keep)]


def _documented(described):
    return re.findall(r"^    (\w+)\n        \S", described.__doc__, re.MULTILINE)
