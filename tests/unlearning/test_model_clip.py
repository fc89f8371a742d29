"""The original noisy fine-tuning: the model is clipped to C₀, so any two are at most 2C₀ apart."""

import math

import pytest
import rig
import torch

from expunge import ConfigError, Permutation, Whole


def norm_of(model):
    return math.sqrt(sum(p.detach().double().square().sum().item() for p in model.parameters()))


@pytest.mark.parametrize(("clip", "clipped"), [(0.5, True), (100.0, False)])
@pytest.mark.parametrize("blocks", [Whole(), Permutation(3)], ids=rig.kind_of)
def test_the_original_method_clips_the_model(clip, clipped, blocks):
    model, start = rig.mlp(), rig.mlp()
    made = rig.plan(model, blocks, proximity=None, model_clip=clip, epsilon=1e4, **rig.OUTPUT_PERTURBATION)
    assert made.gap == 2 * clip
    outcome = rig.unlearn(model, made, simulate=1)
    (check,) = [check for check in outcome.certificate["checks"] if check["name"] == "model clip"]
    assert check["limit"] == clip
    assert check["measured"] == pytest.approx(clip if clipped else norm_of(start), rel=1e-5)
    assert check["measured"] <= clip
    assert outcome.certificate["hops"][-1]["proximity"]["gap"] == 2 * clip
    assert outcome.certificate["run"]["model_clip"] == clip
    with torch.no_grad():
        scale = min(1.0, clip / norm_of(start))
        for parameter in start.parameters():
            parameter.mul_(scale)
    rig.unlearn(start, rig.plan(start, blocks, proximity=2 * clip, epsilon=1e4, **rig.OUTPUT_PERTURBATION), simulate=1)
    for found, expected in zip(model.parameters(), start.parameters(), strict=True):
        assert torch.allclose(found, expected, atol=1e-5)


def test_a_model_clip_and_a_proximity_do_not_go_together():
    for proximity, clip in ((0.1, 1.0), (None, None)):
        with pytest.raises(ConfigError, match="not both"):
            rig.plan(rig.mlp(), proximity=proximity, model_clip=clip)
