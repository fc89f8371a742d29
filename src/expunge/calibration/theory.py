"""Δ from theory, where nothing need be trained twice: a convex head whose loss is strongly convex through its L2 penalty."""

from ..accounting import Proximity
from ..accounting.checks import number
from ..accounting.stability import gradient_at_model, regularized_minimizers


def near_minimizer(*, gradient_norm: float, strong_convexity: float, entry: str) -> Proximity:
    """For clean phases that end at a gradient norm of at most g on a λ-strongly convex retained loss: ‖x − x′‖ ≤ 2g/λ.

    Both lie within g/λ of the one minimiser that the retained data have, wherever they began: a trained model, one that
    was unlearned before, one that somebody chose. So it holds with certainty (ϱ = 0), for every request in a row, and for
    requests that depend on earlier releases. The engine measures g in every run; the certificate checks it.
    """
    return Proximity(
        gap=gradient_at_model(gradient_norm, strong_convexity=strong_convexity, reference_gradient_norm=gradient_norm),
        failure=0.0,
        source=f"theory: points of gradient norm at most {gradient_norm:g} of a loss with L2 weight {strong_convexity:g}",
        assumptions=(
            "every sample's loss is convex in all parameters; the clean phase minimises its mean over all retained samples",
            f"the L2 penalty {strong_convexity:g}/2 is on every parameter",
            f"retraining, too, ends at a gradient norm of at most {gradient_norm:g}, as the same clean phase sees to",
        ),
        entry=entry,
    )


def regularized_head(
    *,
    lipschitz: float,
    strong_convexity: float,
    forget: int,
    retained: int,
    gradient_norm: float,
    reference_gradient_norm: float,
) -> Proximity:
    """For F = (1/n) Σ ℓ_i + (λ/2) ‖θ‖² with convex, L-Lipschitz ℓ_i: ‖x̂ − x̂′‖ ≤ 2L n_f/(λ n_r) + (g + g′)/λ.

    The first term parts the two exact minimisers; the second says how far each run stopped from its own. g is ‖∇F(x̂)‖,
    measured at the trained model. g′ is the gradient norm at which retraining stops: a promise about a run that is
    never made. `expunge.workloads.constants` has L and λ of a linear head. Right with certainty (ϱ = 0) where all of this
    holds; usually far above what pairs measure.
    """
    apart = regularized_minimizers(
        lipschitz=lipschitz, strong_convexity=strong_convexity, forget=forget, retained=retained
    )
    inexact = gradient_at_model(
        gradient_norm, strong_convexity=strong_convexity, reference_gradient_norm=reference_gradient_norm
    )
    return Proximity(
        gap=apart + inexact,
        failure=0.0,
        source=f"theory: minimisers of a convex loss with L2 weight {strong_convexity:g}, {forget} of {forget + retained} "
        "samples removed",
        assumptions=(
            f"every sample's loss is convex and {number('lipschitz', lipschitz, least=0.0):g}-Lipschitz in all parameters",
            f"the L2 penalty {strong_convexity:g}/2 is on every parameter, and its mean loss alone was minimised",
            f"the gradient norm of that loss at the trained model is at most {gradient_norm:g}",
            f"retraining stops at a gradient norm of at most {reference_gradient_norm:g}",
        ),
    )
