"""Every way to unlearn behind one signature: a frozen dataclass of hyper-parameters, called with a task.

    method = METHODS["fine_tune"](epochs=2, lr=0.01)
    unlearned = method(Task(model, retain, loss, forget=forget))

To add one: a file with such a class, and its line below.
"""

from .amun import Amun
from .blockwise_nft import BlockwiseNft
from .certified import Calibrated, Certified
from .fine_tune import FineTuning
from .from_public import FromPublic
from .gradient_ascent import GradientAscent
from .influence import Influence
from .l1_sparse import L1Sparse
from .nft import Nft
from .nft_clipped import ClippedNft
from .output_perturbation import OutputPerturbation
from .retrain import Retrain
from .salun import SalUn
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
        GradientAscent,
        Influence,
        SalUn,
        L1Sparse,
        Amun,
    )
}

__all__ = [
    "METHODS",
    "Amun",
    "BlockwiseNft",
    "Calibrated",
    "Certified",
    "ClippedNft",
    "FineTuning",
    "FromPublic",
    "GradientAscent",
    "Influence",
    "Kind",
    "L1Sparse",
    "Method",
    "Nft",
    "OnStep",
    "OutputPerturbation",
    "Retrain",
    "SalUn",
    "Task",
    "Train",
    "Unlearned",
]
