"""scikit-learn's digits: 1,797 images of 8 × 8, inside the package, so that everything can be tried without a network."""

from pathlib import Path
from typing import Any

import torch

from ..errors import ConfigError
from .dataset import Dataset
from .folders import Fetch

TEST_EVERY = 5  # every fifth sample is a test sample: the set has no official split


def load(_folder: Path, _fetch: Fetch | None = None) -> Dataset:
    """1,438 training and 359 test samples."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ConfigError("the digits data set comes with scikit-learn: pip install 'expunge[digits]'.") from error
    found: Any = load_digits()
    images = torch.from_numpy(found.images).to(torch.uint8).unsqueeze(1)
    labels = torch.from_numpy(found.target).long()
    test = torch.arange(len(labels)) % TEST_EVERY == TEST_EVERY - 1
    return Dataset(
        name="digits",
        inputs=images[~test],
        labels=labels[~test],
        test_inputs=images[test],
        test_labels=labels[test],
        classes=10,
        mean=(4.88,),
        std=(6.02,),
    )
