"""The README's examples are run as they stand there."""

import re
from pathlib import Path

import pytest
import torch

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
SETUP, DIGITS, OWN = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """Runs an example in an empty folder; what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(example):
        with torch.random.fork_rng():
            exec(compile(example, str(README), "exec"), {"__name__": "example"})
        return capsys.readouterr().out

    return run


def test_the_example_unlearns_and_verifies(printed):
    assert len([line for line in DIGITS.splitlines() if line]) <= 15
    names = [line.split(":")[0] for line in printed(SETUP + DIGITS).splitlines()]
    shown = re.search(r"```text\n(.*?)```", TEXT, re.DOTALL)
    assert names == [line.split(":")[0] for line in shown[1].splitlines()]


def test_your_own_model_unlearns_and_verifies(printed):
    assert printed(OWN).startswith("epsilon 10, delta 1e-05, recomputed from 1 ledger(s)")
