"""Lightning Fabric trains on two processes, and the same two unlearn: one model, one certificate.

Run it: torchrun --nproc-per-node 2 examples/fabric_processes.py
"""

import torch
from lightning_fabric import Fabric
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

import expunge

fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")


def loss(model: torch.nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Of this process's share of the batch."""
    return cross_entropy(model(batch[0]), batch[1])


def main() -> None:
    """Train on everything, forget the first twenty."""
    fabric.launch()
    fabric.seed_everything(0, verbose=False)
    inputs = torch.randn(200, 4)
    dataset = TensorDataset(inputs, inputs[:, :3].argmax(1))
    model = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
    wrapped, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=0.02))
    for _ in range(10):
        for batch in fabric.setup_dataloaders(DataLoader(dataset, 20, shuffle=True)):
            optimizer.zero_grad()
            fabric.backward(loss(wrapped, batch))
            optimizer.step()

    shared = DistributedDataParallel(wrapped.module)  # Fabric's wrapper is its own; the engine asks for torch's
    kept = Subset(dataset, range(20, 200))
    retained = DataLoader(kept, 20, sampler=DistributedSampler(kept))
    plan = expunge.plan(
        shared, blocks=expunge.Permutation(2), proximity=0.1, epsilon=20, delta=1e-5, clip=0.0, step_size=0.0
    )
    recipe = expunge.FineTune(steps=100, lr=0.1)
    outcome = expunge.unlearn(shared, retained, loss, plan, fine_tune=recipe, forget=range(20))
    expunge.verify(outcome.certificate, shared)
    right = (shared.module(inputs).argmax(-1) == dataset.tensors[1]).float().mean().item()
    if fabric.is_global_zero:
        print(f"{fabric.world_size} processes, epsilon {outcome.certificate.epsilon:.4g}, accuracy {right:.1%}")
    fabric.barrier()  # whoever leaves while another still listens can bring both down
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
