"""What cannot be covered is refused by name, with a way out, before anything is touched."""

import warnings

import pytest
import rig
import spoiled
import torch
from torch import nn

from expunge import BufferError, CoverageError
from expunge.unlearning.coverage import take_inventory

REFUSED = {
    "frozen": (spoiled.frozen, CoverageError, r"'0\.weight' is frozen.*public=\['0\.weight'\].*requires_grad_"),
    "unknown buffer": (spoiled.buffer, BufferError, r"'ema' \(3,\).*public=\['ema'\].*recompute="),
    "non-persistent buffer": (spoiled.hidden_buffer, BufferError, r"'0\.queue'.*public="),
    "spectral norm": (spoiled.spectral_norm, BufferError, r"'0\.parametrizations\.weight\.0\._u'.*public="),
    "bfloat16": (lambda m: m.bfloat16(), CoverageError, r"'0\.weight' is torch\.bfloat16.*float\(\).*autocast"),
    "float16": (lambda m: m.half(), CoverageError, r"'0\.weight' is torch\.float16.*float\(\)"),
    "complex": (spoiled.complex_numbers, CoverageError, r"'0\.weight' is torch\.complex64"),
    "integers": (spoiled.integers, CoverageError, r"'0\.bias' is torch\.int64"),
    "expanded": (spoiled.expanded, CoverageError, r"'0\.bias' is an expanded view.*Clone"),
    "shared memory": (spoiled.sharing, CoverageError, r"'0\.weight' and 'twin\.weight' share memory.*same Parameter"),
    "overlapping memory": (spoiled.overlapping, CoverageError, r"'0\.weight' and '0\.bias' share memory"),
    "overlapping memory of numpy": (spoiled.numpy_views, CoverageError, "share memory"),
    "extra state": (spoiled.extra_state, CoverageError, r"'extra\._extra_state'.*[Dd]eclare"),
    "state_dict hook": (spoiled.state_dict_hook, CoverageError, r"'memory'.*[Dd]eclare"),
    "old weight_norm": (spoiled.old_weight_norm, CoverageError, r"'0\.weight'.*parametrizations\.weight_norm"),
    "loose tensor": (spoiled.hide(torch.zeros(2)), CoverageError, r"'0\.memory'.*Register.*public="),
    "loose tensor in a list": (spoiled.hide([1, torch.zeros(2)]), CoverageError, r"'0\.memory'"),
    "loose tensor in a dict": (spoiled.hide({"a": torch.zeros(2)}), CoverageError, r"'0\.memory'"),
    "nothing to train": (lambda m: m.requires_grad_(False), CoverageError, "frozen"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(case):
    change, error, told = REFUSED[case]
    model = spoiled.mlp_with(change)
    before = {key: value.clone() for key, value in model.state_dict().items() if isinstance(value, torch.Tensor)}
    with pytest.raises(error, match=f"(?s){told}"):
        rig.unlearn(model, rig.plan(rig.mlp(norm=True)))
    assert all(torch.equal(model.state_dict()[key], value) for key, value in before.items())


def test_no_trainable_parameter():
    with pytest.raises(CoverageError, match="no trainable parameter"):
        take_inventory(nn.Linear(2, 2).requires_grad_(False), public=["*"])
    with pytest.raises(CoverageError, match="no trainable parameter"):
        take_inventory(nn.ReLU())


def test_lazy_modules():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lazy = nn.Sequential(nn.Linear(4, 6), nn.LazyLinear(3))
    with pytest.raises(CoverageError, match=r"'1\.weight' has no shape yet"):
        rig.unlearn(lazy, rig.plan(rig.mlp()))
    with pytest.raises(CoverageError, match=r"'1\.weight' has no shape yet"):
        rig.plan(lazy)


def test_public_buffers_and_attributes_pass_and_are_counted():
    model = spoiled.mlp_with(spoiled.buffer)
    model.table = torch.arange(3)
    outcome = rig.unlearn(model, public=["ema", "table"])
    assert outcome.certificate["run"]["fates"]["public"] == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_single_and_double_precision_pass(dtype):
    model = rig.mlp().to(dtype)
    outcome = rig.unlearn(model, loader=[(x.to(dtype), y) for x, y in rig.batches()])
    assert {p.dtype for p in model.parameters()} == {dtype}
    (precision,) = [check for check in outcome.certificate["checks"] if check["name"] == "precision"]
    assert precision["measured"] == torch.finfo(dtype).eps
