"""L-BFGS an iteration a step: torch's own, without looking twice at one point."""

import copy

import pytest
import torch
from torch import nn

import expunge
from expunge.api import entry_of
from expunge.errors import ConfigError
from expunge.lbfgs import LOOKS, Lbfgs


def problem():
    """A small classification, steep in one direction; its loss counts how often it is looked at."""
    chance = torch.Generator().manual_seed(0)
    inputs = torch.randn(60, 5, generator=chance) * torch.tensor([30.0, 1.0, 1.0, 0.3, 0.1])
    labels = (inputs[:, 1] + torch.randn(60, generator=chance) > 0).long()
    model = nn.Linear(5, 2)
    nn.init.zeros_(model.weight), nn.init.zeros_(model.bias)
    looks = []

    def closure():
        model.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels) + 0.005 * model.weight.square().sum()
        looks.append(loss.item())
        loss.backward()
        return loss.item()

    return model, closure, looks


def test_it_goes_where_torchs_goes_with_half_the_looks():
    model, closure, looks = problem()
    twin, own_closure, own_looks = problem()
    theirs = torch.optim.LBFGS(twin.parameters(), max_iter=1, max_eval=LOOKS, line_search_fn="strong_wolfe")
    ours = Lbfgs(model.parameters())
    for _ in range(25):
        assert ours.step(closure) == theirs.step(own_closure)
        assert all(map(torch.equal, model.parameters(), twin.parameters()))
    assert len(own_looks) == len(looks) + 24  # one less at every start but the first
    assert looks[-1] < 0.9 * looks[0]


def test_a_point_that_somebody_moved_is_looked_at_anew():
    model, closure, looks = problem()
    optimizer = Lbfgs(model.parameters())
    optimizer.step(closure)
    with torch.no_grad():
        model.weight.mul_(0.5)
    count = len(looks)
    began = optimizer.step(closure)
    assert began == looks[count]
    twin, own_closure, _ = problem()
    assert began != own_closure()
    assert twin is not model


def test_it_has_a_name_in_recipes():
    model, _, _ = problem()
    made = expunge.FineTune(3, "lbfgs", lr=1.0).make_optimizer(list(model.parameters()))
    assert isinstance(made, Lbfgs)
    assert made.param_groups[0]["lr"] == 1.0
    with pytest.raises(ConfigError, match="lbfgs knows no weight decay"):
        expunge.FineTune(3, "lbfgs", weight_decay=0.1)


def correlated():
    """Inputs with one long direction, as features have, and their labels."""
    chance = torch.Generator().manual_seed(1)
    inputs = torch.randn(400, 20, generator=chance, dtype=torch.float64) @ torch.diag(
        torch.logspace(0, -2, 20).double()
    )
    inputs = inputs + 5.0 * torch.randn(20, generator=chance, dtype=torch.float64)
    return inputs, (inputs[:, 3] > inputs[:, 3].mean()).long()


def whitened(*, bias=True, whiten=0, steps=8):
    """The gradient's norm after so many iterations, and the layer."""
    inputs, labels = correlated()
    layer = nn.Linear(20, 2, bias=bias).double()
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    optimizer = expunge.FineTune(steps, "lbfgs", lr=1.0, whiten=whiten).make_optimizer(
        list(layer.parameters()), (inputs, labels)
    )

    def closure():
        layer.zero_grad()
        loss = nn.functional.cross_entropy(layer(inputs), labels) + 0.005 * sum(
            p.square().sum() for p in layer.parameters()
        )
        loss.backward()
        return loss.item()

    for _ in range(steps):
        optimizer.step(closure)
    closure()
    return torch.cat([p.grad.reshape(-1) for p in layer.parameters()]).norm().item(), layer


@pytest.mark.parametrize("bias", [True, False])
def test_whitened_it_gets_there_in_fewer_iterations(bias):
    plain, _ = whitened(bias=bias)
    some, _ = whitened(bias=bias, whiten=100)
    every, _ = whitened(bias=bias, whiten=400)
    assert max(some, every) < 0.2 * plain


def test_whitened_it_ends_at_the_same_minimiser():
    plain, whited = whitened(steps=200), whitened(steps=200, whiten=400)
    for (slope, layer), other in ((plain, whited), (whited, plain)):
        assert slope < 1e-4
        for mine, theirs in zip(layer.parameters(), other[1].parameters(), strict=True):
            assert torch.allclose(mine, theirs, atol=1e-2)


def test_whitening_is_for_one_linear_layer():
    deep, batch = nn.Sequential(nn.Linear(20, 5), nn.Linear(5, 2)), (torch.zeros(3, 20), torch.zeros(3))
    for model, given in ((deep, batch), (nn.Linear(20, 2), (torch.zeros(3, 4, 5), 0)), (nn.Linear(20, 2), {"x": 0})):
        with pytest.raises(ConfigError, match="whiten"):
            expunge.FineTune(3, "lbfgs", whiten=10).make_optimizer(list(model.parameters()), given)
    with pytest.raises(ConfigError, match="only lbfgs"):
        expunge.FineTune(3, "adam", whiten=10)


def test_a_request_whitens_in_both_phases_and_goes_on_after_an_interruption(tmp_path):
    inputs, labels = correlated()
    kept = [(inputs, labels)]

    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch[0]), batch[1]) + 0.005 * model.weight.square().sum()

    recipe = expunge.FineTune(4, "lbfgs", lr=1.0, whiten=200)
    gap = expunge.accounting.Proximity(0.1, 0.1, "pairs", entry=entry_of(recipe))
    ended = []
    for stop in (None, 2):
        torch.manual_seed(0)
        layer = nn.Linear(20, 2).double()
        plan = expunge.plan(
            layer, blocks=expunge.Whole(), proximity=gap, epsilon=10, delta=1e-5, clip=0.0, step_size=0.0
        )
        options = {
            "clean": recipe,
            "fine_tune": recipe,
            "simulate": 3,
            "checkpoint": tmp_path / f"{stop}",
            "checkpoint_every": 0.0,
        }

        def interrupt(progress, stop=stop):
            if stop is not None and progress.phase == "fine-tune" and progress.step == stop:
                raise KeyboardInterrupt

        if stop is not None:
            with pytest.raises(KeyboardInterrupt):
                expunge.unlearn(copy.deepcopy(layer), kept, loss, plan, progress=interrupt, **options)
        outcome = expunge.unlearn(layer, kept, loss, plan, **options)
        assert outcome.certificate["run"]["clean"]["whiten"] == 200
        ended.append([p.detach().clone() for p in layer.parameters()])
    for whole, resumed in zip(*ended, strict=True):
        assert torch.allclose(whole, resumed, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "inputs",
    [
        torch.randn(30, 4, dtype=torch.float64),
        torch.randn(30, 4).half(),
        torch.randint(0, 5, (30, 4)),
        torch.randn(4, 30).t(),
        torch.randn(1, 4),
        torch.zeros(5, 4),
        torch.full((5, 4), 1e18),
    ],
    ids=["float64", "half", "whole", "turned", "one", "zero", "huge"],
)
@pytest.mark.parametrize("bias", [True, False])
def test_whitening_takes_any_finite_inputs(inputs, bias):
    layer = nn.Linear(4, 3, bias=bias)
    before = [parameter.detach().clone() for parameter in layer.parameters()]
    optimizer = expunge.FineTune(1, "lbfgs", lr=1.0, whiten=10).make_optimizer(list(layer.parameters()), (inputs,))
    optimizer._put()
    for parameter, was in zip(layer.parameters(), before, strict=True):
        assert torch.allclose(parameter, was, atol=1e-4)


@pytest.mark.parametrize(
    ("layer", "inputs"),
    [
        (nn.Linear(4, 3), torch.zeros(0, 4)),
        (nn.Linear(4, 3), torch.full((5, 4), float("nan"))),
        (nn.Linear(4, 3), torch.zeros(())),
        (nn.Linear(4, 3).half(), torch.zeros(5, 4)),
        (nn.ParameterList([nn.Parameter(torch.zeros(()))]), torch.zeros(5, 4)),
        (nn.ReLU(), torch.zeros(5, 4)),
    ],
    ids=["none", "nan", "a number", "half", "a scale", "nothing"],
)
def test_whitening_says_what_it_cannot_take(layer, inputs):
    with pytest.raises(ConfigError, match="whiten"):
        expunge.FineTune(1, "lbfgs", whiten=10).make_optimizer(list(layer.parameters()), (inputs,))


def test_whitening_is_refused_before_anything_moves():
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
    plan = expunge.plan(model, blocks=expunge.Whole(), proximity=0.1, epsilon=10, delta=1e-5, clip=0.0, step_size=0.0)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    with pytest.raises(ConfigError, match="one linear layer"):
        expunge.unlearn(
            model, [torch.zeros(5, 4)], lambda m, x: m(x).sum(), plan, fine_tune=expunge.FineTune(1, "lbfgs", whiten=3)
        )
    assert all(map(torch.equal, model.parameters(), before))


def test_a_whitened_run_resumes_bit_for_bit_on_shuffled_batches(tmp_path):
    """The batch that told of the inputs is not drawn again, and the coordinates are those of before."""
    inputs, labels = correlated()
    data = torch.utils.data.TensorDataset(inputs, labels)

    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch[0]), batch[1]) + 0.005 * model.weight.square().sum()

    ended = []
    for stop in (None, 1, 2, 3):
        torch.manual_seed(0)
        layer = nn.Linear(20, 2).double()
        made = expunge.plan(
            layer, blocks=expunge.Whole(), proximity=0.1, epsilon=10, delta=1e-5, clip=0.0, step_size=0.0
        )
        options = {
            "fine_tune": expunge.FineTune(4, "lbfgs", lr=1.0, whiten=50),
            "simulate": 3,
            "checkpoint": tmp_path / f"{stop}",
            "checkpoint_every": 0.0,
        }

        def interrupt(progress, stop=stop):
            if progress.phase == "fine-tune" and progress.step == stop:
                raise KeyboardInterrupt

        def kept():
            return torch.utils.data.DataLoader(data, batch_size=100, shuffle=True)

        if stop is not None:
            with pytest.raises(KeyboardInterrupt):
                expunge.unlearn(copy.deepcopy(layer), kept(), loss, made, progress=interrupt, **options)
        outcome = expunge.unlearn(layer, kept(), loss, made, **options)
        ended.append((outcome.record.batches, outcome.record.output_sha256))
    assert len(set(ended)) == 1, ended
