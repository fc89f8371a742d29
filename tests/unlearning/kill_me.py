"""Run by test_kills.py in a process of its own: children are forked, killed at random moments, and forked again.

python kill_me.py FOLDER KILLS [certified] prints one JSON object: kills, and per run what came out.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import interruptible
import torch

from expunge import weights

RUNS = 3  # at least
LONGEST = 0.08  # seconds that a child lives at most; a whole run takes longer


def child(path, result, simulate):
    """A whole run, or as much of it as there is time for."""
    variant = {"plan": {"steps": 8}} if simulate is not None else {"plan": {"steps": 5}}
    outcome, made = interruptible.run("Adam", path, simulate=simulate, recompute=False, **variant)
    weights.save(outcome.model.state_dict(), result.with_suffix(".safetensors"))
    outcome.certificate.save(result.with_suffix(".certificate"))
    answer = [outcome.record.output_sha256, repr(outcome.record.ledger), outcome.record.ledger == made.blocks]
    result.with_suffix(".partial").write_text(json.dumps(answer))
    result.with_suffix(".partial").rename(result)


def attempt(path, result, simulate, lifetime):
    """Fork, and kill after a while. Whether it was killed."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            child(path, result, simulate)
            code = 0
        finally:
            os._exit(code)
    if lifetime is not None:
        time.sleep(lifetime)
        os.kill(process, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status not in (0, -signal.SIGKILL):
        raise SystemExit(f"the run failed: {status}")
    return status == -signal.SIGKILL


def main(folder, least, certified):
    torch.set_num_threads(1)
    torch.optim.Adam([torch.zeros(1)])  # imports what every child would otherwise import first
    dice, kills, results = random.Random(0), 0, []
    while kills < least or len(results) < RUNS:
        simulate = None if certified else 5
        path, result = folder / f"checkpoint{len(results)}", folder / f"result{len(results)}"
        longest = LONGEST  # a little longer every time: a busy machine must get there too
        while not result.exists():
            killed, longest = attempt(path, result, simulate, dice.uniform(0.0, longest)), longest * 1.02
            kills += killed and not result.exists()
        results.append(json.loads(result.read_text()))
    expected = None
    if not certified:
        attempt(None, folder / "expected", 5, None)
        expected = json.loads((folder / "expected").read_text())
    left = sorted(p.name for p in folder.iterdir() if "checkpoint" in p.name)
    print(json.dumps({"kills": kills, "results": results, "expected": expected, "left": left}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), "certified" in sys.argv)
