"""Any module comes out certified, verified, and otherwise as it went in."""

import pytest
import rig
import torch
import zoo
from torch import nn

import expunge
from expunge import FastRotation, FineTune, LayerCycle, Permutation, RandomRotation

DESIGNS = [RandomRotation(3), FastRotation(2), Permutation(2), LayerCycle(2)]
MODEL = pytest.mark.parametrize("name", zoo.ZOO)


def run(model, batch, loss, options, design, **changes):
    made = rig.plan(model, design, **changes)
    recipe = FineTune(steps=2, lr=1e-3, momentum=0.0)
    return made, expunge.unlearn(
        model, [batch], loss, made, fine_tune=recipe, statistics_batches=2, **({"public": ()} | options)
    )


@MODEL
@pytest.mark.parametrize("design", DESIGNS, ids=rig.kind_of)
def test_certified_and_verified(name, design, tmp_path):
    model, batch, loss, options = zoo.make(name)
    made, outcome = run(model, batch, loss, options, design)
    assert outcome.model is model
    assert outcome.certificate["kind"] == "certificate"
    trainable = {id(p): p.numel() for p in model.parameters() if p.requires_grad}
    assert sum(block.dimension for block in rig.ledger(outcome)) == sum(trainable.values())
    assert rig.ledger(outcome) == made.blocks
    outcome.certificate.save(tmp_path / "certificate.json")
    assert expunge.verify(tmp_path / "certificate.json", model)
    assert outcome.certificate.epsilon <= 30.0


@MODEL
def test_the_module_is_left_as_it_was(name):
    model, batch, loss, options = zoo.make(name)
    list(model.modules())[-1].eval()
    calls = []
    list(model.modules())[-1].register_forward_hook(lambda *_: calls.append("forward"))
    next(p for p in model.parameters() if p.requires_grad).register_hook(lambda gradient: calls.append("gradient"))
    objects = [*model.named_modules(), *model.named_parameters(remove_duplicate=False), *model.named_buffers()]
    modes = [module.training for module in model.modules()]
    keys, classes = list(model.state_dict()), [type(module) for module in model.modules()]
    hooks = [len(module._forward_hooks) for module in model.modules()]
    shapes = {key: (value.shape, value.stride(), value.dtype) for key, value in model.state_dict().items()}
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    run(model, batch, loss, options, Permutation(2))
    now = [*model.named_modules(), *model.named_parameters(remove_duplicate=False), *model.named_buffers()]
    assert [(key, id(value)) for key, value in now] == [(key, id(value)) for key, value in objects]
    assert [module.training for module in model.modules()] == modes
    assert list(model.state_dict()) == keys
    assert [type(module) for module in model.modules()] == classes
    assert [len(module._forward_hooks) for module in model.modules()] == hooks
    assert {k: (v.shape, v.stride(), v.dtype) for k, v in model.state_dict().items()} == shapes
    assert all(parameter.grad is None for parameter in model.parameters())
    assert "gradient" in calls


def test_tied_weights_stay_tied_and_count_once():
    model, batch, loss, options = zoo.make("GPT with tied embeddings")
    _, outcome = run(model, batch, loss, options, RandomRotation(2))
    assert model.head.weight is model.embed.weight
    assert sum(block.dimension for block in rig.ledger(outcome)) == sum(p.numel() for p in model.parameters())
    state = model.state_dict()
    assert torch.equal(state["head.weight"], state["embed.weight"])


def test_a_public_backbone_is_not_touched():
    model, batch, loss, options = zoo.make("frozen public backbone")
    before = {key: value.clone() for key, value in model.backbone.state_dict().items()}
    _, outcome = run(model, batch, loss, options, Permutation(2))
    assert rig.equal(before, dict(model.backbone.state_dict()))
    assert outcome.certificate["run"]["fates"]["public"] == len(before)
    assert sum(block.dimension for block in rig.ledger(outcome)) == sum(p.numel() for p in model.head.parameters())


@pytest.mark.parametrize("design", [RandomRotation(4), Permutation(4)], ids=rig.kind_of)
def test_a_vision_transformer_of_timm(timm, design):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = timm.create_model("vit_tiny_patch16_224", img_size=32, patch_size=8, pretrained=False, num_classes=3)
        batch = (torch.randn(2, 3, 32, 32), torch.tensor([0, 2]))
    made = rig.plan(model, design, steps=1)
    outcome = expunge.unlearn(model, [batch], zoo.classify, made)
    assert expunge.verify(outcome.certificate, model)
    assert sum(block.dimension for block in rig.ledger(outcome)) == sum(p.numel() for p in model.parameters())


def test_other_weights_do_not_verify():
    model = rig.mlp()
    outcome = rig.unlearn(model)
    with torch.no_grad():
        nn.init.zeros_(model[0].bias[:1])
    with pytest.raises(expunge.CertificationError, match="not the certified weights"):
        expunge.verify(outcome.certificate, model)
