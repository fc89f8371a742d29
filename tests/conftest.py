import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with vectors and data that is handed out beside the repository."""
    folder = os.environ.get("EXPUNGE_SHARED")
    if not folder:
        pytest.skip("set EXPUNGE_SHARED to the folder with vectors and data")
    return Path(folder)
