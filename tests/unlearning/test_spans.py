"""A step is taken in spans that stay in the cache: the same step as all at once, for every design, layout and precision."""

import pytest
import torch

from expunge import Custom, FastRotation, HeadBody, LayerCycle, Permutation, RandomRotation, Whole
from expunge.accounting import Step
from expunge.subspaces.norms import energy, norm
from expunge.unlearning import step as steps
from expunge.unlearning.noise import CHUNK, NoiseSource
from expunge.unlearning.step import ActiveBlock

SHAPES = {
    "a.weight": torch.Size([37, 96]),
    "a.bias": torch.Size([96]),
    "b.weight": torch.Size([8, 5, 3, 3]),
    "c.long": torch.Size([63 * 64 + 63]),  # FastRotation(40): a chunk gives one coordinate, and the rest two
    "c.none": torch.Size([0]),
    "c.one": torch.Size([]),
}
DESIGNS = [
    Whole(),
    LayerCycle(2),
    HeadBody(),
    Permutation(3),
    Permutation(300),
    FastRotation(4),
    FastRotation(7),
    FastRotation(40),
    FastRotation(80),
    RandomRotation(3),
    Custom(groups=[["a.*", "c.one"], ["b.*", "c.long", "c.none"]]),
]
STEP = Step(step_size=0.1, weight_decay=0.5, clip=0.3, sigma=0.01)


def tensors(dtype, layout, seed):
    random = torch.Generator().manual_seed(seed)
    made = [torch.randn(shape, generator=random).to(dtype) for shape in SHAPES.values()]
    if layout == "turned":
        made = [x.t().contiguous().t() if x.dim() == 2 else x for x in made]
        made = [x.to(memory_format=torch.channels_last) if x.dim() == 4 else x for x in made]
    return made


def moved(design, dtype, layout, keeps, steps_taken=2):
    """Weights and energies after some steps of every block."""
    weights, found = tensors(dtype, layout, 0), []
    partition, noise = design.bind(SHAPES), NoiseSource.simulation(3)
    for block in range(min(8, len(partition.dimensions))):
        active = ActiveBlock(weights, partition.parts(block, weights), keeps=keeps)
        for number in range(steps_taken):
            for weight, gradient in zip(weights, tensors(dtype, layout, number + 1), strict=True):
                weight.grad = gradient
            measured = active.read_gradients(STEP)
            active.move(STEP, measured, noise, 10 * block + number)
            found.append(measured.noise_energy)
    return torch.cat([weight.reshape(-1) for weight in weights]), torch.tensor(found)


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("layout", ["plain", "turned"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: f"{type(d).__name__}-{getattr(d, 'k', '')}")
def test_spans_are_the_whole(design, dtype, layout, keeps, monkeypatch):
    monkeypatch.setattr(steps, "_spans", lambda part, parameter: [slice(0, part.size)])
    expected, energies = moved(design, dtype, layout, keeps)
    monkeypatch.undo()
    monkeypatch.setattr(steps, "_length", lambda: 64)
    found, others = moved(design, dtype, layout, keeps)
    close = {"rtol": 0, "atol": 2e-6 if dtype == torch.float32 else 1e-12}
    assert torch.allclose(found, expected, **close)
    assert torch.allclose(others, energies, rtol=1e-5)


def test_a_part_that_begins_late_is_drawn_in_whole_chunks():
    """Spans end where chunks of noise do, so that none is made twice."""
    weights = [torch.zeros(3 * CHUNK)]
    (part,) = Whole().bind({"w": weights[0].shape}).parts(0, weights)
    late = part._replace(first=CHUNK // 2 + 3)
    spans = steps._spans(late, weights[0])
    assert [span.start for span in spans[1:]] == [span.stop for span in spans[:-1]]
    assert (spans[0].start, spans[-1].stop) == (0, part.size)
    assert all((late.first + span.stop) % CHUNK == 0 for span in spans[:-1])
    assert len(spans) > 1


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 200_003])
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 1e30])
def test_energy_is_the_norm_squared(size, scale):
    noise = torch.randn(size, generator=torch.Generator().manual_seed(size)) * scale
    exact = noise.double().square().sum().item()
    assert norm(noise).item() ** 2 == pytest.approx(exact, rel=1e-12)
    assert energy(noise, scale) == pytest.approx(exact / scale**2, rel=1e-5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_norm_tells_what_is_not_finite(bad):
    values = torch.ones(70_000)
    values[66_000] = bad
    assert not norm(values).isfinite()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_energy_in_half_precision_is_summed_in_more(dtype):
    """float16 ends at 65,504, before one piece's sum."""
    noise = 3.0 * torch.randn(65_536, generator=torch.Generator().manual_seed(0))
    noise = noise.to(dtype)
    assert energy(noise, 3.0) == pytest.approx(noise.double().square().sum().item() / 9.0, rel=1e-9)
