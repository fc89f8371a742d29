"""Accuracies, effort and distances, counted by hand."""

import math

import numpy as np
import pytest
import torch
from overfit import made_up

from expunge import audit
from expunge.errors import ConfigError, DataError


def said(labels, guesses, classes=3):
    return audit.Part(np.eye(classes)[guesses] * 5.0, np.array(labels))


WITHOUT_CLASS_2 = audit.Outputs(
    forget=said([2, 2, 2, 2], [0, 1, 0, 2]),
    retain=said([0, 1, 0, 1, 0], [0, 1, 0, 1, 1]),
    test=said([0, 1, 2, 2, 0, 1], [0, 1, 0, 1, 1, 1]),
)


def test_both_conventions_of_test_accuracy():
    found = audit.accuracy(WITHOUT_CLASS_2)
    assert found == {"forget": 0.25, "retain": 0.8, "test": 0.5, "test_retained_classes": 0.75}
    assert audit.unlearning_accuracy(WITHOUT_CLASS_2) == 0.75


def test_without_a_class_deletion_there_is_one_test_accuracy():
    assert audit.accuracy(made_up())["test_retained_classes"] is None


def test_effort_is_relative_only_where_retraining_was_measured():
    found = audit.effort(seconds=2.0, steps=30, retrain_seconds=8.0, retrain_steps=300)
    assert found == {"seconds": 2.0, "steps": 30, "relative_seconds": 0.25, "relative_steps": 0.1}
    assert audit.effort(seconds=2.0, steps=30)["relative_seconds"] is None
    with pytest.raises(ConfigError, match="retrain_seconds"):
        audit.effort(seconds=2.0, steps=30, retrain_seconds=0.0)


def test_distance_to_the_retrained_model_by_hand():
    p, r = np.log([[0.5, 0.5], [0.9, 0.1]]), np.log([[0.8, 0.2], [0.3, 0.7]])
    labels = np.array([0, 1])
    mine, theirs = (audit.Outputs(*[audit.Part(logits, labels)] * 3) for logits in (p, r))
    found = audit.to_retrained(mine, theirs, weights=2.5)
    kl = (0.8 * math.log(1.6) + 0.2 * math.log(0.4) + 0.3 * math.log(1 / 3) + 0.7 * math.log(7)) / 2
    assert found["kl"] == pytest.approx(kl, rel=1e-6)
    assert found["disagreement"] == 0.5
    assert found["accuracy_gap"] == {"forget": -0.5, "retain": -0.5, "test": -0.5}
    assert found["by_part"]["retain"]["kl"] == found["kl"]
    assert found["weights"] == 2.5
    assert audit.to_retrained(mine, mine)["kl"] == 0.0


def test_distance_of_weights_counts_every_floating_point_entry():
    one = {"a": torch.tensor([1.0, 2.0]), "n": torch.tensor(5), "b": torch.tensor([[3.0]])}
    two = {"a": torch.tensor([1.0, 5.0]), "n": torch.tensor(9), "b": torch.tensor([[7.0]])}
    assert audit.weight_distance(one, two) == 5.0
    with pytest.raises(DataError, match="names or shapes"):
        audit.weight_distance(one, {"a": torch.zeros(2)})
