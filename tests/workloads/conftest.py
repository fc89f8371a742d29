import importlib.util
import subprocess
import sys

import pytest
import torch

from expunge.workloads import Dataset


@pytest.fixture(scope="session")
def real(shared, tmp_path_factory):
    """MNIST and CIFAR-10 in their standard formats, laid out by the script that stands beside them."""
    if importlib.util.find_spec("PIL") is None:
        pytest.skip("pillow unpacks the data: pip install pillow")
    folder = tmp_path_factory.mktemp("data")
    subprocess.run([sys.executable, shared / "data" / "prepare.py", folder], check=True, capture_output=True)
    return folder


@pytest.fixture
def small():
    """40 + 10 random images of 1 × 8 × 8 in ten classes, and four people whose records they are."""
    chance = torch.Generator().manual_seed(1)
    images = torch.randint(256, (50, 1, 8, 8), generator=chance).to(torch.uint8)
    labels = torch.arange(50) % 10
    return Dataset(
        "small", images[:40], labels[:40], images[40:], labels[40:], 10, (127.5,), (74.0,), torch.arange(40) % 4
    )
