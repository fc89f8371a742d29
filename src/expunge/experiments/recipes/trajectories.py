"""The paper's Δ trajectories: distance of coupled runs and test accuracy over training."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...workloads import ClassDeletion, Deletion, RandomDeletion
from .recipe import Scale


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

    def at(self, scale: Scale) -> "Trajectory":
        """In seconds, on digits, for tests."""
        return self if scale != "smoke" else replace(
            self, workload="digits-mlp", every=10, training={"epochs": 1}, pairs=2
        )  # fmt: skip


CLAIM = "Accuracy is high long before Δ has grown: an early checkpoint has both."
_REQUESTS: tuple[tuple[str, str, Deletion], ...] = (
    ("random10", "random 10 % removed", RandomDeletion(0.1)),
    ("class5", "class 5 removed", ClassDeletion(5)),
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
            name=f"delta-vit-{name}", title=f"CIFAR-10, ViT-Tiny, {words}, lr 3e-4",
            source=f"fig:delta-traj-cifar-vit-{name}", claim=CLAIM, workload="cifar10-vit_tiny", deletion=deletion,
            every=20, pairs=2, paper=0.25 if name == "random10" else 0.5,
        )
        for name, words, deletion in _REQUESTS
    ),
    *(
        Trajectory(
            name=f"delta-resnet-{name}", title=f"CIFAR-10, ResNet-18, {words}, lr 0.1",
            source=f"fig:delta-traj-cifar-rn18-{name}", claim=CLAIM, workload="cifar10-resnet18", deletion=deletion,
            every=20, pairs=2, paper=50.0,
        )
        for name, words, deletion in _REQUESTS
    ),
)  # fmt: skip
