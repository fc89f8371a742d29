import importlib
import sys
from pathlib import Path

import pytest

from expunge.cli.main import main
from expunge.project import settings

TOY = """
[project]
name = "toy"
[model]
factory = "toy:model"
train = "toy:train"
[data]
dataset = "toy:dataset"
test = "toy:test"
batch_size = 30
[deletion]
random = 0.1
[target]
epsilon = 20.0
delta = 1e-5
[calibration]
pairs = 4
[mechanism]
blocks = 2
clip = 1.0
step_size = 0.05
weight_decay = 1.0
steps = 2
[fine_tune]
steps = 12
lr = 0.1
[audit]
retrained = 2
[report]
accuracy_every = 5
"""


class Place:
    """A folder with a project file, which can be changed and run."""

    def __init__(self, folder, capsys):
        self.folder, self.file, self.capsys = folder, folder / "expunge.toml", capsys
        self.file.write_text(TOY)

    def change(self, old, new):
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new))

    def load(self):
        return settings.load(self.file)

    def run(self, *words, code=0):
        self.capsys.readouterr()
        found = main(["run", *map(str, words), "--project", str(self.file)])
        captured = self.capsys.readouterr()
        assert found == code, captured.err
        return captured

    def fresh(self, *words):
        """Which stages were done now."""
        import json

        out = self.run(*words, "--json").out
        return [stage["stage"] for stage in json.loads(out)["stages"] if stage["fresh"]]


@pytest.fixture
def place(tmp_path, capsys, monkeypatch):
    """The toy's project. Its module lies beside these tests, and is found under its name."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    importlib.invalidate_caches()
    yield Place(tmp_path, capsys)
    sys.modules.pop("toy", None)
