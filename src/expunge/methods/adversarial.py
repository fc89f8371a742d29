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
        passes += tried + len(left)
        found[left], given[left] = points, said
        left, radius = left[said == labels[left]], 2.0 * radius
        if len(left) == 0:
            break
    return found, given, passes


def _search(model: nn.Module, centres: Tensor, labels: Tensor, radius: float, steps: int) -> tuple[Tensor, int]:
    """One ball: the first wrong point of each path, or its last; and how many samples went through the model."""
    points, stride = centres.detach().clone(), 2.5 * radius / steps
    right, passes = torch.arange(len(centres), device=centres.device), 0
    for _ in range(steps):
        here, said = points[right].requires_grad_(True), labels[right]
        scores = model(here)
        passes += len(right)
        (slope,) = torch.autograd.grad(cross_entropy(scores, said, reduction="sum"), here)
        stays = scores.argmax(1) == said
        right, centre = right[stays], centres[right[stays]]
        if len(right) == 0:
            break
        with torch.no_grad():
            away = (here + _scaled(slope, stride / _norms(slope)))[stays] - centre
            points[right] = centre + _scaled(away, (radius / _norms(away)).clamp(max=1.0))
    return points, passes


def _norms(tensor: Tensor) -> Tensor:
    """Of each sample, and never 0."""
    return tensor.flatten(1).norm(dim=1).clamp(min=1e-12)


def _scaled(tensor: Tensor, factors: Tensor) -> Tensor:
    """Each sample by its own factor."""
    return tensor * factors.view(-1, *[1] * (tensor.dim() - 1))
