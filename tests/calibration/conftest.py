import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))  # for the helpers that other processes must find


@pytest.fixture(autouse=True)
def one_thread():
    """As calibration does with its default, so that what a test trains by itself is comparable."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
