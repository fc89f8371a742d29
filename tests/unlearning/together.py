"""Run by test_distributed.py: forks the processes of one job after another, and puts what comes out into folders.

python together.py FOLDER '[[2, ["same_weights", "noise"]], …]' prints a line for each job: size, cases, exit codes, seconds.
"""

import json
import os
import shutil
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

import rig
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import expunge
from expunge import FastRotation, FineTune, LayerCycle, Permutation, RandomRotation, errors, weights

RANK, SIZE = 0, 1  # of each child
RUNS = {
    "ddp-Permutation": Permutation(3),
    "fsdp-Permutation": Permutation(3),
    "fsdp-RandomRotation": RandomRotation(3),  # lines run over the processes
    "fsdp-FastRotation": FastRotation(2),  # some chunks do
    "fsdp-LayerCycle": LayerCycle(2),
}
RECIPE = FineTune(steps=3, lr=0.05, momentum=0.9)
KEPT = {"checkpoint_every": 0.0}
CALLS = (3, 7)  # in the second block, and in fine-tuning


class Net(nn.Module):
    """A convolution, a normalisation, an awkward width, a scale, and a last layer with fewer rows than processes."""

    def __init__(self, *, norm):
        super().__init__()
        self.first = nn.Conv1d(1, 6, 3)
        self.norm = nn.BatchNorm1d(6) if norm else nn.GroupNorm(2, 6)
        self.body = nn.Linear(36, 130)
        self.scale = nn.Parameter(torch.ones(1))
        self.head = nn.Linear(130, 3)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x[:, None]))).flatten(1)
        return self.head(torch.tanh(self.body(x)) * self.scale)


def net(*, norm=False):
    torch.manual_seed(3)
    return Net(norm=norm)


def wrap(model, how):
    """As the user would."""
    if how == "ddp":
        return DistributedDataParallel(model)
    if how == "fsdp":
        for layer in (model.first, model.body, model.head):
            fully_shard(layer)
        return fully_shard(model)
    return model


def batches(*, divided=True):
    """The same batches of 8 whatever the number of processes; this one's share of each, or all of it."""
    whole = rig.batches(8, count=32, features=8)
    return [(x[RANK::SIZE], y[RANK::SIZE]) for x, y in whole] if divided else whole


def run(how, design, name, folder, *, norm=False, loss=rig.cross_entropy, plan=None, **options):
    model = wrap(net(norm=norm), how)
    made = rig.plan(model, design, **(plan or {}))
    options = {"simulate": 5, "fine_tune": RECIPE, "statistics_batches": 3} | options
    outcome = rig.unlearn(model, made, loader=batches(divided=not norm), loss=loss, **options)
    if RANK == 0 or how == "fsdp":
        weights.save(weights.state_of(model), folder / f"{name}.safetensors")
    if RANK == 0:
        outcome.certificate.save(folder / f"{name}.json")
    return model, outcome


def same_weights(folder):
    """In simulation mode."""
    for name, design in RUNS.items():
        run(name.split("-")[0], design, name, folder)
    for how in ("ddp", "fsdp"):
        run(how, Permutation(2), f"{how}-statistics", folder, norm=True)


def certified(folder):
    """With noise from the operating system; its certificate is verified by all together."""
    for how in ("ddp", "fsdp"):
        model, outcome = run(how, RandomRotation(3), f"{how}-certified", folder, simulate=None)
        findings = expunge.verify(outcome.certificate, model)
        assert any(finding.name == "weights" for finding in findings)


def noise(folder):
    """Nothing but noise: output perturbation, where the weights lie."""
    for name in ("Permutation", "RandomRotation", "FastRotation"):
        options = {"plan": rig.OUTPUT_PERTURBATION, "fine_tune": None, "simulate": None}
        run("fsdp", RUNS[f"fsdp-{name}"], f"noise-{name}", folder, **options)


class StopError(Exception):
    """In place of a crash."""


def stop_at(number, then):
    """A loss that does something else at one call."""
    calls = [0]

    def loss(model, batch):
        calls[0] += 1
        if calls[0] == number:
            then()
        return rig.cross_entropy(model, batch)

    return loss


def crash():
    raise StopError


def interrupted(folder):
    """All processes stop at once."""
    for how in ("ddp", "fsdp"):
        for call in CALLS:
            with suppress(StopError):
                path = folder / f"{how}-{call}.ckpt"
                run(how, Permutation(3), "no", folder, checkpoint=path, loss=stop_at(call, crash), **KEPT)


def resumed(folder):
    """What two processes left, by as many as there are now, in every way that there is."""
    ways = [("ddp", "ddp"), ("fsdp", "fsdp")] + [("fsdp", "ddp"), ("ddp", "bare"), ("fsdp", "bare")] * (SIZE == 1)
    for before, now in ways:
        for call in CALLS if SIZE == 1 else CALLS[:1]:
            copy = folder / f"{before}-{now}-{call}.ckpt"
            if RANK == 0:
                shutil.copytree(folder.parent / "2" / f"{before}-{call}.ckpt", copy)
            dist.barrier()
            run(now, Permutation(3), f"resumed-{before}-{now}-{call}", folder, checkpoint=copy, **KEPT)
            assert not copy.exists()


def refused(folder):
    """What would not be true, and in which words."""
    half = net()
    fully_shard(half.body)
    for model, told in ((net(), "a model of its own"), (half, "is not sharded and others are")):
        refuses(model, told)
    model = wrap(net(), "ddp")
    with torch.no_grad():
        model.module.scale.add_(RANK)  # replicas that differ
    refuses(model, "do not have the same")


def refuses(model, told):
    try:
        rig.unlearn(model, rig.plan(model), loader=batches())
    except errors.ExpungeError as error:
        assert told in str(error), error  # noqa: PT017
    else:
        raise AssertionError(told)


def killed(folder):
    """The second process, in the second block, with no time to say anything."""
    then = (lambda: os.kill(os.getpid(), signal.SIGKILL)) if RANK == 1 else (lambda: None)
    run("fsdp", Permutation(3), "killed", folder, checkpoint=folder / "killed.ckpt", loss=stop_at(4, then), **KEPT)


def after_killed(folder):
    """Started again, on one process less."""
    path = folder.parent / "2" / "killed.ckpt"
    run("fsdp", Permutation(3), "resumed-killed", folder, checkpoint=path, **KEPT)


def child(folder, size, rank, cases):
    """One process of several."""
    global RANK, SIZE
    RANK, SIZE = rank, size
    os.dup2(os.open(folder / f"told{rank}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=size)
    for case in cases:
        globals()[case](folder)
    dist.destroy_process_group()


def together(folder, size, cases):
    """Fork them, and wait; their exit codes."""
    folder.mkdir(exist_ok=True)
    (folder / "meeting").unlink(missing_ok=True)
    processes = []
    for rank in range(size):
        processes.append(os.fork())
        if processes[-1] == 0:
            code = 1
            try:
                child(folder, size, rank, cases)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
    return [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]


def main(folder, schedule):
    torch.set_num_threads(1)
    for size, cases in schedule:
        started, codes = time.time(), together(folder / str(size), size, cases)
        print(json.dumps([size, cases, codes, round(time.time() - started, 1)]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
