"""Each empirical method does what it claims: the class is forgotten (UA up), the rest is not (RA kept)."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from expunge.methods import METHODS, Amun, FineTuning, GradientAscent, Influence, L1Sparse, SalUn, Task

SETTINGS = {  # hyper-parameters, least UA, least RA; before, UA is 0
    "fine_tune": ({"epochs": 6, "lr": 0.1}, 0.05, 0.95),
    "gradient_ascent": ({"lr": 0.0115}, 0.15, 0.95),
    "influence": ({"alpha": 30.0, "fisher_samples": 300}, 0.15, 0.95),
    "salun": ({"epochs": 3, "lr": 0.01}, 0.95, 0.95),
    "l1_sparse": ({"epochs": 5, "lr": 0.05, "gamma": 2e-3}, 0.6, 0.95),
    "amun": ({"epochs": 4, "lr": 0.05, "attack_steps": 20}, 0.5, 0.95),
}


def test_all_empirical_methods_are_here():
    assert set(SETTINGS) == {name for name, method in METHODS.items() if method.kind == "empirical"}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_class_is_forgotten_and_the_rest_kept(digits, name):
    values, least_ua, least_ra = SETTINGS[name]
    before = digits.ua_ra(digits.model)
    assert before == (0.0, 1.0)
    ua, ra = digits.ua_ra(METHODS[name](**values)(digits.task()).model)
    assert ua > least_ua
    assert ra > least_ra


@pytest.mark.parametrize(
    "method",
    [
        GradientAscent(lr=0.014),
        Influence(alpha=50.0, fisher_samples=300),
        SalUn(epochs=5, lr=0.03),
        Amun(epochs=4, lr=0.05, attack_steps=20),
    ],
)
def test_a_random_part_is_answered_with_less_confidence(digits, method):
    parts = digits.parts["random"]

    def confidence(model, indices):
        with torch.no_grad():
            return float(model(digits.inputs[indices]).softmax(1).max(1).values.mean())

    done = method(digits.task("random"))
    done.model.eval()
    fall = {
        name: confidence(digits.model, indices) - confidence(done.model, indices)
        for name, indices in (("forget", parts.forget), ("retain", parts.retain))
    }
    assert fall["forget"] > 0.001
    assert fall["forget"] > 1.3 * fall["retain"]
    assert digits.ua_ra(done.model, "random")[1] > 0.95


def linear(seed=0):
    torch.manual_seed(seed)
    inputs, model = torch.randn(40, 6), nn.Linear(6, 3)
    return model, inputs, torch.arange(40) % 3


def plain_loss(model, batch):
    return cross_entropy(model(batch[0]), batch[1])


def task_of(model, inputs, labels, gone=10):
    parts = [[(inputs[gone:], labels[gone:])], [(inputs[:gone], labels[:gone])]]
    return Task(model, parts[0], plain_loss, forget=parts[1])


def test_one_step_of_gradient_ascent_is_one_step_uphill():
    model, inputs, labels = linear()
    start = model.weight.detach().clone()
    slope = torch.autograd.grad(plain_loss(model, (inputs[:10], labels[:10])), model.weight)[0]
    GradientAscent(epochs=1, lr=0.5, momentum=0.0, weight_decay=0.0)(task_of(model, inputs, labels))
    assert torch.allclose(model.weight, start + 0.5 * slope, atol=1e-6)


def test_salun_moves_only_the_salient_weights():
    model, inputs, labels = linear()
    start = torch.cat([p.detach().reshape(-1).clone() for p in model.parameters()])
    found = torch.autograd.grad(plain_loss(model, (inputs[:10], labels[:10])), list(model.parameters()))
    slopes = torch.cat([part.reshape(-1).abs() for part in found])
    done = SalUn(epochs=2, lr=0.3, weight_decay=0.1, fraction=1 / 3)(task_of(model, inputs, labels))
    moved = torch.cat([p.detach().reshape(-1) for p in model.parameters()]) != start
    assert moved.sum() == done.details["salient"] == 7  # of 21
    assert set(moved.nonzero().reshape(-1).tolist()) == set(slopes.topk(7).indices.tolist())


def test_the_l1_penalty_thins_the_weights(digits):
    def norm(method):
        return sum(float(p.detach().abs().sum()) for p in method(digits.task()).model.parameters())

    plain = norm(FineTuning(epochs=2, lr=0.05))
    assert norm(L1Sparse(epochs=2, lr=0.05, gamma=2e-3)) < 0.9 * plain
    assert norm(L1Sparse(epochs=2, lr=0.05, gamma=0.0)) == pytest.approx(plain, rel=1e-6)


def test_influence_follows_the_published_recursion():
    """The same numbers from the formulas, with gradients by hand: (p − e_y) x̄ᵀ for a linear model."""
    model, inputs, labels = linear()
    wide = torch.cat([inputs, torch.ones(40, 1)], 1).double()
    start = torch.cat([model.weight, model.bias[:, None]], 1).detach().double()
    errors = (wide @ start.T).softmax(1) - torch.eye(3, dtype=torch.double)[labels]
    rows = torch.einsum("nc,nf->ncf", errors, wide).reshape(40, -1)
    count = 30
    step = (10 / 40) * (rows[:10].mean(0) - rows[10:].mean(0))
    follow = rows[10].clone()
    for row in rows[11:]:
        overlap = follow @ row
        step = step - (step @ row) / (count + overlap) * follow
        follow = follow - overlap / (count + overlap) * follow
    Influence(alpha=2.0, fisher_samples=count)(task_of(model, inputs, labels))
    ends = torch.cat([model.weight, model.bias[:, None]], 1).detach().double()
    assert torch.allclose(ends, start + 2.0 * step.reshape(3, 7), atol=1e-5)


def test_amun_can_do_without_the_retained_data(digits):
    def never():
        raise AssertionError("the retained data were looked at")
        yield

    class Closed:
        def __iter__(self):
            return never()

    done = Amun(epochs=2, lr=0.01, retain=False, attack_steps=10)(digits.task(retain=Closed()))
    ua, ra = digits.ua_ra(done.model)
    assert ra > 0.8
    assert done.details["examples"] == len(digits.parts["class"].forget)
    assert done.details["resisted"] == 0
    assert ua >= 0.0


def test_steps_are_counted_whatever_the_epochs_say(digits):
    for steps in (3, 50):
        done = FineTuning(steps=steps)(digits.task())
        assert done.steps == steps
    assert FineTuning(epochs=2)(digits.task()).steps == 2 * len(digits.task().retain)


class Pieces:
    """Batches of one, that tell how often they were drawn."""

    def __init__(self, inputs, labels, rows):
        self.all, self.drawn = [(inputs[i : i + 1], labels[i : i + 1]) for i in rows], 0

    def __iter__(self):
        for batch in self.all:
            self.drawn += 1
            yield batch


@pytest.mark.parametrize(
    ("method", "examples"),
    [(SalUn(epochs=1, lr=0.1, pass_share=0.2), None), (Amun(epochs=1, pass_share=0.2, attack_steps=5), 2)],
)
def test_a_share_of_a_pass_is_the_same_share_of_both_parts(method, examples):
    model, inputs, labels = linear()
    task = Task(model, Pieces(inputs, labels, range(10, 40)), plain_loss, forget=Pieces(inputs, labels, range(10)))
    done = method(task)
    assert done.steps == (6 if examples else 8)  # a fifth of 30, after a fifth of 10 with wrong labels
    assert done.details.get("examples") == examples


def test_influence_of_a_share_of_the_data_is_that_of_the_first_samples():
    full, inputs, labels = linear()
    part = copy.deepcopy(full)
    share = Task(part, Pieces(inputs, labels, range(10, 40)), plain_loss, forget=Pieces(inputs, labels, range(10)))
    few = Task(full, Pieces(inputs, labels, range(10, 16)), plain_loss, forget=Pieces(inputs, labels, range(2)))
    Influence(pass_share=0.2, fisher_samples=5)(share)
    Influence(fisher_samples=5)(few)
    assert torch.allclose(part.weight, full.weight, atol=1e-7)
