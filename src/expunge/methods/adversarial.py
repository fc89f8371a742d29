"""The nearest inputs that a classifier gets wrong: projected gradient ascent in ℓ2 balls that grow until it does."""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

MOST_DOUBLINGS = 20


def nearest_wrong(
    model: nn.Module, inputs: Tensor, labels: Tensor, *, radius: float, steps: int
) -> tuple[Tensor, Tensor, int]:
    """For each input a near one that is not given its label; the labels that those are given; samples through the model.

    Each ball is searched with `steps` steps (PGD, Madry et al. 2018) of 2.5 radius/steps, and the first wrong point on the
    way is taken. Where there is none, the radius doubles. What is wrong already stays where it is. An input that resists to
    the end keeps the last point that was tried, and its own label.
    """
    found, given = inputs.clone(), labels.clone()
    left, passes = torch.arange(len(inputs), device=inputs.device), 0
    for _ in range(MOST_DOUBLINGS):
        points, tried = _search(model, inputs[left], labels[left], radius, steps)
        with torch.no_grad():
            said = model(points).argmax(1)
        passes += (tried + 1) * len(left)
        found[left], given[left] = points, said
        left, radius = left[said == labels[left]], 2.0 * radius
        if len(left) == 0:
            break
    return found, given, passes


def _search(model: nn.Module, centres: Tensor, labels: Tensor, radius: float, steps: int) -> tuple[Tensor, int]:
    """One ball: the first wrong point of each path, or its last; and how many steps were tried."""
    points, stride = centres.detach().clone(), 2.5 * radius / steps
    for step in range(steps):
        points.requires_grad_(True)
        scores = model(points)
        wrong = scores.argmax(1) != labels
        if bool(wrong.all()):
            return points.detach(), step + 1
        (slope,) = torch.autograd.grad(cross_entropy(scores, labels, reduction="sum"), points)
        with torch.no_grad():
            away = points + _scaled(slope, stride / _norms(slope)) - centres
            moved = centres + _scaled(away, (radius / _norms(away)).clamp(max=1.0))
            points = torch.where(_wide(wrong, moved), points, moved)
    return points.detach(), steps


def _norms(tensor: Tensor) -> Tensor:
    """Of each sample, and never 0."""
    return tensor.flatten(1).norm(dim=1).clamp(min=1e-12)


def _scaled(tensor: Tensor, factors: Tensor) -> Tensor:
    return tensor * _wide(factors, tensor)


def _wide(values: Tensor, like: Tensor) -> Tensor:
    """One value for each sample, in a shape that goes with the samples."""
    return values.view(-1, *[1] * (like.dim() - 1))
