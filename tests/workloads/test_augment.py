"""Batch transforms, against the obvious loop over images."""

import pytest
import torch
from torch.nn import functional

from expunge.errors import ConfigError
from expunge.workloads import Augment
from expunge.workloads.augment import normalise, random_crop, random_flip, resize


@pytest.fixture
def images():
    return torch.randint(256, (64, 3, 8, 10), generator=torch.Generator().manual_seed(0)).to(torch.uint8)


def seeded(seed=5):
    return torch.Generator().manual_seed(seed)


def test_the_crop_is_the_naive_one(images):
    cropped = random_crop(images, seeded(), padding=4)
    assert (cropped.shape, cropped.dtype) == (images.shape, torch.uint8)
    tops, lefts = torch.randint(9, (2, 64), generator=seeded())
    for image, found, top, left in zip(images, cropped, tops.tolist(), lefts.tolist(), strict=True):
        padded = torch.zeros(3, 16, 18, dtype=torch.uint8)
        padded[:, 4:12, 4:14] = image
        assert torch.equal(found, padded[:, top : top + 8, left : left + 10])
    assert {int(t) for t in tops} == set(range(9))


def test_the_flip_is_the_naive_one(images):
    flipped = random_flip(images, seeded())
    heads = torch.randint(2, (64,), generator=seeded()).tolist()
    for image, found, head in zip(images, flipped, heads, strict=True):
        assert torch.equal(found, torch.flip(image, [2]) if head else image)
    assert 0 < sum(heads) < 64


def test_every_place_and_side_is_as_likely():
    """100,000 crops and flips; five standard errors of a binomial."""
    n, p = 100_000, 1 / 81
    corner = torch.zeros(n, 1, 1, 1, dtype=torch.uint8) + 1
    inside = random_crop(corner, seeded(), padding=4).sum().item()  # one pixel: seen only at the centre
    assert abs(inside - n * p) < 5 * (n * p * (1 - p)) ** 0.5
    pair = torch.tensor([0, 1], dtype=torch.uint8).repeat(n, 1)[:, None, None]
    mirrored = random_flip(pair, seeded())[:, 0, 0, 0].sum().item()
    assert abs(mirrored - n / 2) < 5 * n**0.5 / 2


def test_normalising_is_per_channel(images):
    mean, std = (100.0, 120.0, 140.0), (50.0, 60.0, 70.0)
    found = normalise(images, mean, std)
    assert found.dtype == torch.float32
    for channel in range(3):
        assert torch.equal(found[:, channel], (images[:, channel].float() - mean[channel]) / std[channel])
    flat = torch.randn(5, 7)
    assert torch.equal(normalise(flat, (0.0,), (1.0,)), flat)


def test_resizing_is_bilinear(images):
    ramp = torch.arange(4.0).reshape(1, 1, 1, 4).expand(1, 1, 4, 4)
    assert resize(ramp, 8)[0, 0, 0].tolist() == pytest.approx([0.0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.0])
    big = resize(images[:4].float(), 224)
    assert big.shape == (4, 3, 224, 224)
    plain = functional.interpolate(images[:4].float(), (224, 224), mode="bilinear", align_corners=False)
    torch.testing.assert_close(big, plain, atol=1e-3, rtol=1e-4)  # antialiasing does nothing where an image grows


def test_the_same_seed_gives_the_same_batch_whatever_it_shows(images):
    augment = Augment(crop=4, flip=True)
    mean, std = (127.5,) * 3, (127.5,) * 3
    first = augment.training(images, seeded(), mean, std)
    assert torch.equal(first, augment.training(images, seeded(), mean, std))
    assert not torch.equal(first, augment.training(images, seeded(6), mean, std))
    other = images.clone()
    other[10:20] = 255 - other[10:20]
    second = augment.training(other, seeded(), mean, std)
    assert torch.equal(first[:10], second[:10])
    assert torch.equal(first[20:], second[20:])


def test_evaluation_has_no_chance(images):
    augment = Augment(crop=4, flip=True, resize=16)
    found = augment.evaluation(images, (0.0,) * 3, (1.0,) * 3)
    torch.testing.assert_close(found, resize(images.float(), 16))


def test_wrong_settings_are_refused():
    with pytest.raises(ConfigError, match="crop must be 0 or more"):
        Augment(crop=-1)
    with pytest.raises(ConfigError, match="resize 1 or more"):
        Augment(resize=0)
