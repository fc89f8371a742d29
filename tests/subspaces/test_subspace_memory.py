"""Twenty million parameters: a block never costs a second copy of the model."""

import subprocess
import sys

import pytest

SCRIPT = """
import re, sys, torch
from expunge.subspaces import from_description

torch.set_num_threads(1)
tensors = [torch.zeros(int(size)) for size in sys.argv[3].split(",")]
for tensor in tensors:
    tensor.fill_(1.0)
def peak():  # MiB, of this process alone: ru_maxrss would begin with what its parent had
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
small = [torch.zeros(70_000)]  # libraries load what they need
for part in from_description({"kind": sys.argv[1], "k": 2}).bind({"warm-up": small[0].shape}).parts(0, small):
    part.piece.add_(small[0], part.piece.project(small[0]))
before = peak()
design = from_description({"kind": sys.argv[1], "k": int(sys.argv[2])})
partition = design.bind({str(i): tensor.shape for i, tensor in enumerate(tensors)})
bound = peak()
for block in range(3):
    for part in partition.parts(block, tensors):
        part.piece.add_(tensors[part.tensor], part.piece.project(tensors[part.tensor]))
print(bound - before, peak() - bound)
"""
MODEL = 20e6 * 4 / 2**20  # MiB


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux")
@pytest.mark.parametrize("kind", ["Permutation", "FastRotation"])
@pytest.mark.parametrize("sizes", [[1_000_000] * 20, [20_000_000]], ids=["many tensors", "one tensor"])
def test_a_block_of_a_large_model_costs_less_than_a_copy(kind, sizes):
    command = [sys.executable, "-c", SCRIPT, kind, "64", ",".join(map(str, sizes))]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    setup, block = map(float, result.stdout.split())
    assert setup < 0.1 * MODEL  # nothing is kept for a coordinate
    assert block < 0.1 * MODEL
