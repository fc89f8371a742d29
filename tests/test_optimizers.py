"""One pass over the numbers is the same optimiser, and is left alone where it cannot be had."""

from functools import partial

import pytest
import torch
from torch import nn

from expunge import FineTune, optimizers


def steps(make, dtype=torch.float64):
    torch.manual_seed(0)
    model = nn.Linear(5, 3).to(dtype)
    optimizer = make(list(model.parameters()))
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.ones(2, 5, dtype=dtype)).square().sum().backward()
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.mark.parametrize(
    ("ours", "torchs", "settings"),
    [
        (optimizers.adam, torch.optim.Adam, {"lr": 0.1, "weight_decay": 0.01}),
        (optimizers.adamw, torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.01}),
        (partial(optimizers.sgd, dense=True), torch.optim.SGD, {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.01}),
    ],
)  # fmt: skip
def test_one_pass_gives_the_same_steps(ours, torchs, settings):
    one_pass, plain = steps(lambda p: ours(p, **settings)), steps(lambda p: torchs(p, foreach=False, **settings))
    assert torch.allclose(one_pass, plain, rtol=1e-12, atol=0)
    assert not torch.equal(plain, steps(lambda p: torchs(p, foreach=False, **{**settings, "lr": 0.05})))


def test_what_no_single_pass_can_do_is_left_to_torch():
    complex_weights = [nn.Parameter(torch.zeros(3, dtype=torch.complex64))]
    assert not optimizers.adam(complex_weights).defaults["fused"]
    assert optimizers.adam([nn.Parameter(torch.zeros(3))]).defaults["fused"]


def test_fine_tuning_takes_sparse_gradients():
    table = nn.Embedding(4, 2, sparse=True)
    optimizer = FineTune(1, "sgd", 0.1).make_optimizer(list(table.parameters()))
    before = table.weight.detach().clone()
    table(torch.tensor([1])).sum().backward()
    optimizer.step()
    assert torch.equal((table.weight != before).any(1), torch.tensor([False, True, False, False]))


@pytest.mark.parametrize("make", [optimizers.adam, optimizers.adamw, partial(optimizers.sgd, dense=True)])
def test_numbers_between_others_move_and_the_others_do_not(make):
    """torch's single pass takes the memory for the numbers: it moved every one of the first half here."""
    held = torch.zeros(6, 4)
    parameter = nn.Parameter(held[:, ::2])
    optimizer = make([parameter], lr=0.1)
    parameter.grad = torch.ones(6, 2)
    optimizer.step()
    assert torch.allclose(held[:, ::2], torch.full((6, 2), -0.1))
    assert not held[:, 1::2].any()
