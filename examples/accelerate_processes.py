"""Hugging Face Accelerate trains on two processes, and the same two unlearn: what `prepare` gives is passed on as it is.

Run it: torchrun --nproc-per-node 2 examples/accelerate_processes.py
"""

import torch
from accelerate import Accelerator
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Subset, TensorDataset

import expunge


def loss(model: torch.nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Of this process's share of the batch."""
    return cross_entropy(model(batch[0]), batch[1])


def main() -> None:
    """Train on everything, forget the first twenty."""
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    inputs = torch.randn(200, 4)
    dataset = TensorDataset(inputs, inputs[:, :3].argmax(1))
    bare = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
    model, optimizer, loader = accelerator.prepare(
        bare, torch.optim.Adam(bare.parameters(), lr=0.02), DataLoader(dataset, 20, shuffle=True)
    )
    for _ in range(10):
        for batch in loader:
            optimizer.zero_grad()
            accelerator.backward(loss(model, batch))
            optimizer.step()

    retained = accelerator.prepare(DataLoader(Subset(dataset, range(20, 200)), 20, shuffle=True))
    plan = expunge.plan(
        model, blocks=expunge.Permutation(2), proximity=0.1, epsilon=20, delta=1e-5, clip=0.0, step_size=0.0
    )
    recipe = expunge.FineTune(steps=100, lr=0.1)
    outcome = expunge.unlearn(model, retained, loss, plan, fine_tune=recipe, forget=range(20))
    expunge.verify(outcome.certificate, model)
    right = (bare(inputs).argmax(-1) == dataset.tensors[1]).float().mean().item()
    if accelerator.is_main_process:
        print(f"{accelerator.num_processes} processes, epsilon {outcome.certificate.epsilon:.4g}, accuracy {right:.1%}")
    accelerator.wait_for_everyone()  # whoever leaves while another still listens can bring both down
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
