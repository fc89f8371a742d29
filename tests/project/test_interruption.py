"""A kill in the middle of any stage, and the next run goes on: nothing that was finished is done again."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from expunge import certificate
from expunge.project import pipeline

ALL = [stage.name for stage in pipeline.STAGES]
KILLER = Path(__file__).parent / "kill_me.py"


def killed(place, stage, after, log):
    environment = {**os.environ, "TOY_LOG": str(log), "PYTHONPATH": os.pathsep.join([*sys.path, str(KILLER.parent)])}
    words = [sys.executable, str(KILLER), str(place.file), stage, str(after)]
    found = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == -signal.SIGKILL, found.stderr


@pytest.mark.parametrize(
    ("stage", "after", "trained"),
    [
        ("train", 0, 0),
        ("calibrate", 3, 1),  # the pair in which it was killed
        ("plan", 0, 0),
        ("unlearn", 9, 0),
        ("verify", 0, 0),
        ("audit", 3, 0),
        ("report", 0, 0),
    ],
)
def test_a_kill_costs_only_what_was_not_finished(place, monkeypatch, stage, after, trained):
    log = place.folder / "log"
    monkeypatch.setenv("TOY_LOG", str(log))
    killed(place, stage, after, log)
    assert place.fresh() == ALL[ALL.index(stage) :]
    once = 1 + (1 + 4) + 2
    repeated = 1 if stage == "train" else trained
    assert once <= len(log.read_text().splitlines()) <= once + repeated
    run = place.folder / "run"
    certificate.verify(run / "certificate.json", run / "unlearned.safetensors")
    assert certificate.load(run / "certificate.json")["hops"][-1]["looks"] == 1
    curve = json.loads((run / "curve.json").read_text())["curve"]
    assert [(point["phase"], point["step"]) for point in curve] == [
        *(("noise", step) for step in range(1, 5)), *(("fine-tune", step) for step in range(1, 13))
    ]  # fmt: skip


def test_settings_changed_after_a_kill_begin_the_stage_again(place, monkeypatch):
    log = place.folder / "log"
    monkeypatch.setenv("TOY_LOG", str(log))
    killed(place, "calibrate", 3, log)
    place.change("pairs = 4", "pairs = 3")
    assert place.fresh("plan") == ["calibrate", "plan"]
