"""A proximity file of another model, of other data or of another request is refused, and says what it is about."""

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from expunge.calibration import refuse_other
from expunge.errors import ProximityError
from expunge.workloads import ClassDeletion, IndexDeletion, RandomDeletion

MODEL = nn.Linear(2, 3)


class Samples(TensorDataset):
    sha256 = "ab" * 32

    def __init__(self, count):
        super().__init__(torch.zeros(count))


def calibrated(deletion, **coupling):
    about = {"dataset_size": 100, "dataset_sha256": "ab" * 32, "deletion": deletion.describe(), "removed": [10, 10]}
    pairs = [{"failed": "lost"}, {"gap": {"total": 1.0, "per_tensor": {"weight": 0.8, "bias": 0.6}}}]
    return {"pairs": pairs, "coupling": about | coupling}


def check(document, deletion=None, *, model=MODEL, size=100, removed=10):
    told = None if deletion is None else deletion.describe()
    refuse_other(document, model, dataset=Samples(size), deletion=told, removed=removed)


@pytest.mark.parametrize(
    ("measured", "asked", "removed"),
    [
        (RandomDeletion(0.1), RandomDeletion(0.1), 10),
        (ClassDeletion(3), ClassDeletion(3), 12),
        (RandomDeletion(0.1), IndexDeletion(range(10)), 10),  # a draw of what was calibrated, as far as anyone can see
        (IndexDeletion(range(10)), IndexDeletion(range(10)), 10),
    ],
)
def test_what_belongs_is_taken(measured, asked, removed):
    check(calibrated(measured), asked, removed=removed)


@pytest.mark.parametrize(
    ("measured", "asked", "removed"),
    [
        (RandomDeletion(0.1), RandomDeletion(0.2), 20),
        (RandomDeletion(0.1), ClassDeletion(3), 10),
        (ClassDeletion(2), ClassDeletion(3), 10),
        (RandomDeletion(0.1), IndexDeletion(range(11)), 11),
        (IndexDeletion(range(10)), IndexDeletion(range(1, 11)), 10),
    ],
)
def test_another_request_is_refused(measured, asked, removed):
    with pytest.raises(ProximityError, match="and the request is"):
        check(calibrated(measured), asked, removed=removed)


def test_another_model_is_refused_by_the_name_of_a_tensor():
    with pytest.raises(ProximityError, match="only the calibration trains 'bias'"):
        check(calibrated(RandomDeletion(0.1)), model=nn.Linear(2, 3, bias=False))
    frozen = nn.Linear(2, 3)
    frozen.bias.requires_grad_(False)
    with pytest.raises(ProximityError, match="only the calibration trains 'bias'"):
        check(calibrated(RandomDeletion(0.1)), model=frozen)


def test_other_data_are_refused():
    with pytest.raises(ProximityError, match="100 samples, and the data set has 99"):
        check(calibrated(RandomDeletion(0.1)), size=99)
    with pytest.raises(ProximityError, match="on other data"):
        check(calibrated(RandomDeletion(0.1), dataset_sha256="cd" * 32))
    check(calibrated(RandomDeletion(0.1), dataset_sha256=None))


def test_a_bare_proximity_says_nothing_and_is_taken():
    check({"gap": 0.5, "failure": 1.0}, RandomDeletion(0.1))
