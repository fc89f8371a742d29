"""Every method, set so that it is quick on digits; a new one gets its line here."""

from expunge import FineTune
from expunge.methods import METHODS, Calibrated, Certified

RECOVERY = FineTune(steps=60, optimizer="adam", lr=3e-3)
QUICK = {
    "retrain": {},
    "from_public": {"recipe": RECOVERY},
    "output_perturbation": {"keep": 0.1},
    "blockwise_nft": {"clip": 1.0, "step_size": 1e-3, "weight_decay": 900.0},
    "nft": {"clip": 1.0, "step_size": 1e-3, "weight_decay": 900.0},
    "nft_clipped": {"model_clip": 1.0, "clip": 1.0, "step_size": 1e-3, "weight_decay": 900.0},
    "fine_tune": {"epochs": 1},
    "gradient_ascent": {"epochs": 1},
    "influence": {"fisher_samples": 50},
    "salun": {"epochs": 1},
    "l1_sparse": {"epochs": 1},
    "amun": {"epochs": 1, "attack_steps": 10},
}


def make(name, **changes):
    """A method of the registry."""
    kind, values = METHODS[name], dict(QUICK[name])
    if issubclass(kind, Certified):
        values |= {"epsilon": 10.0, "delta": 1e-5, "fine_tune": RECOVERY}
    if issubclass(kind, Calibrated):
        values |= {"proximity": 2.0}
    return kind(**{**values, **changes})
