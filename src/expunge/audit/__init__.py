"""What an attacker or a critic measures: accuracies, cost, distance to retraining, membership inference, bounds on ε.

    outputs = collect(model, {"forget": ..., "retain": ..., "test": ...})    # logits, once
    outputs.save("outputs.safetensors")
    measure(outputs, reference=outputs_of_the_retrained_model)

Every score and attack is a function of arrays; a new one is one file, and one line in `measure`.
"""

from .accuracy import accuracy, unlearning_accuracy
from .collect import collect
from .distance import to_retrained, weight_distance
from .effort import effort
from .lira import lira
from .loss_threshold import loss_threshold
from .lower_bound import LowerBound, lower_bound, refuse_violation
from .measure import measure
from .outputs import Outputs, Part, is_outputs, load
from .rmia import rmia
from .run_score import run_score
from .svc import efficacy
from .u_lira import u_lira

__all__ = [
    "LowerBound",
    "Outputs",
    "Part",
    "accuracy",
    "collect",
    "efficacy",
    "effort",
    "is_outputs",
    "lira",
    "load",
    "loss_threshold",
    "lower_bound",
    "measure",
    "refuse_violation",
    "rmia",
    "run_score",
    "to_retrained",
    "u_lira",
    "unlearning_accuracy",
    "weight_distance",
]
