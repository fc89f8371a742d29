"""All audits of one model at once, as plain JSON values: the "audit" of a comparison's row."""

from collections.abc import Sequence
from typing import Any

from . import svc
from .accuracy import accuracy, unlearning_accuracy
from .distance import to_retrained
from .lira import lira
from .loss_threshold import loss_threshold
from .outputs import Outputs
from .rmia import rmia
from .u_lira import FEWEST, u_lira

SVC_SAMPLES = 2000
MARGIN = 0.05  # an AUC counts as away from 0.5 when its whole interval is beyond this


def measure(
    outputs: Outputs,
    *,
    reference: Outputs | None = None,
    retrained: Sequence[Outputs] = (),
    unlearned: Sequence[Outputs] = (),
    weights: float | None = None,
    svc_features: Sequence[str] = tuple(svc.FEATURES),
    svc_samples: int | None = SVC_SAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Everything that these outputs allow. What needs a model that is not given is left out.

    reference     the retrained model to compare with          retrained    more retrained models, for LiRA, RMIA, U-LiRA
    unlearned     more runs of the same unlearning (U-LiRA)    weights      distance of the weights to the reference
    svc_samples   cap on the support vector machines; None is the protocol itself (`svc.efficacy`)
    """
    known = [reference, *retrained] if reference is not None else list(retrained)
    others = [model for model in known if not _same(model, outputs)]  # a retrained model is not held against itself
    mia: dict[str, Any] = {
        f"svc_{name}": svc.efficacy(outputs, name, most=svc_samples, seed=seed) for name in svc_features
    }
    mia["loss_threshold"] = loss_threshold(outputs)
    if others:
        mia["lira"] = lira(outputs, others)
        mia["rmia"] = rmia(outputs, others, seed=seed)
    if len(unlearned) + 1 >= FEWEST and len(others) >= FEWEST:
        mia["u_lira"] = u_lira([outputs, *unlearned], others, seed=seed)
    return {
        "accuracy": accuracy(outputs),
        "ua": unlearning_accuracy(outputs),
        "mia": mia,
        "to_retrained": None if reference is None else to_retrained(outputs, reference, weights=weights),
        "warnings": warnings(mia),
    }


def warnings(mia: dict[str, Any]) -> list[str]:
    """What a reader should not miss."""
    if "lira" not in mia:
        return ["no retrained model was given: nothing here tells too little unlearning from too much."]
    low, high = mia["lira"]["interval"]
    seen = f"against retraining (LiRA AUC {mia['lira']['auc']:.3f}, interval {low:.3f} to {high:.3f})."
    if high < 0.5 - MARGIN:
        return [f"over-unlearned: forgotten samples fare worse than unseen ones, which marks them, {seen}"]
    if low > 0.5 + MARGIN:
        return [f"not forgotten: forgotten samples fare better than unseen ones, {seen}"]
    return []


def _same(first: Outputs, second: Outputs) -> bool:
    return first is second or (first.weights_sha256 is not None and first.weights_sha256 == second.weights_sha256)
