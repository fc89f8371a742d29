"""The README's example is run as it stands there."""

import re
from pathlib import Path

import torch

README = Path(__file__).parents[1] / "README.md"


def test_the_example_unlearns_and_verifies(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8")
    setup, example = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in example.splitlines() if line]) <= 15
    with torch.random.fork_rng():
        exec(compile(setup + example, str(README), "exec"), {"__name__": "example"})
    names = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]
    shown = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert names == [line.split(":")[0] for line in shown[1].splitlines()]
