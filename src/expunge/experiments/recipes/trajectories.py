"""The paper's Δ trajectories: distance of coupled runs and test accuracy over training."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...workloads import ClassDeletion, Deletion, RandomDeletion
from .panel import Scale
from .scales import LAPTOP


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """One calibration with a look at the models every so many steps. `paper` is the Δ that the paper then uses."""

    name: str
    title: str
    source: str
    claim: str
    workload: str
    deletion: Deletion
    every: int
    training: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pairs: int = 10
    paper: float | None = None
    scaled: str = ""

    def at(self, scale: Scale) -> "Trajectory":
        """On digits in seconds; with fewer pairs and steps where the model is large; or as the paper has it."""
        if scale == "smoke":
            return replace(self, workload="digits-mlp", every=10, training={"epochs": 1}, pairs=2)
        about = LAPTOP.get(self.workload) if scale == "laptop" else None
        if about is None:
            return self
        steps, pairs = about.pair_steps, f"{about.pairs} pair" + ("s" if about.pairs > 1 else "")
        said = f"Scaled for two cores: {pairs}, trained in {steps} steps ({about.says})."
        every = max(1, steps // LOOKS)
        training = {**self.training, **about.training, "steps": steps}
        return replace(self, training=training, pairs=about.pairs, every=every, scaled=said)


LOOKS = 8  # at a scaled run, each of both models
CLAIM = "Accuracy is high long before Δ has grown: an early checkpoint has both."
_REQUESTS: tuple[tuple[str, str, str, Deletion], ...] = (
    ("random10", "10p", "random 10 % removed", RandomDeletion(0.1)),
    ("class5", "class", "class 5 removed", ClassDeletion(5)),
)

TRAJECTORIES = (
    Trajectory(
        name="delta-mnist-random10", title="MNIST, random 10 % removed, lr 0.005", source="fig:delta-traj-mnist-10p-lr5e-3",
        claim=CLAIM, workload="mnist-mlp", deletion=RandomDeletion(0.1), every=100, training={"epochs": 3}, paper=0.5,
    ),
    Trajectory(
        name="delta-mnist-random10-lr0.01", title="MNIST, random 10 % removed, lr 0.01",
        source="fig:delta-traj-mnist-10p-lr1e-2", claim="A larger learning rate gives a larger Δ at the same accuracy.",
        workload="mnist-mlp", deletion=RandomDeletion(0.1), every=100, training={"epochs": 3, "lr": 0.01},
    ),
    Trajectory(
        name="delta-mnist-class5", title="MNIST, class 5 removed, lr 0.005", source="fig:delta-traj-mnist-class-lr5e-3",
        claim=CLAIM, workload="mnist-mlp", deletion=ClassDeletion(5), every=100, training={"epochs": 3}, paper=3.0,
    ),
    Trajectory(
        name="delta-mnist-random50", title="MNIST, random 50 % removed, lr 0.005", source="fig:delta-traj-mnist-50p-lr5e-3",
        claim=CLAIM, workload="mnist-mlp", deletion=RandomDeletion(0.5), every=100, training={"epochs": 3},
    ),
    *(
        Trajectory(
            name=f"delta-vit-{request}", title=f"CIFAR-10, ViT-Tiny, {words}, lr 3e-4",
            source=f"fig:delta-traj-cifar-vit-{name}-lr3e-4", claim=CLAIM, workload="cifar10-vit_tiny", deletion=deletion,
            every=20, paper=0.25 if request == "random10" else 0.5,
        )
        for request, name, words, deletion in _REQUESTS
    ),
    *(
        Trajectory(
            name=f"delta-resnet-{request}", title=f"CIFAR-10, ResNet-18, {words}, lr 0.1",
            source=f"fig:delta-traj-cifar-rn18-{name}-lr1e-1", claim=CLAIM, workload="cifar10-resnet18", deletion=deletion,
            every=20, paper=50.0,
        )
        for request, name, words, deletion in _REQUESTS
    ),
)  # fmt: skip
