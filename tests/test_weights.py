"""A model's state as bytes: canonical, readable by anyone, written whole."""

import hashlib
import stat

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load as read_bytes
from safetensors.torch import load_file
from torch import nn

from expunge import DataError, weights

DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
]
SHAPES = [(), (1,), (0,), (3,), (2, 0, 3), (2, 3), (5, 1, 2)]


def tensor(dtype, shape, seed=0):
    values = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 3
    return values > 0 if dtype is torch.bool else values.abs().to(dtype)


def everything():
    """Every type and shape, views that are not contiguous, and one tensor under two names."""
    state = {f"{dtype} {list(shape)}": tensor(dtype, shape) for dtype in DTYPES for shape in SHAPES}
    grid = torch.arange(24.0).view(2, 3, 4)
    state |= {"transposed": grid.transpose(0, 2), "strided": grid[:, ::2], "expanded": torch.ones(1, 3).expand(4, 3)}
    state |= {"every other": torch.arange(6.0)[::2], "a column": grid[0, :, 1], "one value": torch.ones(1).expand(3)}
    state |= {"ключ": torch.ones(2), "tied": state["transposed"], "gradient": nn.Parameter(torch.ones(3))}
    return state


def same(first, second):
    def described(state):
        return {name: (value.dtype, value.shape) for name, value in state.items()}

    return described(first) == described(second) and all(torch.equal(first[name], second[name]) for name in first)


def test_the_file_has_the_digest_and_safetensors_reads_what_was_saved(tmp_path):
    path, state = tmp_path / "model.safetensors", everything()
    found = weights.save(state, path)
    assert found == weights.digest(state) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert same(load_file(path), {name: value.detach() for name, value in state.items()})
    assert same(weights.load(path), load_file(path))
    assert weights.digest(weights.load(path)) == found


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(lambda name: name != "__metadata__")
STATES = st.dictionaries(NAMES, st.tuples(st.sampled_from(DTYPES), st.sampled_from(SHAPES), st.integers(0, 9)))


@settings(max_examples=100, deadline=None)
@given(STATES, st.randoms(use_true_random=False))
def test_any_state_in_any_order_has_one_digest_and_is_read_back(chosen, dice):
    state = {name: tensor(*how) for name, how in chosen.items()}
    shuffled = dict(dice.sample(list(state.items()), len(state)))
    assert weights.digest(state) == weights.digest(shuffled)
    content = b"".join(weights._stream(state))
    assert same(read_bytes(content), state)


@pytest.mark.parametrize(
    "other",
    [
        {"a": torch.zeros(4, dtype=torch.float64)},
        {"a": torch.zeros(4, dtype=torch.int32)},
        {"a": torch.zeros(2, 2)},
        {"a": torch.zeros(1, 4)},
        {"b": torch.zeros(4)},
        {"a": torch.zeros(4), "b": torch.zeros(0)},
        {"a": torch.zeros(3)},
        {"a": -torch.zeros(4)},
        {"a": torch.full((4,), 1e-45)},
        {},
    ],
    ids=str,
)
def test_another_type_shape_name_or_bit_is_another_digest(other):
    assert weights.digest(other) != weights.digest({"a": torch.zeros(4)})


def test_how_a_tensor_lies_in_memory_does_not_count():
    grid = torch.arange(12.0).view(3, 4)
    assert weights.digest({"a": grid.T}) == weights.digest({"a": grid.T.contiguous()})
    assert weights.digest({"a": torch.ones(1).expand(3)}) == weights.digest({"a": torch.ones(3)})


@pytest.mark.parametrize(
    "value", [None, 3, [1.0], torch.ones(2).to_sparse(), torch.ones(2, dtype=torch.complex64)], ids=str
)
def test_what_is_no_dense_real_tensor_is_refused_by_name(value, tmp_path):
    with pytest.raises(DataError, match="odd"):
        weights.digest({"odd": value})
    with pytest.raises(DataError):
        weights.save({"fine": torch.ones(2), "odd": value}, tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, broken):
    path = tmp_path / "model.safetensors"
    before = weights.save({"a": torch.ones(4)}, path)

    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(weights.os, broken, fails)
    with pytest.raises(OSError, match="full"):
        weights.save({"a": torch.zeros(4)}, path)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert weights.digest(weights.load(path)) == before


def test_a_file_is_replaced_whole_and_has_the_mode_asked_for(tmp_path):
    path = tmp_path / "model.safetensors"
    weights.save({"a": torch.ones(4)}, path)
    weights.save({"a": torch.zeros(4)}, path, mode=0o600)
    assert torch.equal(weights.load(path)["a"], torch.zeros(4))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
