"""Train the model, or take the weights that were given."""

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..stage import Work

TRAINED = "trained.safetensors"


def train(work: "Work") -> str:
    """Leaves the weights that the request is about."""
    from ... import weights

    given, dataset, began = work.project.model.weights, work.materials.dataset, time.monotonic()
    model = _train(work) if given is None else work.materials.model(work.project.beside(given))
    seconds = time.monotonic() - began if given is None else None
    weights.save(model.state_dict(), work.path(TRAINED), mode=0o600)
    found = work.materials.accuracy(model)
    about = {
        "schema": "expunge.model/1",
        "parameters": sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        "training_samples": len(dataset),
        "test_samples": len(work.materials.test),
        "test_accuracy": found,
        "seconds": seconds,
    }
    work.write_json("trained.json", about)
    how = "trained" if given is None else f"weights of {given}"
    return how if found is None else f"{how}, test accuracy {found:.1%}"


def _train(work: "Work") -> Any:
    from ...calibration import base_stream

    materials, seed = work.materials, work.project.project.seed
    if materials.workload is None:
        return materials.trained(base_stream(materials.dataset), seed)

    def tell(step: Any) -> None:
        work.bars.move("training", step.step, step.steps, f"epoch {step.epoch}  loss {step.loss:.4g}")

    checkpoint = work.scratch / "training.checkpoint"
    return materials.workload.train(materials.workload.stream(), seed, on_step=tell, checkpoint=checkpoint)
