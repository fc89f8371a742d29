"""Each signal against its formula, by hand and with many digits."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from expunge.audit import signals

LOGITS = np.log(np.array([[0.7, 0.2, 0.1], [0.7, 0.2, 0.1], [0.25, 0.25, 0.5]]))
LABELS = np.array([0, 1, 2])


def test_modified_entropy_as_song_and_mittal_define_it():
    by_hand = [
        -(0.3 * math.log(0.7) + 0.2 * math.log(0.8) + 0.1 * math.log(0.9)),
        -(0.8 * math.log(0.2) + 0.7 * math.log(0.3) + 0.1 * math.log(0.9)),
        -(0.5 * math.log(0.5) + 0.25 * math.log(0.75) + 0.25 * math.log(0.75)),
    ]
    assert signals.modified_entropy(LOGITS, LABELS) == pytest.approx(by_hand, rel=1e-12)
    assert by_hand[0] == pytest.approx(0.16216729)


def test_a_samples_modified_entropy_does_not_depend_on_its_batch():
    """The bug of the released code: `p[:, labels]` changes the columns of all samples."""
    alone = [signals.modified_entropy(LOGITS[i : i + 1], LABELS[i : i + 1])[0] for i in range(3)]
    assert signals.modified_entropy(LOGITS, LABELS) == pytest.approx(alone, rel=1e-15)


def test_the_others_by_hand():
    assert signals.confidence(LOGITS, LABELS) == pytest.approx([0.7, 0.2, 0.5])
    assert signals.loss(LOGITS, LABELS) == pytest.approx([-math.log(p) for p in (0.7, 0.2, 0.5)])
    assert signals.correctness(LOGITS, LABELS).tolist() == [1.0, 0.0, 1.0]
    assert signals.entropy(LOGITS)[0] == pytest.approx(-sum(p * math.log(p) for p in (0.7, 0.2, 0.1)))
    assert signals.logit_confidence(LOGITS, LABELS) == pytest.approx([math.log(p / (1 - p)) for p in (0.7, 0.2, 0.5)])
    assert signals.probabilities(LOGITS) == pytest.approx(np.exp(LOGITS))


@pytest.mark.parametrize("logits", [[60.0, 0.0, -5.0], [700.0, 0.0, 0.0], [-300.0, 20.0, 21.0], [0.0, 0.0, 0.0]])
@pytest.mark.parametrize("label", [0, 1, 2])
def test_what_is_very_sure_keeps_its_digits(logits, label):
    with mp.workdps(800):
        powers = [mp.exp(mpf(z)) for z in logits]
        p = [power / sum(powers) for power in powers]
        phi = mp.log(p[label] / (1 - p[label]))
        least = mpf(signals.LEAST)
        entropy = -(1 - p[label]) * mp.log(max(p[label], least))
        entropy -= sum(p[i] * mp.log(max(1 - p[i], least)) for i in range(3) if i != label)
        loss = -mp.log(p[label])
    row, at = np.array([logits]), np.array([label])
    assert signals.logit_confidence(row, at)[0] == pytest.approx(float(phi), rel=1e-12)
    assert signals.loss(row, at)[0] == pytest.approx(float(loss), rel=1e-9, abs=1e-16)
    assert signals.modified_entropy(row, at)[0] == pytest.approx(float(entropy), rel=1e-9, abs=1e-16)
