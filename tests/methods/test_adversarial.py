"""The attack behind AMUN, against a model whose nearest wrong inputs are known."""

import torch
from torch import nn

from expunge.methods.adversarial import nearest_wrong


def test_it_finds_points_about_as_near_as_the_boundary():
    torch.manual_seed(0)
    model, inputs = nn.Linear(5, 2), torch.randn(200, 5)
    with torch.no_grad():
        labels = model(inputs).argmax(1)
        normal = model.weight[0] - model.weight[1]
        exact = ((inputs @ normal) + model.bias[0] - model.bias[1]).abs() / normal.norm()
    found, given, passes = nearest_wrong(model, inputs, labels, radius=0.05, steps=50)
    away = (found - inputs).norm(dim=1)
    assert bool((given != labels).all())
    with torch.no_grad():
        assert torch.equal(model(found).argmax(1), given)
    assert bool((away >= exact * (1 - 1e-4)).all())
    assert bool((away <= 1.2 * exact + 0.01).all())  # one stride beyond the boundary, of the last ball
    assert passes >= 200


def test_what_is_wrong_already_stays_where_it_is():
    torch.manual_seed(0)
    model, inputs = nn.Linear(5, 2), torch.randn(20, 5)
    with torch.no_grad():
        said = model(inputs).argmax(1)
    found, given, passes = nearest_wrong(model, inputs, 1 - said, radius=0.1, steps=10)
    assert torch.equal(found, inputs)
    assert torch.equal(given, said)
    assert passes == 40  # one look, and one more for the answer


def test_a_model_that_never_errs_is_not_searched_for_ever():
    model = nn.Linear(3, 2)
    with torch.no_grad():
        model.weight.zero_()
        model.bias.copy_(torch.tensor([1.0, 0.0]))
    labels = torch.zeros(4, dtype=torch.long)
    found, given, _ = nearest_wrong(model, torch.randn(4, 3), labels, radius=0.1, steps=2)
    assert torch.equal(given, labels)
    assert bool(found.isfinite().all())
