import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    """Small tensors are faster on one thread, and other tests run beside these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
