"""What a certificate allows the best attacker who must say "unlearned" or "retrained, then unlearned" from one model.

A μ-GDP run lets through what a test of N(0, 1) against N(μ, 1) lets through (Dong, Roth & Su 2022), all of it given the
proximity:

    TPR ≤ Φ(Φ⁻¹(FPR) + μ)        AUC ≤ Φ(μ/√2)
"""

import math

from scipy.special import ndtr, ndtri

from ..accounting.checks import number


def allowed(mu: float) -> dict[str, float]:
    """The largest AUC, and TPR at 1 % and 0.1 % FPR."""
    mu = number("mu", mu, least=0.0)
    rates = {"tpr_at_1": 0.01, "tpr_at_01": 0.001}
    return {
        "auc": float(ndtr(mu / math.sqrt(2.0))),
        **{name: float(ndtr(ndtri(rate) + mu)) for name, rate in rates.items()},
    }
