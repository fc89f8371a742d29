"""What an attacker reads off one sample's logits. Each is a function of arrays: logits (…, classes), labels (…).

All in float64 and log space, so that a model that is sure of itself does not turn into zeros and infinities.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

Array = NDArray[Any]
LEAST = 1e-30  # a probability below this counts as this: the support vector machines take no infinities


def log_probabilities(logits: Array) -> Array:
    """Log of the softmax."""
    return log_softmax(np.asarray(logits, np.float64), axis=-1)


def probabilities(logits: Array) -> Array:
    """The softmax."""
    return np.exp(log_probabilities(logits))


def loss(logits: Array, labels: Array) -> Array:
    """Cross-entropy, −log p_y."""
    return -_of_label(log_probabilities(logits), labels)


def confidence(logits: Array, labels: Array) -> Array:
    """p_y, the probability of the true class."""
    return np.exp(-loss(logits, labels))


def correctness(logits: Array, labels: Array) -> Array:
    """1 where the true class comes first, else 0."""
    return (np.argmax(logits, axis=-1) == labels).astype(np.float64)


def logit_confidence(logits: Array, labels: Array) -> Array:
    """φ = log(p_y/(1 − p_y)) = z_y − log Σ_{i≠y} exp z_i: about normal over models (Carlini et al. 2022, section V)."""
    others = np.array(logits, np.float64)
    np.put_along_axis(others, _column(labels), -np.inf, axis=-1)
    return _of_label(np.asarray(logits, np.float64), labels) - logsumexp(others, axis=-1)


def entropy(logits: Array) -> Array:
    """−Σ p_i log p_i."""
    logs = log_probabilities(logits)
    return -np.sum(np.exp(logs) * logs, axis=-1)


def modified_entropy(logits: Array, labels: Array) -> Array:
    """−(1 − p_y) log p_y − Σ_{i≠y} p_i log(1 − p_i): low only for what is sure *and* right (Song & Mittal 2021, eq. 6).

    The code released with the empirical baselines indexes whole columns here (`p[:, labels]`), which changes the other
    samples of a batch too; this is the formula.
    """
    chances = probabilities(logits)
    others = np.maximum(_complement(chances), LEAST)
    terms = chances * np.log(others)
    at = _column(labels)
    mine = np.take_along_axis(others, at, -1) * np.log(np.maximum(np.take_along_axis(chances, at, -1), LEAST))
    np.put_along_axis(terms, at, mine, axis=-1)
    return -terms.sum(axis=-1)


def _complement(chances: Array) -> Array:
    """1 − p_i; for the largest p_i as the sum of the others, which keeps its digits."""
    rest = 1.0 - chances
    top = np.argmax(chances, axis=-1, keepdims=True)
    others = chances.copy()
    np.put_along_axis(others, top, 0.0, axis=-1)
    np.put_along_axis(rest, top, others.sum(axis=-1, keepdims=True), axis=-1)
    return rest


def _of_label(values: Array, labels: Array) -> Array:
    return np.take_along_axis(values, _column(labels), axis=-1)[..., 0]


def _column(labels: Array) -> Array:
    return np.asarray(labels)[..., None]
