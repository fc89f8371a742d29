"""One model on several processes (gloo, on the CPU): the same weights, every coordinate noised once, or no certificate."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import rig
import torch
from safetensors.torch import load_file
from test_every_coordinate_moves import likely_normals
from together import RUNS, net, run

import expunge
from expunge.errors import CertificationError
from expunge.subspaces.shards import Cut, Shards

HERE = Path(__file__).parent
JOBS = [
    [2, ["same_weights", "certified", "noise", "refused", "interrupted"]],
    [4, ["same_weights", "certified", "noise", "resumed"]],
    [2, ["killed"]],
    [1, ["same_weights", "resumed", "after_killed"]],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All jobs, one after another: two processes leave checkpoints for the others."""
    folder = tmp_path_factory.mktemp("together")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "together.py"), str(folder), json.dumps(JOBS)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=600, check=True)
    codes = [json.loads(line)[2] for line in done.stdout.splitlines()]
    told = {str(path.relative_to(folder)): path.read_text()[-1500:] for path in folder.glob("*/told*")}
    assert codes == [[0] * 2, [0] * 4, [1, -signal.SIGKILL], [0]], told
    return folder


def difference(first, second):
    one, other = load_file(first), load_file(second)
    assert one.keys() == other.keys()
    return max((one[name].double() - other[name].double()).abs().max().item() for name in one)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The same run on a module that nothing is wrapped around."""
    folder = tmp_path_factory.mktemp("alone")
    for name, design in {**RUNS, "ddp-statistics": expunge.Permutation(2)}.items():
        run("bare", design, name.split("-")[1], folder, norm="statistics" in name)
    return folder


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("name", [*RUNS, "ddp-statistics", "fsdp-statistics"])
def test_any_number_of_processes_ends_with_the_same_weights(folder, alone, name, size):
    expected = alone / f"{name.split('-')[1]}.safetensors"
    assert difference(folder / str(size) / f"{name}.safetensors", expected) <= 1e-6


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("how", ["ddp", "fsdp"])
def test_the_certificate_verifies(folder, how, size):
    place = folder / str(size)
    expunge.verify(place / f"{how}-certified.json", place / f"{how}-certified.safetensors")
    certificate = expunge.certificate.load(place / f"{how}-certified.json")
    assert f"{size} processes, {'FSDP2' if how == 'fsdp' else 'DDP'}" in certificate["run"]["generator"]


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("name", ["Permutation", "RandomRotation", "FastRotation"])
def test_every_shard_is_noised_once(folder, name, size):
    """5σ of mean and variance for every tensor's every shard, and no noise used for two of them."""
    before, after = net().state_dict(), load_file(folder / str(size) / f"noise-{name}.safetensors")
    made = rig.plan(net(), RUNS[f"fsdp-{name}"], **rig.OUTPUT_PERTURBATION)
    changes = {key: after[key].double() - before[key].double() for key in before}
    for key, change in changes.items():
        for shard in change.chunk(size):
            assert (shard != 0).all(), key
            assert likely_normals(shard, made.blocks[0].steps[0].sigma), key
    rows = changes["body.weight"].chunk(size)
    for i, first in enumerate(rows):
        for second in rows[:i]:
            n = min(first.numel(), second.numel())
            a, b = first.flatten()[:n], second.flatten()[:n]
            assert abs((a @ b / (a.norm() * b.norm())).item()) < 5 / n**0.5


def test_a_checkpoint_of_two_processes_is_resumed_by_any_number(folder, alone):
    found = sorted(folder.glob("*/resumed-*-[0-9].safetensors"))
    assert [sum(path.parent.name == size for path in found) for size in "14"] == [10, 2]
    for path in found:
        assert difference(path, alone / "Permutation.safetensors") <= 1e-6, path


def test_a_killed_process_stops_the_others_and_the_run_resumes(folder, alone):
    assert "another process of this run failed or was killed" in (folder / "2" / "told0").read_text()
    assert not (folder / "2" / "killed.json").exists()
    assert difference(folder / "1" / "resumed-killed.safetensors", alone / "Permutation.safetensors") <= 1e-6


def test_a_shard_whose_coordinates_are_missing_is_found():
    """What every process holds is counted before each block."""
    partition = expunge.Permutation(2).bind({"a": torch.Size([8])})
    seen = Shards(partition, [torch.Size([8])], [Cut([0, 4, 8], 0)], add_up=lambda t: t, total=list)
    with pytest.raises(CertificationError, match=r"hold 2\.0 coordinates of block 0, which has 4"):
        seen.parts(0, [torch.zeros(4)])
