"""The noise is normal, independent, and a function of key, step, tensor and coordinate alone. 5σ throughout."""

import inspect
import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import stats

from expunge.unlearning import noise
from expunge.unlearning.noise import NoiseSource

N = 1_000_000
SIZES = [0, 1, 2, 3, 7, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073, 262_143, 300_001]
LIKE = torch.zeros(1, dtype=torch.float64)
SINGLE = torch.zeros(1)


def draw(size, *, seed=1, step=0, tensor=0, like=LIKE):
    return NoiseSource.simulation(seed).normal(size, step=step, tensor=tensor, like=like)


@pytest.fixture(scope="module", params=[LIKE, SINGLE], ids=["float64", "float32"])
def like(request):
    return request.param


@pytest.fixture(scope="module")
def drawn(like):
    return draw(N, like=like)


@pytest.fixture(scope="module")
def sample(drawn):
    """What is drawn in either precision, to be counted in the one."""
    return drawn.double()


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


@pytest.mark.parametrize("lag", [1, 2, 32_768, 65_535, 65_536, 65_537, 131_072, 262_144])
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
def test_steps_tensors_and_seeds_are_independent(sample, like, other):
    values = draw(200_000, like=like, **other).double()
    correlation = (sample[:200_000] * values).mean().item()
    assert abs(correlation) < 5 / math.sqrt(200_000)
    assert (sample[:200_000] == values).sum() <= (0 if like is LIKE else 5)


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
def test_any_size_is_a_prefix_of_a_larger_one(drawn, like, size):
    """A coordinate's noise depends on its number, not on how many there are."""
    values = draw(size, like=like)
    assert values.shape == (size,)
    assert torch.equal(values, drawn[:size])


@pytest.mark.parametrize("first", [1, 65_536, 131_072, 200_001])
@pytest.mark.parametrize("size", [1, 5, 65_537, 262_145])
def test_a_coordinate_does_not_depend_on_where_one_begins(drawn, like, first, size):
    room, source = torch.full((300_000,), 7.0, dtype=like.dtype), NoiseSource.simulation(1)
    for given in (None, room, room[:3]):
        values = source.normal(size, step=0, tensor=0, like=like, first=first, room=given)
        assert torch.equal(values, drawn[first : first + size])
        assert (values.data_ptr() == room.data_ptr()) == (given is not None and len(given) >= size)
    assert (room[size:] == 7.0).all()


def test_no_word_of_the_keystream_is_used_twice(monkeypatch, like):
    """Every stretch that is asked for, in words of 16 bytes: two chunks and a bit of two tensors and two steps."""
    asked, real = [], noise.Cipher

    class Watched:
        def __init__(self, algorithm, mode):
            self.nonce, self.stream = int.from_bytes(mode.nonce, "big"), real(algorithm, mode)

        def encryptor(self):
            self.inner = self.stream.encryptor()
            return self

        def update_into(self, data, words):
            asked.append(range(self.nonce, self.nonce - (-len(data) // 16)))
            return self.inner.update_into(data, words)

    monkeypatch.setattr(noise, "Cipher", Watched)
    source = NoiseSource.simulation(1)
    for step, tensor in ((0, 0), (0, 1), (1, 0)):
        source.normal(2 * noise.CHUNK + 9, step=step, tensor=tensor, like=like)
    asked.sort(key=lambda stretch: stretch.start)
    assert all(one.stop <= other.start for one, other in pairwise(asked))
    bytes_each = 16 if like is LIKE else 12
    assert sum(map(len, asked)) >= 3 * 2 * noise.PAIRS * bytes_each // 16


def test_signs_are_symmetric_and_a_pair_is_independent(sample):
    """The four quadrants of cosine and sine, and what the one's size says of the other's."""
    cosine, sine = sample[: noise.PAIRS * 14].view(7, 2, -1).unbind(1)
    n = cosine.numel()
    for first in (cosine > 0, cosine < 0):
        for second in (sine > 0, sine < 0):
            assert abs((first & second).sum().item() - n / 4) < 5 * math.sqrt(n * 3 / 16)
    sizes = cosine.abs().flatten() > 1.0, sine.abs().flatten() > 1.0
    p = 2 * stats.norm.sf(1.0)
    assert abs((sizes[0] & sizes[1]).sum().item() - n * p * p) < 5 * math.sqrt(n * p * p)
    angle = torch.atan2(sine, cosine).flatten() / (2 * math.pi) + 0.5
    radius = torch.exp(-(cosine.square() + sine.square()).flatten() / 2)
    for uniform in (angle, radius, (angle + radius) % 1.0, (angle * 8) % 1.0):
        assert stats.kstest(uniform.numpy(), "uniform").pvalue > 5.7e-7


def box_with(radii, turns):
    """A float32 box with these words."""
    box = noise._BoxMuller(np.dtype(np.float32))
    box._bits[:], box._turns[:] = radii, turns
    return box


def test_all_angles_of_float32_together_have_the_variance_of_a_circle():
    """One radius (u = 1/e), 2¹⁷ evenly spread angles of either sign: cos² and sin² are a half, to what float32 rounds."""
    half = np.arange(-(2**31), 2**31, 2**32 // (noise.PAIRS // 2), dtype=np.int64) + 2**14
    out = np.empty(noise.CHUNK, np.float32)
    word = np.float64(2.0 - math.exp(-0.5)).view(np.int64) & noise.MANTISSA
    box_with(word, np.concatenate([half, half | 1]).astype(np.int32)).transform(out)
    for values in out.astype(np.float64).reshape(2, -1):
        assert abs(np.mean(values**2) - 0.5) < 1e-7
        assert np.array_equal(np.sort(values), np.sort(-values))  # not one sign is preferred, not even in one angle


def test_the_smallest_angles_have_both_signs():
    out = np.empty(noise.CHUNK, np.float32)
    box_with(0x000FFFFF00000000, np.resize(np.array([0, 1, -1, -2], np.int32), noise.PAIRS)).transform(out)
    cosine, sine = out[:4], out[noise.PAIRS :][:4]
    assert (np.sign(cosine) == [1, -1, -1, 1]).all()
    assert (np.sign(sine) == [1, -1, 1, -1]).all()
    assert len(set(np.abs(sine))) == len(set(np.abs(cosine))) == 1


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


def test_float32_is_float64_but_for_the_rounding_that_is_stated():
    """At most 4·10⁻⁷ of a radius (docs/mathematics.md), and no more on one side than on the other."""
    single, double = draw(N, like=SINGLE), draw(N)
    assert single.dtype == torch.float32
    whole = N // noise.CHUNK * noise.CHUNK
    pairs = double[:whole].view(-1, 2, noise.PAIRS)
    radius = pairs.norm(dim=1, keepdim=True).expand_as(pairs).flatten()
    off = (single.double() - double)[:whole] / radius
    assert off.abs().max().item() < 4e-7
    assert abs(off.mean().item()) < 5 * off.std().item() / math.sqrt(whole)


def test_double_precision_is_full():
    """Not float32 numbers in a float64 tensor."""
    sample = draw(1000)
    assert (sample.float().double() == sample).sum().item() < 3


def test_small_float32_noise_keeps_its_precision():
    """σ² does not underflow where σ does not."""
    for scale in (1e-30, 1e-18, 1e-3, 1e12, 1e30):
        values = NoiseSource.simulation(1).normal(1000, step=0, tensor=0, like=SINGLE, scale=scale)
        assert torch.allclose(values.double() / scale, draw(1000), rtol=0, atol=4e-6)


def test_the_extreme_words_give_finite_numbers():
    for dtype in (np.float32, np.float64):
        box, out = noise._BoxMuller(np.dtype(dtype)), np.empty(noise.CHUNK, dtype)
        for byte in (0x00, 0x7F, 0x80, 0xFF):
            for words in box.words:
                words[:] = bytes([byte]) * len(words)
            box.transform(out)
            assert np.isfinite(out).all()
            assert np.abs(out).max() < 8.6
    box = box_with(noise.MANTISSA, 1)
    box.transform(out := np.empty(noise.CHUNK, np.float32))
    assert np.abs(out).max() > 8.49  # the tail is as long in float32


def test_the_description_shows_no_key():
    source = NoiseSource(b"k" * 32, simulated=False)
    assert "operating system" in source.description
    assert "kkkk" not in source.description + repr(source)
    assert "simulation" in NoiseSource.simulation(77).description
    assert "77" not in NoiseSource.simulation(77).description


def test_no_other_randomness_makes_noise():
    text = inspect.getsource(noise)
    assert not any(word in text for word in ("torch.randn", "normal_(", "numpy.random", "import random"))


def test_the_number_of_threads_does_not_matter(drawn, like):
    torch.set_num_threads(3)
    assert torch.equal(draw(300_001, like=like), drawn[:300_001])


def test_nothing_of_the_noise_is_left_after_erasing(like):
    source = NoiseSource.simulation(1)
    source.normal(1000, step=0, tensor=0, like=like)
    (box,) = source._boxes[np.dtype(str(like.dtype).removeprefix("torch."))]
    held = [value for value in vars(box).values() if isinstance(value, np.ndarray)]
    assert any(array.any() for array in held)
    source.erase()
    assert not any(array.any() for array in held)
    assert not any(any(words[: 8 * 1000]) for words in box.words)


def test_room_elsewhere_is_not_used():
    """Noise is made on the CPU; what came back from another device is no room for more (on Apple's, no step was taken)."""
    like = torch.empty(0)
    room = torch.empty(200, device="meta")
    found = NoiseSource.simulation(1).normal(100, step=0, tensor=0, like=like, room=room)
    assert torch.equal(found, draw(100, like=like))
