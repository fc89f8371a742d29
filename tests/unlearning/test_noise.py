"""The noise is normal, independent, and a function of key, step, tensor and coordinate alone. 5σ throughout."""

import inspect
import math

import pytest
import torch
from scipy import stats

from expunge.unlearning import noise
from expunge.unlearning.noise import NoiseSource

N = 1_000_000
SIZES = [0, 1, 2, 3, 7, 32_767, 32_768, 32_769, 65_535, 65_536, 65_537, 131_071, 200_001]
LIKE = torch.zeros(1, dtype=torch.float64)


def draw(size, *, seed=1, step=0, tensor=0, like=LIKE):
    return NoiseSource.simulation(seed).normal(size, step=step, tensor=tensor, like=like)


@pytest.fixture(scope="module")
def sample():
    return draw(N)


def test_moments(sample):
    assert abs(sample.mean().item()) < 5 / math.sqrt(N)
    assert abs(sample.var().item() - 1) < 5 * math.sqrt(2 / N)
    assert abs(sample.pow(3).mean().item()) < 5 * math.sqrt(15 / N)
    assert abs(sample.pow(4).mean().item() - 3) < 5 * math.sqrt(96 / N)


def test_distribution(sample):
    assert stats.kstest(sample.numpy(), "norm").pvalue > 5.7e-7
    for bound in (0.1, 1.0, 2.0, 3.0, 4.0):  # the tails too
        expected = 2 * stats.norm.sf(bound)
        found = (sample.abs() > bound).double().mean().item()
        assert abs(found - expected) < 5 * math.sqrt(expected * (1 - expected) / N)


@pytest.mark.parametrize("lag", [1, 2, 32_767, 32_768, 32_769, 65_536, 131_072])
def test_no_coordinate_knows_another(sample, lag):
    """Box and Muller's pairs are half a chunk apart; their squares must be independent as well."""
    for power in (1, 2):
        values = sample.pow(power) - float(power == 2)
        first, second = values[:-lag], values[lag:]
        spread = values.square().mean().item()
        assert abs((first * second).mean().item()) < 5 * spread / math.sqrt(len(first))


@pytest.mark.parametrize(
    "other",
    [{"step": 1}, {"step": 256}, {"step": 2**40}, {"tensor": 1}, {"tensor": 256}, {"tensor": 2**31}, {"seed": 2}],
)
def test_steps_tensors_and_seeds_are_independent(sample, other):
    values = draw(200_000, **other)
    correlation = (sample[:200_000] * values).mean().item()
    assert abs(correlation) < 5 / math.sqrt(200_000)
    assert not (sample[:200_000] == values).any()


def test_step_and_tensor_are_not_confused():
    assert not torch.equal(draw(10, step=1, tensor=0), draw(10, step=0, tensor=1))
    assert not torch.equal(draw(10, step=1, tensor=2), draw(10, step=2, tensor=1))


def test_the_counter_never_runs_into_the_next_tensor():
    """A long tensor's later words are not the first words of the tensor or the step after it."""
    long = draw(400_000)
    for other in (draw(50, tensor=1), draw(50, step=1)):
        assert not torch.isin(other, long).any()


def test_a_seed_gives_the_same_noise_again():
    assert torch.equal(draw(1000, seed=5), draw(1000, seed=5))
    source = NoiseSource.simulation(5)
    backwards = [source.normal(10, step=step, tensor=0, like=LIKE) for step in (2, 1, 0)][::-1]
    assert all(torch.equal(values, draw(10, seed=5, step=step)) for step, values in enumerate(backwards))


@pytest.mark.parametrize("size", SIZES)
def test_any_size_is_a_prefix_of_a_larger_one(sample, size):
    """A coordinate's noise depends on its number, not on how many there are."""
    values = draw(size)
    assert values.shape == (size,)
    assert torch.equal(values, sample[:size])


def test_certified_noise_never_comes_again():
    sources = [NoiseSource.certified() for _ in range(3)]
    draws = torch.cat([source.normal(1000, step=0, tensor=0, like=LIKE) for source in sources])
    assert len(draws.unique()) == 3000
    assert not any(source.simulated for source in sources)
    assert NoiseSource.simulation(1).simulated


def test_certified_noise_is_keyed_by_the_operating_system(monkeypatch):
    asked = []
    monkeypatch.setattr(noise.os, "urandom", lambda n: asked.append(n) or bytes(n))
    NoiseSource.certified()
    assert asked == [32]


def test_torch_seeds_do_not_matter():
    torch.manual_seed(0)
    first = NoiseSource.certified().normal(10, step=0, tensor=0, like=LIKE)
    torch.manual_seed(0)
    assert not torch.equal(first, NoiseSource.certified().normal(10, step=0, tensor=0, like=LIKE))
    state = torch.get_rng_state()
    draw(10)
    assert torch.equal(state, torch.get_rng_state())


def test_float32_is_the_rounded_float64():
    single = draw(1000, like=torch.zeros(1))
    assert single.dtype == torch.float32
    assert torch.equal(single, draw(1000).float())


def test_double_precision_is_full(sample):
    """Not float32 numbers in a float64 tensor."""
    assert (sample[:1000].float().double() == sample[:1000]).sum().item() < 3


def test_the_extreme_words_give_finite_numbers():
    box = noise._BoxMuller()
    out = torch.empty(noise.CHUNK, dtype=torch.float64)
    for byte in (0x00, 0xFF):
        box.words[:] = bytes([byte]) * len(box.words)
        box.transform(out)
        assert torch.isfinite(out).all()
        assert out.abs().max().item() < 8.6


def test_the_description_shows_no_key():
    source = NoiseSource(b"k" * 32, simulated=False)
    assert "operating system" in source.description
    assert "kkkk" not in source.description + repr(source)
    assert "simulation" in NoiseSource.simulation(77).description
    assert "77" not in NoiseSource.simulation(77).description


def test_no_other_randomness_makes_noise():
    text = inspect.getsource(noise)
    assert not any(word in text for word in ("torch.randn", "normal_(", "numpy.random", "import random"))


def test_the_number_of_threads_does_not_matter(sample):
    torch.set_num_threads(3)
    assert torch.equal(draw(300_001), sample[:300_001])
