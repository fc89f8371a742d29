import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: on models this small, threads only wait for each other

from importlib.util import find_spec
from pathlib import Path

import pytest

from with_torchvision import declare_operators


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with vectors and data that is handed out beside the repository."""
    folder = os.environ.get("EXPUNGE_SHARED")
    if not folder:
        pytest.skip("set EXPUNGE_SHARED to the folder with vectors and data")
    return Path(folder)


@pytest.fixture(scope="session")
def vision():
    """torchvision can be imported, even where its compiled part does not fit torch."""
    if find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed: pip install 'expunge[vision]'")
    declare_operators()


@pytest.fixture(scope="session")
def timm(vision):
    return pytest.importorskip("timm")
