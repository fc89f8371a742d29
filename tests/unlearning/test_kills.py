"""SIGKILL at random moments, 200 times and more: every run ends with the right weights, ledger and certificate."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import expunge

MEMORY = Path("/dev/shm")  # where there is one: a disk's fsync would take most of the time
SCRIPT = Path(__file__).with_name("kill_me.py")


def killed(folder, kills, *kind):
    command = [sys.executable, str(SCRIPT), str(folder), str(kills), *kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture(scope="module")
def simulated():
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        return killed(Path(name), 200)


def test_two_hundred_kills_change_nothing(simulated):
    assert simulated["kills"] >= 200
    assert len(simulated["results"]) >= 3
    for result in simulated["results"]:
        assert result == simulated["expected"]
        assert result[2] is True  # the ledger is the plan


def test_kills_leave_no_weights_behind(simulated):
    assert simulated["left"] == []


def test_certified_runs_that_were_killed_verify(folder):
    found = killed(folder, 20, "certified")
    assert found["kills"] >= 20
    assert all(result[2] for result in found["results"])
    shas = [result[0] for result in found["results"]]
    assert len(set(shas)) == len(shas)  # fresh noise every time
    for number in range(len(shas)):
        certificate = folder / f"result{number}.certificate"
        assert expunge.verify(certificate, folder / f"result{number}.safetensors")
