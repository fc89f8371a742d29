"""MIA-Efficacy against a computation written here from the protocol, with scikit-learn alone."""

import numpy as np
import pytest
from overfit import made_up, original, retrained
from sklearn.svm import SVC

from expunge import audit
from expunge.audit import svc
from expunge.errors import ConfigError


def softmax(z):
    e = np.exp(z.astype(np.float64) - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def feature(name, part):
    p, y = softmax(part.logits), part.labels
    right = p[np.arange(len(y)), y]
    if name == "modified_entropy":
        rows = []
        for row, label in zip(p, y, strict=True):
            others = sum(q * np.log(max(1 - q, 1e-30)) for i, q in enumerate(row) if i != label)
            rows.append(-(1 - row[label]) * np.log(max(row[label], 1e-30)) - others)
        return np.array(rows)[:, None]
    return {
        "confidence": lambda: right[:, None],
        "correctness": lambda: (part.logits.argmax(1) == y)[:, None].astype(float),
        "entropy": lambda: -(p * np.log(p)).sum(1, keepdims=True),
        "probabilities": lambda: p,
    }[name]()


@pytest.mark.parametrize("outputs", [made_up(), original(), retrained(1)], ids=["made up", "original", "retrained"])
@pytest.mark.parametrize("name", svc.FEATURES)
def test_it_agrees_with_scikit_learn_from_scratch(name, outputs):
    size = min(len(outputs.retain), len(outputs.test))
    chance = np.random.default_rng(3)
    members, others = (
        part if len(part) == size else part[np.sort(chance.choice(len(part), size, replace=False))]
        for part in (outputs.retain, outputs.test)
    )
    machine = SVC(C=3, gamma="auto", kernel="rbf")
    machine.fit(np.concatenate([feature(name, members), feature(name, others)]), np.repeat([1, 0], size))
    expected = np.mean(machine.predict(feature(name, outputs.forget)) == 0)
    found = audit.efficacy(outputs, name, seed=3)
    assert found["efficacy"] == expected
    assert found["learned_from"] == {"retained": size, "test": size, "seed": 3}


def test_what_was_learned_by_heart_is_recognised_and_what_was_not_is_not():
    remembered, forgotten = audit.efficacy(original())["efficacy"], audit.efficacy(retrained(1))["efficacy"]
    assert remembered < 0.1
    assert forgotten > remembered + 0.3


def test_the_cap_is_kept_recorded_and_drawn_by_the_seed():
    found = audit.efficacy(made_up(), most=50, seed=1)
    assert found["learned_from"] == {"retained": 50, "test": 50, "seed": 1}
    assert audit.efficacy(made_up(), most=50, seed=1) == found
    first, second = (svc.balanced(made_up(), most=50, seed=seed)[0].logits for seed in (1, 2))
    assert not np.array_equal(first, second)


def test_wrong_use():
    with pytest.raises(ConfigError, match="confidence, correctness"):
        audit.efficacy(made_up(), "height")
    with pytest.raises(ConfigError, match="2 samples"):
        audit.efficacy(made_up(), most=1)
