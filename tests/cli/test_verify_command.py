"""The auditor's path: a certificate and weights, nothing else, in seconds, and an answer that explains itself."""

import resource
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

import expunge as library
from expunge import weights

NO_NETWORK = """
import socket, sys
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = None
from expunge.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def handed_over(tmp_path_factory):
    """What an auditor is given: two files in a folder."""
    folder = tmp_path_factory.mktemp("auditor")
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    data = TensorDataset(torch.randn(60, 4), torch.arange(60) % 2)
    kept = DataLoader(Subset(data, range(6, 60)), 27)
    plan = library.plan(
        model, blocks=library.Permutation(2), proximity=0.5, epsilon=5, delta=1e-5, clip=0.0, step_size=0.0
    )
    outcome = library.unlearn(
        model, kept, lambda made, batch: nn.functional.cross_entropy(made(batch[0]), batch[1]), plan, forget=range(6)
    )
    outcome.certificate.save(folder / "certificate.json")
    weights.save(model.state_dict(), folder / "model.safetensors")
    return folder


def test_it_needs_two_files_no_network_and_seconds(handed_over):
    words = [sys.executable, "-c", NO_NETWORK, "verify", "certificate.json", "--weights", "model.safetensors"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(words, cwd=handed_over, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "VALID: the guarantee follows from the ledger" in done.stdout
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 10


def test_it_says_what_it_looked_at_and_what_no_file_can_show(handed_over, expunge):
    code, out, _ = expunge("verify", handed_over / "certificate.json")
    assert code == 0
    assert "VALID as a document. No weights were given" in out
    assert "epsilon 5, delta 1e-05, recomputed from 1 ledger(s), if the proximity 0.5 holds" in out
    assert "nobody has signed it" in out


def test_what_is_changed_is_not_valid(handed_over, refused, tmp_path):
    state = weights.load(handed_over / "model.safetensors")
    state["weight"][0, 0] = torch.nextafter(state["weight"][0, 0], torch.tensor(9.0))
    weights.save(state, tmp_path / "changed.safetensors")
    line = refused("verify", handed_over / "certificate.json", "--weights", tmp_path / "changed.safetensors", code=1)
    assert "NOT VALID: these are not the certified weights" in line
