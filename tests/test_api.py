"""The front door: every promised name, every wrong use answered in words."""

import math
import subprocess
import sys
from importlib import import_module

import pytest
import torch
from torch import nn

import expunge
from expunge import Permutation, Whole, errors

ARGUMENTS = {
    "blocks": Whole(),
    "proximity": 0.1,
    "epsilon": 1.0,
    "delta": 1e-5,
    "clip": 0.5,
    "step_size": 0.01,
    "weight_decay": 1.0,
    "steps": 4,
}
PROMISED = {
    "expunge": "plan unlearn verify recertify FineTune Whole RandomRotation FastRotation Permutation LayerCycle HeadBody "
    "Custom Proximity Plan Certificate Outcome accounting certificate planning subspaces unlearning __version__ "
    "calibrate Calibration calibration workloads RandomDeletion ClassDeletion IndexDeletion GroupDeletion "
    "ExpungeError CertificationError CoverageError BudgetError ProximityError BufferError DataError ConfigError",
    "expunge.calibration": "calibrate Calibration Deletion Stream plot_trajectory regularized_head",
    "expunge.workloads": "open_workload load split train constants Workload Split Dataset Stream Recipe",
    "expunge.accounting": "Step Block mu sigma best_steps gaussian renyi",
    "expunge.accounting.gaussian": "mu epsilon delta",
    "expunge.accounting.renyi": "mu epsilon order",
    "expunge.certificate": "issue load recertify sign verify Finding Certificate",
}


@pytest.fixture(autouse=True)
def one_thread():
    """Small tensors are faster on one thread, and other tests run beside these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def network():
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def planned(**changes):
    return expunge.plan(network(), **(ARGUMENTS | changes))


def run(made, model=None, **options):
    batch = torch.zeros(2, 4), torch.zeros(2, dtype=torch.long)
    model = model or network()
    return expunge.unlearn(model, [batch], lambda m, b: nn.functional.cross_entropy(m(b[0]), b[1]), made, **options)


@pytest.mark.parametrize("statement", ["import expunge", "import expunge; expunge.Plan, expunge.Proximity"])
def test_the_package_and_its_plans_load_without_torch(statement):
    code = f"{statement}; import sys; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("module", PROMISED)
def test_every_promised_name_is_there(module):
    for name in PROMISED[module].split():
        assert getattr(import_module(module), name) is not None


def test_what_was_never_promised_is_no_attribute():
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = expunge.nothing_of_the_kind


def test_the_errors_form_one_tree():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert all(issubclass(kind, errors.ExpungeError) for kind in kinds)
    certification = [errors.CoverageError, errors.BudgetError, errors.ProximityError, errors.BufferError]
    assert all(issubclass(kind, errors.CertificationError) for kind in certification)


WRONG_PLANS = [
    *(
        {name: value}
        for name in ("epsilon", "delta", "clip", "step_size", "proximity")
        for value in (-1, "1", math.nan)
    ),
    *({"delta": value} for value in (0, 1, 2)),
    *({"steps": value} for value in (0, -1, 1.5, "all", None)),
    *({"noise_every": value} for value in (0, 3, 8, 1.5)),
    *({"noise_shape": value} for value in ([1.0], [1.0] * 5, [-1.0] * 4, "abcd", [0.0] * 4)),
    *({"clip": value} for value in ([0.5, 0.5], [], [math.inf], True, None)),
    *({"accountant": value} for value in ("hope", None, [])),
    *({"blocks": value} for value in (3, "Whole", Whole, None)),
    *({"proximity": None, "model_clip": value} for value in (None, -1.0, math.nan, "3")),
    {"model_clip": 1.0},
    {"weight_decay": 100.0},
    {"step_size": [0.01] * 3},
    {"step_size": [0.01] * 4, "steps": "best"},
    {"weight_decay": [1.0], "steps": "best"},
    {"steps": "best", "clip": 1e-9},
    {"noise_shape": [1.0, 1.0, 1.0, 0.0]},
]


@pytest.mark.parametrize("wrong", WRONG_PLANS, ids=str)
def test_a_plan_that_makes_no_sense_is_refused_in_words(wrong):
    with pytest.raises(expunge.ExpungeError, match=r".{20}"):
        planned(**wrong)


WRONG_RUNS = [
    *({"accumulate": value} for value in (0, -1, "2", 1.5)),
    *({"statistics_batches": value} for value in (0, "x", 1.5)),
    *({"simulate": value} for value in ("x", 1.5)),
    *({"nonfinite": value} for value in ("ignore", None)),
    *({name: 3} for name in ("fine_tune", "clean", "design")),
    {"autocast": "bfloat16"},
    {"looks": 0},
    {"looks": 1.5},
    {"after": "no such file.json"},
    {"public": "backbone.*"},
    {"recompute": {"nothing": torch.zeros}},
    {"forget": [1, 1], "indices": list},
    {"forget": [1]},
    {"clean": expunge.FineTune(1)},
]


@pytest.mark.parametrize("wrong", WRONG_RUNS, ids=str)
def test_a_run_that_makes_no_sense_is_refused_in_words(wrong):
    with pytest.raises(expunge.ExpungeError, match=r".{20}"):
        run(planned(), **wrong)


def test_a_plan_of_another_model_is_refused():
    with pytest.raises(expunge.ConfigError, match="plan"):
        run(planned(), nn.Linear(4, 3))


def test_a_run_names_its_plan():
    made = planned(blocks=Permutation(2))
    assert run(made).certificate["sha256"]["plan"] == made.sha256 != planned().sha256
