"""What everything costs as it grows: one command, one JSON object, one page.

    OMP_NUM_THREADS=1 python -m benchmarks [noise blocks memory calibration step_cost] > growth.json
    python -m benchmarks --from growth.json --page docs/performance.md       # enter the tables
    python -m benchmarks --smoke                                             # small, and fails where a ratio is far off

A page holds a pair of comments for each table, `<!-- noise -->` and `<!-- /noise -->`; what stands between them is replaced.
`--smoke` compares ratios within one run, never times, with limits SLACK times the targets: other programs may run beside it.
"""

import argparse
import json
import re
import shlex
import sys
from pathlib import Path

import torch

from . import blocks, calibration, memory, noise, step_cost

SUITES = {"noise": noise, "blocks": blocks, "memory": memory, "calibration": calibration}
SLACK = 2.0
SMALL = argparse.Namespace(models=["mlp"], blocks=[4], repeats=5, backwards=5)
FULL = argparse.Namespace(models=list(step_cost.MODELS), blocks=[2, 4, 10, 32], repeats=15, backwards=5)


def measure(names: list[str], *, smoke: bool) -> dict:
    """Every suite that is named."""
    makers = {
        "noise": lambda: noise.measure(repeats=7 if smoke else 15),
        "blocks": lambda: blocks.measure(blocks=(4, 64, 1024) if smoke else (4, 64, 1024, 16_384)),
        "memory": lambda: memory.run(["10 M"] if smoke else list(memory.CONFIGS)),
        "calibration": lambda: calibration.measure(pairs=2 if smoke else 8, ray=not smoke),
        "step_cost": lambda: step_cost.run(SMALL if smoke else FULL),
    }
    place = {"processor": step_cost.processor(), "threads": torch.get_num_threads(), "torch": torch.__version__}
    return {"command": shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]), **place} | {
        name: makers[name]() for name in names
    }


def limits(found: dict) -> list[tuple[str, float, float]]:
    """What was measured, and the target of each ratio."""
    rows = [("certified noise over torch.randn", found["noise"][1]["ratio"], 3.0)]
    slow = [row for row in found["step_cost"]["rows"] if row["kind"] in ("Permutation", "LayerCycle", "HeadBody")]
    rows += [(f"step of {row['kind']} over a plain one", row["step"], 1.7) for row in slow]
    rows += [(f"peak memory of {row['design']}, in copies", row["peak"], 3.0) for row in found["memory"]]
    first, last = found["blocks"][1], found["blocks"][-1]
    growth = last["blocks"] / first["blocks"]
    rows += [(f"{what} a block", last[f"{what}_s"] / first[f"{what}_s"] / growth, 1.0) for what in ("plan", "verify")]
    return rows


def page(text: str, found: dict) -> str:
    """The page with its tables filled in."""
    made = {name: _table(suite.COLUMNS, suite.table(found[name])) for name, suite in SUITES.items() if name in found}
    if "step_cost" in found:
        made["step_cost"] = step_cost.table(found["step_cost"])
    for name, table in made.items():
        told = f"`{found['command']}`, {found['processor']}, {found['threads']} thread(s), torch {found['torch']}.\n\n"
        inside = f"<!-- {name} -->\n{'' if name == 'step_cost' else told}{table}<!-- /{name} -->"
        text = re.sub(rf"<!-- {name} -->.*?<!-- /{name} -->", lambda _, inside=inside: inside, text, flags=re.DOTALL)
    return text


def _table(columns: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in [columns, ["---"] * len(columns), *rows])


def main() -> int:
    """Measure, or read what was measured; print, fill in a page, or judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", choices=[*SUITES, "step_cost", []], default=[])
    parser.add_argument("--smoke", action="store_true", help="small sizes; exit code 1 where a ratio is far off")
    parser.add_argument("--from", type=Path, dest="kept", help="JSON of an earlier run")
    parser.add_argument("--page", type=Path, help="a Markdown file whose tables are to be replaced")
    arguments = parser.parse_args()
    names = arguments.suites or [*SUITES, "step_cost"]
    found = json.loads(arguments.kept.read_text()) if arguments.kept else measure(names, smoke=arguments.smoke)
    if arguments.page:
        arguments.page.write_text(page(arguments.page.read_text(encoding="utf-8"), found), encoding="utf-8")
    if not arguments.smoke:
        print(json.dumps(found, indent=1))
        return 0
    judged = limits(found)
    for what, value, target in judged:
        off = "" if value <= SLACK * target else "  <- TOO MUCH"
        print(f"{what}: {value:.2f} (target {target:g}, limit {SLACK * target:g}){off}")
    return int(any(value > SLACK * target for _, value, target in judged))


if __name__ == "__main__":
    sys.exit(main())
