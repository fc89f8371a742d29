"""As a shell runs it: exit codes, what is imported, how long it takes, and how much memory a wrong number may take."""

import os
import re
import resource
import subprocess
import sys
import time

import pytest

from expunge import __version__
from expunge import accounting as acc

WORDS = (
    "plan --epsilon 30 --delta 1e-5 --proximity 0.5 --clip 5000 --step-size 1e-4 --weight-decay 100 "
    "--blocks 4 --parameters 4364554"
)
PLAN = WORDS.split()


def run(words, *, options=(), gigabytes=None):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (gigabytes * 2**30,) * 2)

    command = [sys.executable, *options, "-m", "expunge", *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, preexec_fn=limit if gigabytes else None
    )


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "ledger.json"
    path.write_text(acc.to_json([acc.Block((acc.Step(1e-4, 100.0, 2500.0, 0.4),), 10)] * 4))
    account = ["account", str(path), "--proximity", "0.5", "--delta", "1e-5"]
    return [PLAN, [*PLAN, "--json"], account, [*account, "--json"]]


def test_exit_codes_and_streams(commands, tmp_path):
    for words in commands:
        done = run(words)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout
    wrong = run([*PLAN, "--delta", "2"])
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)
    path = tmp_path / "ledger.json"
    path.write_text(acc.to_json(acc.Block((acc.Step(1e-4, 100.0, 2500.0, 0.0),))))
    failed = run(["account", str(path), "--proximity", "0.5", "--delta", "1e-5"])
    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (1, "", 1)


def test_version_and_help():
    assert run(["--version"]).stdout.strip() == __version__
    for words in (["--help"], [], ["plan", "--help"], ["account", "--help"]):
        done = run(words)
        assert (done.returncode, done.stderr) == (0, "")
        assert "plan" in done.stdout or "ledger" in done.stdout.lower()


def test_neither_command_imports_anything_heavy(commands):
    for words in commands:
        imported = set(re.findall(r"\|\s+([\w.]+)\s*$", run(words, options=("-X", "importtime")).stderr, re.MULTILINE))
        assert "expunge.accounting.gaussian" in imported
        assert not {name.split(".")[0] for name in imported} & {"torch", "numpy", "scipy", "matplotlib", "pandas"}


def test_both_commands_answer_in_half_a_second(commands):
    for words in commands:
        assert min(seconds(words) for _ in range(3)) < 0.5, words


def seconds(words):
    """Until the answer; where more programs run than there are processors, only the time that this one had one."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run(words)
    waited, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = os.getloadavg()[0] > os.cpu_count()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime if busy else waited


def test_a_closed_pipe_is_no_traceback():
    command = [sys.executable, "-m", "expunge", *PLAN, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize("change", [["--steps", "1000000000000"], ["--steps", "9999999", "--blocks", "100000"]])
def test_absurd_sizes_are_refused_before_they_fill_the_memory(change):
    words = [word for pair in zip(PLAN[1::2], PLAN[2::2], strict=True) if pair[0] not in change for word in pair]
    done = run(["plan", *words, *change], gigabytes=1)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr[-300:]


def test_absurdly_many_best_steps_are_refused_before_they_fill_the_memory():
    words = WORDS.replace("--clip 5000", "--clip 1e-9").replace("--weight-decay 100", "--weight-decay 0").split()
    done = run([*words, "--steps", "best"], gigabytes=1)
    assert (done.returncode in (1, 2), done.stdout, done.stderr.count("\n")) == (True, "", 1), done.stderr[-300:]
