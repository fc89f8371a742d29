"""U-LiRA, the likelihood ratio attack on unlearning (Hayes et al. 2024): is this model unlearned, or retrained?

Both kinds of model are run several times. For each forgotten sample, φ has one normal over unlearned models and another over
retrained ones; the score of a model on a sample is the log likelihood ratio of the two, learned from all the *other* models.
A score is a member's where the model was unlearned. Above 0.5, somebody who sees one output can tell that the sample had
been in the training data.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from . import roc
from .lira import online
from .outputs import Outputs, same_samples
from .signals import logit_confidence

Array = NDArray[Any]
FEWEST = 3  # of each kind: one is judged, and two are left for a mean and a variance
RESAMPLES = 200


def u_lira(unlearned: Sequence[Outputs], retrained: Sequence[Outputs], *, seed: int = 0) -> dict[str, Any]:
    """Runs of the unlearning (the audited model first) against retrained models, on the forgotten samples.

    The AUC's interval is a bootstrap over models and samples at once (Owen 2007), because scores of one model hang together.
    The TPRs' intervals are for the scores as they are.
    """
    for kind, models in (("unlearned", unlearned), ("retrained", retrained)):
        if len(models) < FEWEST:
            raise DataError(
                f"U-LiRA needs {FEWEST} {kind} models or more, each from a run of its own; got {len(models)}."
            )
        for i, other in enumerate(models):
            same_samples(unlearned[0], other, f"{kind} model {i}")
    yes, no = scores(_phi(unlearned), _phi(retrained))
    found = roc.measured(yes.reshape(-1), no.reshape(-1))
    return {
        **found,
        "interval": bootstrap(yes, no, seed=seed),
        "models": {"unlearned": len(unlearned), "retrained": len(retrained)},
    }


def scores(unlearned: Array, retrained: Array) -> tuple[Array, Array]:
    """Leave one out: of each model (rows) on each sample (columns), what the other models make of it."""
    models = np.concatenate([unlearned, retrained])
    member = np.repeat([True, False], [len(unlearned), len(retrained)])[:, None] & np.ones(models.shape, bool)
    rows = np.arange(len(models))
    found = np.stack([online(models[i], models[rows != i], member[rows != i]) for i in rows])
    return found[: len(unlearned)], found[len(unlearned) :]


def bootstrap(yes: Array, no: Array, *, seed: int = 0, confidence: float = 0.95) -> list[float]:
    """Percentiles of the AUC when models and samples are both drawn again."""
    chance, areas = np.random.default_rng(seed), list[float]()
    samples = yes.shape[1]
    for _ in range(RESAMPLES):
        columns = chance.integers(samples, size=samples)
        drawn = [table[chance.integers(len(table), size=len(table))][:, columns] for table in (yes, no)]
        areas.append(roc.auc(drawn[0].reshape(-1), drawn[1].reshape(-1))[0])
    tail = (1.0 - confidence) / 2.0
    return [float(value) for value in np.quantile(areas, [tail, 1.0 - tail])]


def _phi(models: Sequence[Outputs]) -> Array:
    return np.stack([logit_confidence(model.forget.logits, model.forget.labels) for model in models])
