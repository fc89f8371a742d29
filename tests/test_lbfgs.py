"""L-BFGS an iteration a step: torch's own, without looking twice at one point."""

import pytest
import torch
from torch import nn

import expunge
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
