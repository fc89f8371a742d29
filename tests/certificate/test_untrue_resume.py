"""Ways in which a run that was interrupted could end with an untrue certificate, or leave un-noised weights behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from paperwork import batches, network, plan, unlearn, values
from torch import nn

import expunge
from expunge import FineTune


class Killed(Exception):  # noqa: N818 (it is no error)
    pass


def killed_at(phase, step):
    def meter(progress):
        if (progress.phase, progress.step) == (phase, step):
            raise Killed

    return meter


class Centred(nn.Module):
    """A linear layer and a running centre of what the training saw."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(4, 3)
        self.register_buffer("centre", torch.full((3,), 50.0))
        self.seen = []

    def forward(self, x):
        self.seen.append(self.centre[0].item())
        return (self.layer(x) - self.centre).tanh()


def run_centred(path, progress=None):
    model = Centred()
    recipe = {"recompute": {"centre": lambda _: torch.zeros(3)}, "fine_tune": FineTune(6), "simulate": 1}
    if progress is not None:
        recipe["progress"] = progress
    unlearn(model, plan(model), checkpoint=path, checkpoint_every=0.0, **recipe)
    return model


def test_a_resumed_fine_tuning_does_not_see_the_buffers_of_the_trained_model(tmp_path):
    whole = run_centred(tmp_path / "whole")
    with pytest.raises(Killed):
        run_centred(tmp_path / "cut", killed_at("fine-tune", 3))
    resumed = run_centred(tmp_path / "cut")
    assert 50.0 not in resumed.seen
    assert all(tensor.equal(values(resumed)[name]) for name, tensor in values(whole).items())


def test_a_checkpoint_is_not_taken_over_by_a_run_on_other_data(tmp_path):
    """The first run's data may hold what the second must forget; the noise of the first does not hide it."""
    path, recipe = tmp_path / "run", {"fine_tune": FineTune(4), "checkpoint_every": 0.0}
    with pytest.raises(Killed):
        unlearn(network(), checkpoint=path, progress=killed_at("fine-tune", 3), **recipe)
    phases = []
    try:
        unlearn(
            network(),
            checkpoint=path,
            loader=batches(2, seed=9),
            progress=lambda progress: phases.append(progress.phase),
            **recipe,
        )
    except expunge.ExpungeError:
        return
    assert "noise" in phases


@pytest.mark.parametrize("change", ["plan", "weights", "recipe", "simulate", "forget"])
def test_a_checkpoint_of_another_run_is_refused(tmp_path, change):
    path, recipe = tmp_path / "run", {"fine_tune": FineTune(4), "checkpoint_every": 0.0}
    options = {"indices": lambda _: [5], "forget": [1]}
    with pytest.raises(Killed):
        unlearn(network(), checkpoint=path, progress=killed_at("noise", 1), **recipe, **options)
    model = network(seed=1 if change == "weights" else 0)
    made = plan(model, epsilon=2.0 if change == "plan" else 1.0)
    if change == "recipe":
        recipe["fine_tune"] = FineTune(5)
    elif change == "simulate":
        recipe["simulate"] = 1
    elif change == "forget":
        options["forget"] = [2]
    with pytest.raises(expunge.ConfigError):
        unlearn(model, made, checkpoint=path, **recipe, **options)


KILL = """
import os, signal, sys
import expunge.weights
expunge.weights.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
sys.path.insert(0, sys.argv[1])
from paperwork import network, unlearn
unlearn(network(), checkpoint=sys.argv[2], checkpoint_every=0.0)
"""


def test_a_kill_while_writing_leaves_no_unnoised_weights_once_the_run_is_done(tmp_path):
    path = tmp_path / "run"
    done = subprocess.run([sys.executable, "-c", KILL, str(Path(__file__).parent), str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    unlearn(network(), checkpoint=path, checkpoint_every=0.0)
    assert os.listdir(tmp_path) == []


def test_a_checkpoint_is_for_its_owner_alone_and_gone_at_the_end(tmp_path):
    path, modes = tmp_path / "run", set()
    model = network()

    def look(_):
        if path.exists():
            modes.add(path.stat().st_mode & 0o777)

    unlearn(model, checkpoint=path, checkpoint_every=0.0, progress=look)
    assert modes == {0o600}
    assert os.listdir(tmp_path) == []


def test_a_checkpoint_path_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    model = network()
    before = values(model)
    with pytest.raises(expunge.ExpungeError):
        unlearn(model, checkpoint=tmp_path / "missing" / "run")
    assert all(tensor.equal(before[name]) for name, tensor in values(model).items())
