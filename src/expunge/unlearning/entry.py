"""Where a clean phase ends: after its steps, or at the first point whose gradient is short enough.

A strongly convex loss has one minimiser, and ‖x − x*‖ ≤ ‖∇F(x)‖/λ. A phase that ends at a gradient norm of at most g so
enters the noise within g/λ of it, wherever it began. That needs the gradient of the whole loss, in double precision.
"""

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any

import torch
from torch import Tensor

from ..errors import CertificationError, ConfigError
from .fine_tune import FineTune
from .gradients import Gradients
from .progress import Phase
from .record import Record

NEAR = 4.0  # a gradient seen by the optimiser on its way, so many times too long, is not worth another look


def refuse_unmeasurable(
    recipes: Mapping[Phase, FineTune | None], loader: Iterable[Any], parameters: Sequence[Tensor]
) -> None:
    """A gradient norm that decides must be that of all retained data, and must not be rounding."""
    for name, recipe in recipes.items():
        if recipe is None or recipe.until is None:
            continue
        if name != "clean":
            raise ConfigError(f"until ends a clean phase, where the noise begins; {name} has it too. Leave it out.")
        if not isinstance(loader, Sized) or len(loader) != 1:
            raise ConfigError(
                "a clean phase with until needs the gradient of the whole retained loss: a loader that gives all retained "
                "samples in one batch (and has a length of 1)."
            )
        if any(parameter.dtype != torch.float64 for parameter in parameters):
            raise ConfigError(
                "a clean phase with until needs a model in float64, so that a short gradient is not rounding: "
                "model.double(), and inputs alike."
            )


def arrived(recipe: FineTune, step: int, gradients: Gradients, record: Record) -> bool:
    """Whether training ends here; raises where its steps are used up and the gradient is still too long."""
    last = step >= recipe.steps
    if recipe.until is None:
        return last
    if last or gradients.norm() <= NEAR * recipe.until:
        gradients.backward(f"noise entry, step {step}")
        record.entry_gradient = gradients.norm()
        if record.entry_gradient <= recipe.until:
            return True
    if last:
        raise CertificationError(
            f"the clean phase ended at a gradient norm of {record.entry_gradient:.3g} after {step} steps, and the proximity "
            f"is that of {recipe.until:g}. Give it more steps, or retrain."
        )
    return False
