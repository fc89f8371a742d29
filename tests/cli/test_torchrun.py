"""`torchrun … -m expunge unlearn`, as a shell runs it."""

import json
import os
import subprocess
import sys

from safetensors.torch import save_file

SHOP = """
import torch
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 9), torch.nn.BatchNorm1d(9), torch.nn.ReLU(), torch.nn.Linear(9, 3))

def sharded():
    return fully_shard(model())

def retained():
    x = torch.randn(60, 5, generator=torch.Generator().manual_seed(1))
    kept = Subset(TensorDataset(x, x[:, :3].argmax(1)), range(10, 60))
    return DataLoader(kept, 5, sampler=DistributedSampler(kept))
"""
PLAN = (
    "--proximity 0.1 --epsilon 20 --delta 1e-5 --clip 0.5 --step-size 0.01 --fine-tune-steps 25 --design FastRotation"
)


def test_two_processes_write_one_certificate(expunge, tmp_path, monkeypatch):
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "forget.txt").write_text(" ".join(map(str, range(10))))
    monkeypatch.syspath_prepend(tmp_path)
    import shop  # pyright: ignore[reportMissingImports]

    save_file(shop.model().state_dict(), tmp_path / "trained.safetensors")
    words = "-m torch.distributed.run --standalone --nproc-per-node 2 -m expunge unlearn --json --model shop:sharded"
    words += f" --weights trained.safetensors --data shop:retained --forget forget.txt {PLAN}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *words.split()], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout)["kind"] == "certificate"  # one answer
    code, out, _ = expunge("verify", tmp_path / "certificate.json", "--weights", tmp_path / "unlearned.safetensors")
    assert (code, "SHA-256" in out) == (0, True)
