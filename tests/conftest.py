import os
from contextlib import suppress
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with vectors and data that is handed out beside the repository."""
    folder = os.environ.get("EXPUNGE_SHARED")
    if not folder:
        pytest.skip("set EXPUNGE_SHARED to the folder with vectors and data")
    return Path(folder)


@pytest.fixture(scope="session")
def timm():
    """timm asks torchvision for operators that its CPU wheel may bring in another build than torch's; none is called."""
    torch = pytest.importorskip("torch")
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        with suppress(RuntimeError):  # where torchvision's own are there
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    yield pytest.importorskip("timm")
    del library
