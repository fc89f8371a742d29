"""Stopped at every step of every phase, and in the middle of every step: the resumed result is the same, bit for bit."""

import functools
from contextlib import suppress

import interruptible
import pytest
import rig
import torch
from interruptible import StopError, run, stop_at, summary

VARIANT = pytest.mark.parametrize("variant", interruptible.VARIANTS)


@functools.cache
def undisturbed(variant, recompute=True):
    """The result without a checkpoint, and how often the meter and the loss are called."""
    counts = {"progress": 0, "loss": 0}

    def count(name, then):
        def call(*arguments):
            counts[name] += 1
            return then(*arguments)

        return call

    outcome, _ = run(
        variant,
        None,
        loss=count("loss", rig.cross_entropy),
        progress=count("progress", lambda _: None),
        recompute=recompute,
    )
    return summary(outcome), counts


@VARIANT
@pytest.mark.parametrize("every", [0.0, 1e9], ids=["every step", "phases only"])
def test_a_checkpoint_changes_nothing(variant, every, tmp_path):
    outcome, made = run(variant, tmp_path / "run", every=every)
    assert summary(outcome) == undisturbed(variant)[0]
    assert outcome.record.ledger == made.blocks


@VARIANT
@pytest.mark.parametrize("recompute", [True, False], ids=["recomputed buffer", "public buffer"])
def test_stopped_after_every_step(variant, recompute, tmp_path):
    expected, counts = undisturbed(variant, recompute)
    for number in range(1, counts["progress"] + 1):
        path = tmp_path / f"run{number}"
        with pytest.raises(StopError):
            run(variant, path, progress=stop_at(number, lambda _: None), recompute=recompute)
        outcome, made = run(variant, path, recompute=recompute)
        assert summary(outcome) == expected, f"stopped at step {number} of {counts['progress']}"
        assert outcome.record.ledger == made.blocks
        assert not path.exists()


@pytest.mark.parametrize("every", [0.0, 1e9], ids=["every step", "phases only"])
def test_stopped_inside_every_forward_pass(every, tmp_path):
    """Gradients, accumulation, the statistics' batches: wherever the loss is asked for."""
    expected, counts = undisturbed("everything", recompute=False)
    for number in range(1, counts["loss"] + 1):
        path = tmp_path / f"run{number}"
        with pytest.raises(StopError):
            run("everything", path, loss=stop_at(number, rig.cross_entropy), every=every, recompute=False)
        outcome, _ = run("everything", path, every=every, recompute=False)
        assert summary(outcome) == expected, f"stopped in forward pass {number} of {counts['loss']}"


def test_stopped_again_and_again(tmp_path):
    expected, stops, outcome = undisturbed("everything", recompute=False)[0], 0, None
    while outcome is None and stops < 50:
        with suppress(StopError):
            outcome, _ = run("everything", tmp_path / "run", progress=stop_at(2, lambda _: None), recompute=False)
        stops += outcome is None
    assert stops > 5
    assert summary(outcome) == expected


def test_the_global_randomness_does_not_matter(tmp_path):
    expected = undisturbed("everything")[0]
    torch.manual_seed(99)
    state = torch.get_rng_state()
    outcome, _ = run("everything", None)
    assert summary(outcome) == expected
    assert torch.equal(torch.get_rng_state(), state)
