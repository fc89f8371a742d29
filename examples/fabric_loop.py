"""Lightning Fabric trains, Expunge unlearns: Fabric's module is unwrapped, its loaders stay.

Run it: python examples/fabric_loop.py
"""

import torch
from lightning_fabric import Fabric
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

import expunge
from expunge.workloads import RandomDeletion, split

fabric = Fabric(accelerator="cpu", devices=1)


def blobs(count: int, seed: int) -> TensorDataset:
    """Three clouds in the plane."""
    labels = torch.arange(count) % 3
    centres = torch.tensor([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    return TensorDataset(centres[labels] + torch.randn(count, 2, generator=torch.Generator().manual_seed(seed)), labels)


def loss(model: torch.nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Under Fabric's precision, whatever that is."""
    with fabric.autocast():
        return cross_entropy(model(batch[0]), batch[1])


def train(stream: Dataset, seed: int) -> torch.nn.Module:
    """An ordinary Fabric loop; what comes back is the user's own module."""
    fabric.seed_everything(seed, verbose=False)
    model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    wrapped, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for _ in range(2):
        for batch in fabric.setup_dataloaders(DataLoader(stream, 50, shuffle=True)):
            optimizer.zero_grad()
            fabric.backward(loss(wrapped, batch))
            optimizer.step()
    return wrapped.module


def main() -> None:
    """The whole way."""
    dataset, deletion = blobs(300, seed=0), RandomDeletion(0.1)
    calibration = expunge.calibrate(train, dataset, deletion, pairs=5)
    model = train(dataset, seed=0)
    goes = split(dataset, deletion, seed=1000)
    plan = expunge.plan(
        model, blocks=expunge.Whole(), proximity=calibration, epsilon=20, delta=1e-5, clip=0.0, step_size=0.0
    )
    retained = DataLoader(Subset(dataset, goes.retain.tolist()), 50, shuffle=True)
    recipe = expunge.FineTune(steps=30, lr=0.1)
    with expunge.RichMeter() as meter:
        outcome = expunge.unlearn(
            model, retained, loss, plan, fine_tune=recipe, forget=goes.forget.tolist(), progress=meter
        )
    expunge.verify(outcome.certificate, model)
    inputs, labels = blobs(300, seed=1).tensors
    right = (model(inputs).argmax(-1) == labels).float().mean().item()
    print(
        f"epsilon {outcome.certificate.epsilon:.4g} at delta {outcome.certificate.delta:g}, test accuracy {right:.1%}"
    )


if __name__ == "__main__":
    main()
