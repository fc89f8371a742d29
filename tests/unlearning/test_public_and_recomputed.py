"""What is declared public must not change; what is recomputed must fit; a plan must belong to its model."""

import pytest
import rig
import torch
from torch import nn

import expunge
from expunge import BufferError, CertificationError, ConfigError, FineTune, LayerCycle, Permutation


def with_frozen():
    model = rig.mlp(norm=True)
    model[0].weight.requires_grad_(False)
    return model


@pytest.mark.parametrize(
    ("spoil", "public"),
    [
        (lambda m: m[0].weight.data.add_(1.0), ["0.weight"]),
        (lambda m: m[1].running_mean.add_(1.0), ["0.weight", "1.*"]),
        (lambda m: m[1].num_batches_tracked.add_(1), ["0.weight", "1.*"]),
    ],
    ids=["frozen parameter", "norm", "counter"],
)
def test_public_state_that_changes_is_found_out(spoil, public):
    def loss(model, batch):
        with torch.no_grad():
            spoil(model)
        return rig.cross_entropy(model, batch)

    model = with_frozen()
    with pytest.raises(CertificationError, match="public state"):
        rig.unlearn(model, loss=loss, public=public)


def test_a_norm_that_is_half_public_is_refused():
    model = rig.mlp(norm=True)
    model[1].running_mean.add_(3.0)
    with pytest.raises(CertificationError):
        rig.unlearn(model, public=["1.running_mean"])


def test_public_must_be_a_list_of_patterns():
    with pytest.raises(ConfigError, match=r"\['0\.\*'\]"):
        rig.unlearn(with_frozen(), public="0.*")


class Normalised(nn.Module):
    """A buffer that training filled from the weights, and that the forward pass uses."""

    def __init__(self):
        super().__init__()
        self.body = rig.mlp()
        self.register_buffer("scale", torch.tensor([5.0]))

    def forward(self, x):
        return self.body(x) / self.scale


def scale_of(model):
    return model.body[0].weight.detach().norm().reshape(1)


@pytest.mark.parametrize("fine_tune", [None, FineTune(steps=3)])
def test_a_recomputed_buffer_belongs_to_the_final_weights(fine_tune):
    model = Normalised()
    outcome = rig.unlearn(model, recompute={"scale": scale_of}, fine_tune=fine_tune)
    assert torch.equal(model.scale, scale_of(model))
    assert outcome.certificate["run"]["fates"]["recomputed"] == 1
    assert expunge.verify(outcome.certificate, model)


def test_fine_tuning_sees_the_recomputed_buffer_not_the_old_one():
    seen = []

    def loss(model, batch):
        seen.append(model.scale.item())
        return rig.cross_entropy(model, batch)

    rig.unlearn(Normalised(), loss=loss, recompute={"scale": scale_of}, fine_tune=FineTune(steps=3))
    assert seen[:2] == [5.0, 5.0]
    assert all(value != 5.0 for value in seen[2:])


def test_recompute_of_another_shape():
    with pytest.raises(BufferError, match=r"'scale'.*\(2,\).*\(1,\)"):
        rig.unlearn(Normalised(), recompute={"scale": lambda _: torch.zeros(2)})


def test_recompute_of_an_unknown_buffer():
    with pytest.raises(ConfigError, match=r"'scales'"):
        rig.unlearn(Normalised(), recompute={"scale": scale_of, "scales": scale_of})


@pytest.mark.parametrize("value", [None, 3.0])
def test_recompute_must_give_a_tensor(value):
    with pytest.raises(expunge.ExpungeError, match="scale"):
        rig.unlearn(Normalised(), recompute={"scale": lambda _: value})


@pytest.mark.parametrize(
    ("made_for", "blocks"), [(nn.Linear(4, 3), Permutation(2)), (rig.mlp(norm=True), Permutation(2))]
)
def test_a_plan_for_another_model(made_for, blocks):
    model = rig.mlp()
    before = rig.copies(model)
    with pytest.raises(ConfigError, match="Make the plan for this model"):
        rig.unlearn(model, rig.plan(made_for, blocks))
    assert rig.equal(before, rig.copies(model))


def test_a_plan_for_another_design():
    model = rig.mlp()
    with pytest.raises(ConfigError, match="Make the plan for this model and design"):
        rig.unlearn(model, rig.plan(model, LayerCycle(2)), design=Permutation(2))


def test_a_plan_whose_noise_was_lowered_by_hand():
    model = rig.mlp()
    made = rig.plan(model)
    cheap = expunge.Plan(
        tuple(block.with_noise(0.99) for block in made.blocks),
        made.proximity,
        made.epsilon,
        made.delta,
        "gaussian",
        made.design,
    )
    with pytest.raises(expunge.BudgetError):
        rig.unlearn(model, cheap)
