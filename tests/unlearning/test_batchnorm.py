"""Running statistics are those of the retained data on the final weights; nothing of the old ones is left."""

import pytest
import rig
import torch
from torch import nn

import expunge
from expunge import FineTune


def trained(norm=nn.BatchNorm1d, **keywords):
    """Statistics of data that nobody retains."""
    model = nn.Sequential(nn.Linear(4, 6), norm(6, **keywords), nn.ReLU(), nn.Linear(6, 3))
    for _ in range(20):
        model(torch.randn(32, 4) * 3 + 100)
    return model


def expected_statistics(model, loader):
    """Averages over the batches, by hand."""
    with torch.no_grad():
        hidden = [model[0](x) for x, _ in loader]
    return torch.stack([h.mean(0) for h in hidden]).mean(0), torch.stack([h.var(0) for h in hidden]).mean(0)


@pytest.mark.parametrize("fine_tune", [None, FineTune(steps=5)])
@pytest.mark.parametrize("momentum", [0.1, 0.9, None])
def test_statistics_are_those_of_retained_data_on_the_final_weights(fine_tune, momentum):
    model, loader = trained(momentum=momentum), rig.batches(size=6)
    old = model[1].running_mean.clone()
    rig.unlearn(model, loader=loader, fine_tune=fine_tune, statistics_batches=len(loader))
    mean, variance = expected_statistics(model, loader)
    assert torch.allclose(model[1].running_mean, mean, atol=1e-5)
    assert torch.allclose(model[1].running_var, variance, atol=1e-5)
    assert (model[1].running_mean - old).abs().max().item() > 10.0
    assert model[1].num_batches_tracked.item() == len(loader)
    assert model[1].momentum == momentum


def test_the_old_statistics_leave_no_trace():
    """Two models that differ in their statistics alone come out bit for bit the same."""
    results = []
    for shift in (0.0, 100.0):
        model = rig.mlp(norm=True)
        model[1].running_mean.add_(shift)
        model[1].running_var.mul_(1.0 + shift)
        model[1].num_batches_tracked.add_(int(shift))
        rig.unlearn(model, simulate=3, fine_tune=FineTune(steps=3), clean=None)
        results.append({key: value.clone() for key, value in model.state_dict().items()})
    assert rig.equal(*results)


def test_statistics_of_other_lengths_are_used_as_asked():
    model, loader = trained(), rig.batches(size=6)
    made = rig.plan(model, **rig.OUTPUT_PERTURBATION)  # takes no batch before the statistics
    outcome = rig.unlearn(model, made, loader=loader, statistics_batches=8)
    assert outcome.certificate["run"]["batches"] % 8 == 0
    assert model[1].num_batches_tracked.item() == 8


def test_public_norms_are_not_touched_and_run_on_their_statistics():
    model = trained()
    before = {key: value.clone() for key, value in model[1].named_buffers()}
    modes = []
    model[1].register_forward_hook(lambda module, *_: modes.append(module.training))
    model.train()
    rig.unlearn(model, public=["1.running_*", "1.num_*"], fine_tune=FineTune(steps=2))
    assert rig.equal(before, dict(model[1].named_buffers()))
    assert set(modes) == {False}
    assert model[1].training


def test_momentum_comes_back_when_something_fails():
    model = trained()

    def loss(model, batch):
        if model[1].momentum == 0.5:  # the second batch of the estimate
            raise KeyboardInterrupt
        return rig.cross_entropy(model, batch)

    with pytest.raises(KeyboardInterrupt):
        rig.unlearn(model, loss=loss)
    assert model[1].momentum == 0.1


def test_a_norm_without_statistics_needs_none():
    outcome = rig.unlearn(trained(track_running_stats=False))
    assert outcome.certificate["run"]["fates"]["statistics estimated anew"] == 0


def test_instance_norm_statistics_are_estimated_too():
    model = nn.Sequential(nn.Conv1d(2, 3, 1), nn.InstanceNorm1d(3, affine=True, track_running_stats=True), nn.Flatten())
    x = torch.randn(6, 2, 5, generator=torch.Generator().manual_seed(0)) * 2 + 7
    model(x * 50)
    made = rig.plan(model)
    outcome = rig.unlearn(model, made, loader=[x], loss=lambda m, x: m(x).square().mean(), statistics_batches=3)
    with torch.no_grad():
        hidden = model[0](x)
    assert torch.allclose(model[1].running_mean, hidden.mean(dim=(0, 2)), atol=1e-4)
    assert torch.allclose(model[1].running_var, hidden.var(dim=2).mean(0), rtol=1e-4)
    assert expunge.verify(outcome.certificate, model)
