"""Runs in several processes: the same gaps to the last bit, and a killed process takes no pair with it."""

import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from runs import Deadly, Fixed, Points, train

from expunge import IndexDeletion, LayerCycle, RandomDeletion
from expunge.calibration import calibrate, pool
from expunge.errors import ConfigError, ExpungeError

SINGLES = Fixed(((1,), (2,), (3,), (4,)))


def test_two_processes_measure_the_same_as_one_though_a_worker_is_killed(tmp_path):
    here = calibrate(train, Points(), SINGLES, pairs=4, design=LayerCycle(2))
    there = calibrate(Deadly(tmp_path, 3), Points(), SINGLES, pairs=4, design=LayerCycle(2), workers=2)
    assert (tmp_path / "killed").exists()
    for first, second in zip(here.pairs, there.pairs, strict=True):
        assert {**first, "seconds": 0} == {**second, "seconds": 0}
    assert here.proximity == there.proximity


def test_a_pair_whose_process_is_always_killed_counts_as_infinite_and_can_be_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "RETRIES", 1)
    kept = tmp_path / "kept"
    found = calibrate(Deadly(tmp_path, 3, always=True), Points(), SINGLES, pairs=4, workers=2, folder=kept)
    assert "killed" in found.pairs[2]["failed"]
    assert len(found.gaps) == 3
    assert found.proximity.failure == 2 / 5
    later = calibrate(Deadly(tmp_path, 3), Points(), SINGLES, pairs=4, folder=kept)
    assert later.gaps == calibrate(train, Points(), SINGLES, pairs=4).gaps


def test_a_base_run_that_is_always_killed_ends_the_calibration(monkeypatch):
    def lose(work, job, arguments, **_):
        return iter([pool.Lost(values, "it was killed") for values in arguments])

    monkeypatch.setattr(import_module("expunge.calibration.calibrate"), "run_all", lose)
    with pytest.raises(ExpungeError, match="the run on all data with seed 0 was lost: it was killed"):
        calibrate(train, Points(), IndexDeletion([1]), pairs=2)


def test_what_cannot_be_sent_is_refused_in_words():
    with pytest.raises(ConfigError, match="top level of a module, or use workers=1"):
        calibrate(lambda stream, seed: train(stream, seed), Points(), RandomDeletion(0.1), pairs=2, workers=2)


def test_workers_end_with_their_parent(tmp_path):
    """Whoever kills a calibration must not find its workers at it for hours."""
    command = [sys.executable, str(Path(__file__).with_name("orphans.py")), str(tmp_path)]
    with subprocess.Popen(command) as parent:
        _wait(lambda: all((tmp_path / f"{n}.pid").exists() for n in (0, 1)))
        workers = [int((tmp_path / f"{n}.pid").read_text()) for n in (0, 1)]
        assert all(map(_lives, workers))
        parent.send_signal(signal.SIGKILL)
    _wait(lambda: not any(map(_lives, workers)))


def _wait(done, seconds=60):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


def _lives(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
