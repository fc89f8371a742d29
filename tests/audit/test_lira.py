"""LiRA, U-LiRA and RMIA: their formulas, and whether they find what was learned by heart and nothing else."""

import numpy as np
import pytest
from overfit import made_up, original, retrained
from scipy.special import expit
from scipy.stats import norm

from expunge import audit
from expunge.audit import roc
from expunge.audit.lira import offline, online
from expunge.audit.rmia import ratios, score
from expunge.audit.signals import confidence, logit_confidence
from expunge.audit.u_lira import scores
from expunge.errors import ConfigError, DataError

SHADOWS = range(1, 7)


@pytest.fixture(scope="module")
def shadows():
    return [retrained(seed) for seed in SHADOWS]


@pytest.mark.parametrize("attack", [audit.lira, audit.rmia], ids=["lira", "rmia"])
def test_a_model_that_remembers_is_found_and_an_independent_one_is_not(attack, shadows):
    found = attack(original(), shadows)
    assert found["auc"] > 0.6
    assert found["interval"][0] > 0.55
    assert found["models"] == len(shadows)
    low, high = attack(retrained(20), shadows)["interval"]
    assert low < 0.5 < high


def test_a_single_retrained_model_is_enough():
    assert audit.lira(original(), [retrained(1)])["auc"] > 0.6
    assert audit.rmia(original(), [retrained(1)])["auc"] > 0.6


def test_u_lira_tells_trained_from_retrained_and_not_retrained_from_retrained(shadows):
    found = audit.u_lira([original(seed) for seed in range(4)], shadows)
    assert found["auc"] > 0.6
    assert found["interval"][0] > 0.55
    assert found["models"] == {"unlearned": 4, "retrained": 6}
    low, high = audit.u_lira([retrained(seed) for seed in range(20, 24)], shadows)["interval"]
    assert low < 0.5 < high


def test_offline_scores_by_hand():
    out = np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 3.0]])  # means 2 and 3; one deviation for both: √((8 + 8)/4)
    assert offline(np.array([4.0, 1.0]), out) == pytest.approx([1.0, -1.0])
    assert offline(np.array([4.0, 1.0]), out[:1]) == pytest.approx([4.0, 0.0])  # one model: the difference


def test_with_many_models_each_sample_has_its_own_normals():
    chance = np.random.default_rng(0)
    models, member = chance.normal(size=(80, 5)) * np.arange(1, 6), np.repeat([[True], [False]], 40, axis=0)
    member, target = np.broadcast_to(member, (80, 5)), chance.normal(size=5)
    inside, outside = models[:40], models[40:]
    expected = norm.logpdf(target, inside.mean(0), inside.std(0, ddof=1))
    expected -= norm.logpdf(target, outside.mean(0), outside.std(0, ddof=1))
    assert online(target, models, member) == pytest.approx(expected)


def test_online_scores_use_who_was_trained_on_what():
    """Random halves, as in the original attack: a target trained on the first samples is found out."""
    chance = np.random.default_rng(1)
    member = chance.random((100, 400)) < 0.5
    models = chance.normal(size=(100, 400)) + 1.5 * member
    own = np.arange(400) < 200
    marks = online(chance.normal(size=400) + 1.5 * own, models, member)
    area, _ = roc.auc(marks[own], marks[~own])
    assert abs(area - norm.cdf(1.5 / np.sqrt(2))) < 5 * 0.02
    with pytest.raises(DataError, match="models × samples"):
        online(np.zeros(400), models, member[:, :399])
    with pytest.raises(DataError, match="sample 7 has no model"):
        online(np.zeros(400), models, member | (np.arange(400) == 7))


def test_u_lira_leaves_the_judged_model_out():
    """Otherwise a model that is far from all would vouch for itself."""
    chance = np.random.default_rng(2)
    yes, no = chance.normal(size=(5, 60)), chance.normal(size=(6, 60))
    first, second = scores(yes, no)
    member = np.repeat([True, False], [4, 6])[:, None] & np.ones((10, 60), bool)
    assert first[2] == pytest.approx(online(yes[2], np.concatenate([np.delete(yes, 2, 0), no]), member))
    member = np.repeat([True, False], [5, 5])[:, None] & np.ones((10, 60), bool)
    assert second[0] == pytest.approx(online(no[0], np.concatenate([yes, no[1:]]), member))


def test_rmia_counts_the_population_that_a_sample_beats():
    phi, out = np.array([2.0, -1.0, 0.0]), np.array([[1.0, -2.0, 0.5], [0.0, -1.0, 1.5]])
    expected = [expit(x) / ((1.3 * np.mean(expit(column)) + 0.7) / 2) for x, column in zip(phi, out.T, strict=True)]
    assert ratios(phi, out, a=0.3) == pytest.approx(expected)
    ratio, population = np.array([1.0, 2.0, 0.4]), np.array([0.5, 1.0, 0.9, 0.2])
    for gamma in (1.0, 2.0):
        by_hand = [np.mean([x / z >= gamma for z in population]) for x in ratio]
        assert score(ratio, population, gamma=gamma).tolist() == by_hand


def test_the_probability_behind_phi_is_the_confidence():
    part = made_up().forget
    phi = logit_confidence(part.logits, part.labels)
    assert ratios(phi, np.full((1, len(phi)), 50.0), a=0.0) == pytest.approx(confidence(part.logits, part.labels))


def test_wrong_use():
    with pytest.raises(DataError, match="got none"):
        audit.lira(made_up(), [])
    with pytest.raises(DataError, match="retrained model 1 was asked about other samples"):
        audit.lira(made_up(), [made_up(seed=1), made_up(sizes=(60, 200, 151))])
    with pytest.raises(DataError, match="3 unlearned models or more"):
        audit.u_lira([made_up()], [made_up(seed=seed) for seed in range(1, 4)])
    with pytest.raises(ConfigError, match="gamma"):
        audit.rmia(made_up(), [made_up(seed=1)], gamma=0.5)
