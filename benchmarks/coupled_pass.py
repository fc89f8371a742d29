"""Are two coupled models trained faster in one pass? Two runs one after the other, against one vectorised run of both.

    OMP_NUM_THREADS=1 python benchmarks/coupled_pass.py [--repeats 20] > coupled_pass.json

Both models see different samples in the same slots, as in calibration. "one pass" is torch.func's vmap over stacked
parameters, with forward, backward and SGD with momentum for both at once. Processor time, not wall-clock time, because
other work may share the machine; medians of interleaved repeats.
"""

import argparse
import copy
import json
import platform
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn.functional import cross_entropy

from expunge.workloads import build

RATE, MOMENTUM = 0.005, 0.9


def mlp() -> tuple[nn.Module, Tensor]:
    """The paper's MNIST model."""
    return build("mlp", seed=0), torch.randn(64, 784)


def cnn() -> tuple[nn.Module, Tensor]:
    """Three 3 × 3 convolutions on 32 × 32 images, 66,570 parameters."""
    layers = [layer for n, m in ((3, 32), (32, 64), (64, 64))
              for layer in (nn.Conv2d(n, m, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))]  # fmt: skip
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10)), torch.randn(64, 3, 32, 32)


def separate(model: nn.Module, inputs: Tensor, labels: Tensor) -> Callable[[], None]:
    """A step of the one, and a step of the other, as the workloads train."""
    models = [model, copy.deepcopy(model)]
    optimizers = [torch.optim.SGD(each.parameters(), lr=RATE, momentum=MOMENTUM) for each in models]

    def step() -> None:
        for each, optimizer in zip(models, optimizers, strict=True):
            optimizer.zero_grad()
            cross_entropy(each(inputs), labels).backward()
            optimizer.step()

    return step


def one_pass(model: nn.Module, inputs: Tensor, labels: Tensor) -> Callable[[], None]:
    """Both at once."""
    parameters, buffers = stack_module_state([model, model])
    parameters = {name: value.detach() for name, value in parameters.items()}
    momenta = {name: torch.zeros_like(value) for name, value in parameters.items()}
    inputs, labels = (torch.stack([value, value]) for value in (inputs, labels))

    def loss(state: dict[str, Tensor], extra: dict[str, Tensor], batch: Tensor, target: Tensor) -> Tensor:
        return cross_entropy(functional_call(model, (state, extra), (batch,)), target)

    gradients = vmap(grad(loss))

    def step() -> None:
        for name, gradient in gradients(parameters, buffers, inputs, labels).items():
            momenta[name].mul_(MOMENTUM).add_(gradient)
            parameters[name].sub_(momenta[name], alpha=RATE)

    return step


def measure(make: Callable[[], tuple[nn.Module, Tensor]], repeats: int) -> dict[str, float]:
    """Median milliseconds of processor time for a step of both models."""
    model, inputs = make()
    labels = torch.randint(10, (len(inputs),))
    ways = {"separate": separate(model, inputs, labels), "one pass": one_pass(model, inputs, labels)}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats + 3):
        for name, step in ways.items():
            started = time.process_time()
            step()
            times[name].append(1000 * (time.process_time() - started))
    found = {name: round(statistics.median(values[3:]), 2) for name, values in times.items()}
    return {**found, "one pass costs": round(found["one pass"] / found["separate"], 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    torch.manual_seed(0)
    answer = {
        "machine": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "milliseconds": {make.__name__: measure(make, repeats) for make in (mlp, cnn)},
    }
    print(json.dumps(answer, indent=1))


if __name__ == "__main__":
    main()
