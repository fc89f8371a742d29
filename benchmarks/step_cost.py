r"""What a noisy block step costs, as a multiple of a plain SGD step on the same batch in the same process.

    OMP_NUM_THREADS=1 python benchmarks/step_cost.py [--models mlp resnet18] [--blocks 2 4 10 32] [--repeats 15] \
        [--table cost.md] > cost.json

`--table` writes the same as Markdown, for docs/subspaces.md; `--from cost.json --table cost.md` does so without measuring.

A plain step is forward, backward and SGD's update; a noisy one is forward, backward and all that the engine does instead:
the seal's check, projection, clip, decay, noise, the seal again. `step` is the second over the first; `entry` what entering
a block adds once (indices or bases gathered, coordinates read, the bystander), over the first. `setup_s` is the design's
one-time binding, `memory` the most that all of it held beyond model and gradients, in copies of the parameters. All are
processor times, which other programs on the machine disturb least: medians over steps that take turns. Forward and backward
do not depend on the design, so their median is over all rows of a model (`--backwards` of them a row).
"""

import argparse
import json
import platform
import re
import shlex
import statistics
import sys
import time
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import torch
from torch import nn

from expunge.accounting import Step
from expunge.subspaces import DESIGNS, Design
from expunge.subspaces.probe import Bystander
from expunge.unlearning.noise import NoiseSource
from expunge.unlearning.seal import Seal
from expunge.unlearning.step import ActiveBlock

SEED, WARM_UP = 0, 1
TITLES = {"mlp": "MLP", "resnet18": "ResNet-18"}
STEP = Step(step_size=1e-3, weight_decay=1.0, clip=1.0, sigma=1e-3)


def mlp() -> tuple[nn.Module, torch.Tensor]:
    """The paper's MNIST network, 4,364,554 parameters."""
    sizes = (784, 2048, 1024, 512, 256, 10)
    layers = [layer for n, m in pairwise(sizes) for layer in (nn.Linear(n, m), nn.ReLU())]
    return nn.Sequential(*layers[:-1]), torch.randn(64, 784)


class Residual(nn.Module):
    """Two 3 × 3 convolutions and a shortcut."""

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width_in, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
        )
        plain = stride == 1 and width_in == width
        self.shortcut = (
            nn.Identity()
            if plain
            else nn.Sequential(nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet18() -> tuple[nn.Module, torch.Tensor]:
    """ResNet-18 for 32 × 32 images (3 × 3 stem, no max-pool), 11.17 M parameters."""
    widths = [
        (64, 64, 1),
        (64, 64, 1),
        (64, 128, 2),
        (128, 128, 1),
        (128, 256, 2),
        (256, 256, 1),
        (256, 512, 2),
        (512, 512, 1),
    ]
    stem = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    body = [Residual(*shape) for shape in widths]
    return nn.Sequential(*stem, *body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)), torch.randn(
        64, 3, 32, 32
    )


MODELS = {"mlp": mlp, "resnet18": resnet18}


def designs(blocks: list[int]) -> list[Design]:
    """Every design, at every k that it takes."""
    named = [
        DESIGNS[name](k) for name in ("Permutation", "FastRotation", "RandomRotation", "LayerCycle") for k in blocks
    ]
    return [DESIGNS["Whole"](), DESIGNS["HeadBody"](), *named]


class Stopwatch:
    """Processor time of the parts of a step."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}

    @contextmanager
    def __call__(self, part: str):
        before = time.process_time()
        yield
        self.times.setdefault(part, []).append(time.process_time() - before)

    def first(self, part: str) -> float:
        return self.times[part][0]

    def typical(self, part: str, blocks: int = 1) -> float:
        """The mean over blocks of the median over each block's turns: blocks may differ in size."""
        turns = self.times[part][WARM_UP:]
        return statistics.fmean(statistics.median(turns[i::blocks]) for i in range(min(blocks, len(turns))))


def measure(name: str, design: Design, repeats: int, backwards: int) -> dict[str, object]:
    """The costs of one design on one model, in a process of its own: freed memory would blur the next row's."""
    torch.manual_seed(SEED)
    model, inputs = MODELS[name]()
    named = dict(model.named_parameters())
    parameters, labels = list(named.values()), torch.randint(0, 10, (len(inputs),))
    optimizer = torch.optim.SGD(parameters, lr=1e-3)

    def backward() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()

    backward()
    optimizer.step()
    noise = NoiseSource.certified()
    noise.normal(2, step=0, tensor=0, like=inputs)  # libraries load what they need
    before = peak_memory(reset=True)
    watch = Stopwatch()
    with watch("setup"):
        partition = design.bind({name: p.shape for name, p in named.items()})
    count = len(partition.dimensions)
    active, watched, gradients = None, None, list[torch.Tensor | None]()
    for repeat in range(repeats + WARM_UP):
        if repeat < WARM_UP + backwards:
            with watch("backward"):
                backward()
            gradients = [parameter.grad for parameter in parameters]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient  # the engine lets go of what it has read
        with watch("sgd"):
            optimizer.step()
        del active, watched
        with watch("entry"):
            active = ActiveBlock(parameters, partition.parts(repeat % count, parameters), keeps=STEP.weight_decay > 0.0)
            watched = Bystander(partition, repeat % count, parameters)
        seal = Seal(model, named)
        with watch("engine"):
            seal.check("a step")
            active.move(STEP, active.read_gradients(STEP), noise, repeat)
            seal.close()
    watched.moved()
    held = peak_memory() - before
    turns = {"backward": 1, "sgd": 1, "engine": count, "entry": count}
    parts = {f"{part}_ms": 1e3 * watch.typical(part, blocks) for part, blocks in turns.items()}
    memory = held / sum(p.numel() * p.element_size() for p in parameters)
    return {"model": name, **design.describe(), **parts, "setup_s": watch.first("setup"), "memory": memory}


def compare(rows: list[dict[str, object]]) -> None:
    """Enter the ratios to the model's plain step into every row."""
    for row in rows:
        same = [other for other in rows if other["model"] == row["model"]]
        backward, sgd = (statistics.median(other[f"{part}_ms"] for other in same) for part in ("backward", "sgd"))
        row["plain_ms"] = backward + sgd
        row["step"] = (backward + row["engine_ms"]) / row["plain_ms"]
        row["entry"] = row["entry_ms"] / row["plain_ms"]


def peak_memory(*, reset: bool = False) -> int:
    """The most bytes that this process ever held (Linux), counted from now where `reset`."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def generator_speed() -> dict[str, float]:
    """Nanoseconds of processor time per normal: ours, and torch's own."""
    size, like = 2_000_000, torch.empty(0)
    source = NoiseSource.certified()

    times: dict[str, list[float]] = {"ours": [], "plain": []}
    draws = {"ours": lambda: source.normal(size, step=0, tensor=0, like=like), "plain": lambda: torch.randn(size)}
    for _ in range(15):  # in turns: whoever comes first pays for the memory that the other finds
        for name, draw in draws.items():
            started = time.process_time()
            draw()
            times[name].append(time.process_time() - started)
    ours, plain = (1e9 * statistics.median(times[name]) / size for name in ("ours", "plain"))
    return {"certified_ns": ours, "torch_randn_ns": plain, "ratio": ours / plain}


def run(arguments: argparse.Namespace) -> dict[str, object]:
    """Every design on every model."""
    rows = []
    with get_context("spawn").Pool(1, maxtasksperchild=1) as process:
        for case in [(model, design) for model in arguments.models for design in designs(arguments.blocks)]:
            rows.append(process.apply(measure, (*case, arguments.repeats, arguments.backwards)))
            print({k: round(v, 3) if isinstance(v, float) else v for k, v in rows[-1].items()}, file=sys.stderr)
    compare(rows)
    command = shlex.join(["python", *sys.argv])
    machine = {"processor": processor(), "threads": torch.get_num_threads()}
    found = {"command": command, "seed": SEED, "machine": machine, "torch": torch.__version__}
    return {**found, "noise": generator_speed(), "rows": rows}


def processor() -> str:
    """By the name that its maker gave it (Linux)."""
    named = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    return named[1] if named else platform.machine()


def table(found: dict) -> str:
    """Markdown: what was measured and how, then a line for each design and k, with columns for each model."""
    rows, noise, machine = found["rows"], found["noise"], found["machine"]
    models = list(dict.fromkeys(row["model"] for row in rows))
    plain = ", ".join(f"{TITLES[m]} {next(r['plain_ms'] for r in rows if r['model'] == m):.3g} ms" for m in models)
    titles = [f"{TITLES[model]}: {what}" for model in models for what in ("step", "entry", "set-up", "memory")]
    head = ["design", "k", *titles]
    lines = [head, ["---"] * len(head)]
    for kind, k in dict.fromkeys((row["kind"], row.get("k")) for row in rows):
        same = [row for row in rows if (row["kind"], row.get("k")) == (kind, k)]
        cells = [_cells(next((row for row in same if row["model"] == model), None)) for model in models]
        lines.append([f"`{kind}`", str(k or ""), *(cell for four in cells for cell in four)])
    return "\n".join(
        [
            f"`{found['command']}`, seed {found['seed']}, {machine['processor']}, {machine['threads']} thread(s), torch "
            f"{found['torch']}. A plain step (batch 64): {plain}. A normal costs {noise['certified_ns']:.3g} ns, torch's "
            f"own {noise['torch_randn_ns']:.3g} ns.",
            "",
            *(f"| {' | '.join(line)} |" for line in lines),
            "",
        ]
    )


def _cells(row: dict | None) -> list[str]:
    if row is None:
        return [""] * 4
    return [f"{row['step']:.2f}×", f"{row['entry']:.2f}×", f"{row['setup_s']:.2f} s", f"{row['memory']:.2f}"]


def main() -> None:
    """Measure, or read what was measured; print one JSON object, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--blocks", nargs="+", type=int, default=[2, 4, 10, 32])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--backwards", type=int, default=5)
    parser.add_argument("--table", type=Path, help="a Markdown file to write")
    parser.add_argument("--from", type=Path, dest="kept", help="cost.json of an earlier run")
    arguments = parser.parse_args()
    found = json.loads(arguments.kept.read_text()) if arguments.kept else run(arguments)
    if not arguments.kept:
        json.dump(found, sys.stdout, indent=1)
    if arguments.table:
        arguments.table.write_text(table(found))


if __name__ == "__main__":
    main()
