"""Every way to unlearn behind one signature: a frozen dataclass of hyper-parameters, called with a task.

    method = METHODS["fine_tune"](epochs=2, lr=0.01)
    unlearned = method(Task(model, retain, loss, forget=forget))

To add one: a file with such a class, and its line below.
"""

from .blockwise_nft import BlockwiseNft
from .certified import Calibrated, Certified
from .fine_tune import FineTuning
from .from_public import FromPublic
from .nft import Nft
from .nft_clipped import ClippedNft
from .output_perturbation import OutputPerturbation
from .retrain import Retrain
from .task import Kind, Method, OnStep, Task, Train, Unlearned

METHODS: dict[str, type] = {
    method.name: method
    for method in (
        Retrain,
        FromPublic,
        OutputPerturbation,
        BlockwiseNft,
        Nft,
        ClippedNft,
        FineTuning,
    )
}

__all__ = [
    "METHODS",
    "BlockwiseNft",
    "Calibrated",
    "Certified",
    "ClippedNft",
    "FineTuning",
    "FromPublic",
    "Kind",
    "Method",
    "Nft",
    "OnStep",
    "OutputPerturbation",
    "Retrain",
    "Task",
    "Train",
    "Unlearned",
]
