"""The import arrows of the house: a room may import what its row says, and nothing else of the house."""

import ast
import sys
from pathlib import Path

import pytest

import expunge

HOUSE = Path(expunge.__file__).parent

LOWER = {"accounting", "subspaces", "unlearning", "certificate", "calibration", "planning"}
ARROWS = {
    "accounting": set(),
    "subspaces": {"accounting"},
    "unlearning": {"accounting", "subspaces"},
    "certificate": {"accounting"},
    "calibration": {"accounting"},
    "planning": {"accounting", "subspaces"},
    "api": LOWER,
    "methods": LOWER | {"api"},  # there is one way to a certificate
    "audit": {"methods", "accounting"},  # a certified μ is compared with a measured one
    "workloads": set(),
    "experiments": LOWER | {"methods", "audit", "workloads"},
    "report": set(),  # it reads results, whoever wrote them
    "requests": LOWER | {"api", "workloads"},
    "project": LOWER | {"api", "methods", "audit", "workloads", "report"},
    "cli": LOWER | {"methods", "audit", "workloads", "experiments", "report", "project", "requests"},
}
QUICK = {f"cli/{name}.py" for name in ("__init__", "main", "plan", "account", "output", "numbers", "report")}
COMMON = {"bars", "errors"}  # what every room may import
TORCH = {"weights", "checkpoint", "lbfgs", "optimizers"}  # what every room may import that may load torch
FRONT = {"__init__", "__main__"}  # the front door leads into every room


def room_of(path):
    """The first name below the package: a room, or a module of the front hall."""
    return path.parts[0] if len(path.parts) > 1 else path.stem


def imports(source, package):
    """Every module that a file of `package` names in an import, wherever in the file, as absolute dotted names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = [*base, *(node.module.split(".") if node.module else [])]
            yield from (".".join([*stem, alias.name]) for alias in node.names)


def violations(house):
    """One line per import that no arrow allows."""
    found = []
    for file in sorted(house.rglob("*.py")):
        path = file.relative_to(house)
        room = room_of(path)
        if room not in ARROWS and room not in FRONT | COMMON | TORCH:
            found.append(f"{path}: {room} is no room of the house")
            continue
        allowed = set(ARROWS) | COMMON | TORCH | FRONT if room in FRONT else ARROWS.get(room, set()) | {room} | COMMON
        if room in ARROWS and room not in {"accounting", "planning", "report"}:
            allowed |= TORCH
        if room == "checkpoint":
            allowed |= {"weights"}
        for name in imports(file.read_text(encoding="utf-8"), [house.name, *path.parent.parts]):
            first, *rest = name.split(".")
            if first == house.name:
                if rest and rest[0] not in allowed and not (room == "cli" and rest[0] == "__version__"):
                    found.append(f"{path} imports {name}")
            elif room in {"accounting", "errors"} and first not in sys.stdlib_module_names:
                found.append(f"{path} imports {name}, which is not in the standard library")
            elif (room in {"planning", "report"} or path.as_posix() in QUICK) and first in {"torch", "numpy", "scipy"}:
                found.append(f"{path} imports {name}, which is slow to load")
    return found


@pytest.mark.parametrize("room", ARROWS)
def test_every_import_follows_an_arrow(room):
    assert [line for line in violations(HOUSE) if line.startswith(f"{room}/")] == []


def test_the_front_hall_has_no_other_doors():
    assert [line for line in violations(HOUSE) if line.split("/")[0] not in ARROWS] == []


def test_the_arrows_never_lead_back():
    seen = set()
    for room, targets in ARROWS.items():
        assert targets <= seen | {"subspaces", "accounting"}, room
        seen.add(room)


@pytest.mark.parametrize(
    ("path", "line", "told"),
    [
        ("accounting/a.py", "from ..planning import plan", "expunge.planning.plan"),
        ("accounting/a.py", "from .. import cli", "expunge.cli"),
        ("accounting/a.py", "import expunge.planning.plan", "expunge.planning.plan"),
        ("accounting/a.py", "def f():\n    from expunge import planning", "expunge.planning"),
        ("accounting/a.py", "if True:\n    import numpy as np", "numpy"),
        ("accounting/deep/a.py", "from ...cli.main import main", "expunge.cli.main.main"),
        ("accounting/__init__.py", "from ..subspaces import x", "expunge.subspaces.x"),
        ("planning/a.py", "import torch", "torch"),
        ("cli/account.py", "def f():\n    import numpy", "numpy"),
        ("planning/a.py", "from ..unlearning.engine import run", "expunge.unlearning.engine.run"),
        ("certificate/a.py", "from ..subspaces import x", "expunge.subspaces.x"),
        ("workloads/a.py", "from ..accounting import mu", "expunge.accounting.mu"),
        ("errors.py", "from .accounting import mu", "expunge.accounting.mu"),
        ("weights.py", "from .accounting import mu", "expunge.accounting.mu"),
        ("accounting/a.py", "from .. import weights", "expunge.weights"),
        ("report/a.py", "from .. import weights", "expunge.weights"),
        ("report/a.py", "from ..accounting import mu", "expunge.accounting.mu"),
        ("report/deep/a.py", "def f():\n    import torch", "torch"),
        ("attic/a.py", "", "no room"),
        ("helpers.py", "", "no room"),
    ],
)
def test_a_violation_is_caught(tmp_path, path, line, told):
    file = tmp_path / "expunge" / path
    file.parent.mkdir(parents=True)
    file.write_text(line)
    (found,) = violations(tmp_path / "expunge")
    assert path in found
    assert told in found


def test_what_the_house_allows_is_not_called_a_violation(tmp_path):
    lines = {
        "accounting/a.py": "import math\nfrom . import b\nfrom .b import c\nfrom ..errors import ConfigError",
        "planning/a.py": "from .. import accounting\nfrom ..accounting.checks import number",
        "cli/a.py": "from .. import __version__, planning\nfrom ..report.page import write",
        "methods/a.py": "import torch\nfrom expunge.unlearning import run",
        "__init__.py": "from .accounting import mu\nfrom .cli.main import main",
    }
    for path, line in lines.items():
        file = tmp_path / "expunge" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(line)
    assert violations(tmp_path / "expunge") == []
