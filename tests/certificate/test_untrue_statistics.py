"""Running statistics of the trained model must not survive, whatever the norm layer says of itself."""

import pytest
import torch
from paperwork import certified, network, unlearn
from torch import nn


class Stubborn(nn.BatchNorm1d):
    def reset_running_stats(self):
        """Not today."""


class AlwaysEvaluates(nn.BatchNorm1d):
    def train(self, mode=True):
        return super().train(False)


def past(kind, shift, tracks):
    """4 → norm of 2 channels → 3, trained on data that lie `shift` away."""
    norm = kind(2, track_running_stats=True)
    nn.Module.train(norm, True)
    for _ in range(20):
        norm(torch.randn(8, 2, 2) + shift)
    norm.track_running_stats = tracks
    return nn.Sequential(nn.Unflatten(1, (2, 2)), norm, nn.Flatten(), nn.Linear(4, 3))


@pytest.mark.parametrize("tracks", [True, False], ids=["tracks", "stopped tracking"])
@pytest.mark.parametrize("kind", [nn.BatchNorm1d, nn.InstanceNorm1d, Stubborn, AlwaysEvaluates])
def test_released_statistics_do_not_depend_on_the_data_of_before(kind, tracks):
    released = []
    for shift in (0.0, 1000.0):
        model = past(kind, shift, tracks)
        released.append(model[1].running_mean if certified(model) else torch.zeros(2))
    assert (released[0] - released[1]).abs().max() < 10.0


def test_the_record_says_how_many_were_estimated_anew():
    outcome = unlearn(past(nn.BatchNorm1d, 0.0, True))
    assert outcome.certificate["run"]["fates"]["statistics estimated anew"] == 1
    assert unlearn(network()).certificate["run"]["fates"]["statistics estimated anew"] == 0
