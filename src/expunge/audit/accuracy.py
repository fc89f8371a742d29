"""UA, RA and TA: how often a model is right, about whom.

UA    1 − accuracy on the forgotten samples            RA    accuracy on the retained ones
TA    accuracy on the test samples: over all classes, and over the retained classes alone. They differ where a class is
      deleted, and published tables mix them (docs/audit.md)
"""

from typing import Any

import numpy as np

from .outputs import Outputs, Part
from .signals import correctness


def accuracy(outputs: Outputs) -> dict[str, Any]:
    """Fractions by part; `test_retained_classes` is null unless whole classes were deleted."""
    gone = outputs.forgotten_classes
    stays = outputs.test[~np.isin(outputs.test.labels, gone)]
    return {
        **{name: share(part) for name, part in outputs.parts()},
        "test_retained_classes": share(stays) if gone and len(stays) else None,
    }


def unlearning_accuracy(outputs: Outputs) -> float:
    """UA."""
    return 1.0 - share(outputs.forget)


def share(part: Part) -> float:
    """Of samples that are classified right."""
    return float(correctness(part.logits, part.labels).mean())
