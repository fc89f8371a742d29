"""A results document from real runs on digits: calibration, certified unlearning, its rivals, audits. About ten seconds.

    python tests/report/example.py tests/report/example.json

writes the one that the other tests read.
"""

import json
import math
import platform
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import torch
from sklearn.metrics import roc_auc_score, roc_curve
from torch.nn.functional import cross_entropy

import expunge
from expunge import accounting, workloads
from expunge.certificate import verify
from expunge.planning import noise_norm
from expunge.subspaces import from_description

EPSILON, DELTA, FRACTION, FINE_TUNE = 10.0, 1e-5, 0.10, 120
NOISY = {"clip": 1.0, "step_size": 0.01, "weight_decay": 0.1}
STILL = {"clip": 0.0, "step_size": 0.0, "weight_decay": 0.0}


class Bench:
    """One request on digits, and how anything is measured on it."""

    def __init__(self, epochs):
        self.workload = workloads.open_workload("digits-mlp", epochs=epochs)
        self.data = self.workload.dataset
        self.split = workloads.split(self.data, workloads.RandomDeletion(FRACTION), seed=0)

    def batches(self, indices, size=64):
        """Retained data, in an order that is fixed."""
        order = indices[torch.randperm(len(indices), generator=torch.Generator().manual_seed(0))]
        return [(self.scaled(self.data.inputs[part]), self.data.labels[part]) for part in order.split(size)]

    def scaled(self, inputs):
        return (inputs.float() - self.data.mean[0]) / self.data.std[0]

    def margins(self, model, inputs, labels):
        """Log-odds of the true class: what a loss says, without its end at zero."""
        with torch.no_grad():
            logits = model.eval()(self.scaled(inputs)).double()
        true = logits.gather(1, labels[:, None]).squeeze(1)
        return true - logits.scatter(1, labels[:, None], -math.inf).logsumexp(1)

    def accuracy(self, model, inputs, labels):
        with torch.no_grad():
            return (model.eval()(self.scaled(inputs)).argmax(1) == labels).double().mean().item()

    def audit(self, model, reference):
        """Accuracies, and the attack that thresholds the loss."""
        data, split = self.data, self.split
        parts = {"forget": split.forget, "retain": split.retain}
        accuracy = {name: self.accuracy(model, data.inputs[i], data.labels[i]) for name, i in parts.items()}
        accuracy["test"] = self.accuracy(model, data.test_inputs, data.test_labels)
        members = self.margins(model, data.inputs[split.forget], data.labels[split.forget])
        others = self.margins(model, data.test_inputs, data.test_labels)
        truth, score = [1] * len(members) + [0] * len(others), torch.cat([members, others]).tolist()
        false, true, _ = roc_curve(truth, score)
        auc = float(roc_auc_score(truth, score))
        spread = 1.96 * hanley(auc, len(members), len(others))
        attack = {
            "auc": auc,
            "interval": [max(0.0, auc - spread), min(1.0, auc + spread)],
            "tpr_at_1": float(max(true[false <= 0.01])),
            "roc": [[float(x), float(y)] for x, y in zip(false, true, strict=True)],
        }
        found = {"accuracy": accuracy, "ua": 1.0 - accuracy["forget"], "mia": {"loss_threshold": attack}}
        if reference is not None:
            found["to_retrained"] = {
                "disagreement": self.disagreement(model, reference),
                "weights": far(model, reference),
            }
        return found

    def disagreement(self, model, reference):
        with torch.no_grad():
            inputs = self.scaled(self.data.test_inputs)
            return (model(inputs).argmax(1) != reference(inputs).argmax(1)).double().mean().item()


def hanley(auc, members, others):
    """Standard error of an AUC (Hanley and McNeil, 1982)."""
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    return math.sqrt(
        (auc * (1 - auc) + (members - 1) * (q1 - auc**2) + (others - 1) * (q2 - auc**2)) / (members * others)
    )


def far(model, reference):
    pairs = zip(model.parameters(), reference.parameters(), strict=True)
    return math.hypot(*((a - b).norm().item() for a, b in pairs))


class Trajectory:
    """Training as calibration calls it, looked at `every` so many steps."""

    def __init__(self, workload, every):
        self.workload, self.every = workload, every

    def __call__(self, stream, seed):
        points = []

        def keep(step):
            if step.step % self.every == 0 or step.step == step.steps:
                state = {name: value.clone() for name, value in step.model.state_dict().items()}
                points.append((step.step, state, {"test_accuracy": self.workload.accuracy(step.model)}))

        self.workload.train(self.workload.stream(stream.index_map), seed, on_step=keep)
        return points


class Watch:
    """A meter that notes loss and, now and then, test accuracy."""

    def __init__(self, bench, model):
        self.bench, self.model, self.points, self.seconds = bench, model, [], 0.0

    def __call__(self, progress):
        if progress.phase == "fine-tune" and progress.step % 5:
            return
        data, started = self.bench.data, time.monotonic()
        accuracy = self.bench.accuracy(self.model, data.test_inputs, data.test_labels)
        self.model.train()
        self.seconds += time.monotonic() - started
        point = {"phase": progress.phase, "step": progress.step, "block": progress.block}
        self.points.append({**point, "loss": progress.loss, "test_accuracy": accuracy})


def loss(model, batch):
    return cross_entropy(model(batch[0]), batch[1])


def unlearn(bench, weights, plan, **options):
    """A certified run; the model, its outcome, and what was watched on the way."""
    model = bench.workload.model(0)
    model.load_state_dict(weights)
    watch = Watch(bench, model)
    recipe = expunge.FineTune(FINE_TUNE, "adam", 2e-3)
    started = time.monotonic()
    outcome = expunge.unlearn(
        model,
        bench.batches(bench.split.retain),
        loss,
        plan,
        fine_tune=recipe,
        forget=None,
        progress=watch,
        **options,
    )
    return model, outcome, watch.points, time.monotonic() - started - watch.seconds


def row(method, kind, seconds, steps, audit, **more):
    return {
        "method": method,
        "kind": kind,
        "seed": 0,
        "settings": {},
        "guarantee": None,
        "seconds": seconds,
        "steps": steps,
        "samples": steps * 64,
        "audit": audit,
        **more,
    }


def rivals(bench, weights, plan, reference, simulate):
    """Output perturbation with the same promise, and the same steps from the public initialisation."""
    rival = expunge.plan(
        bench.workload.model(0), blocks=expunge.Whole(), proximity=plan.proximity, epsilon=EPSILON, delta=DELTA, **STILL
    )
    model, outcome, points, seconds = unlearn(bench, weights, rival, simulate=simulate)
    steps = FINE_TUNE + 1
    promise = {name: outcome.certificate["guarantee"][name] for name in ("mu", "delta", "unconditional_delta")} | {
        "epsilon": outcome.certificate.epsilon
    }
    yield row(
        "output_perturbation",
        "certified",
        seconds,
        steps,
        bench.audit(model, reference),
        curve=points,
        guarantee=promise,
    )
    public, started = bench.workload.model(0), time.monotonic()
    optimizer = torch.optim.Adam(public.parameters(), lr=2e-3)
    batches = bench.batches(bench.split.retain)
    steps = FINE_TUNE + sum(len(block.steps) for block in plan.blocks)
    for step in range(steps):
        optimizer.zero_grad()
        loss(public.train(), batches[step % len(batches)]).backward()
        optimizer.step()
    yield row("from_public", "exact", time.monotonic() - started, steps, bench.audit(public, reference))


def signal(plan, model):
    """Norm of the noise against norm of the weights, per block and per layer: σ_eff √(coordinates) of each part."""
    tensors = {name: value.detach() for name, value in model.named_parameters()}
    partition = from_description(plan.design).bind({name: value.shape for name, value in tensors.items()})
    blocks, energy = [], dict.fromkeys(tensors, 0.0)
    for index, block in enumerate(plan.blocks):
        parts = partition.parts(index, list(tensors.values()))
        noise = noise_norm(block)
        pieces = [part.piece.project(tensors[partition.names[part.tensor]]) for part in parts]
        norm = math.hypot(*(piece.norm().item() for piece in pieces))
        blocks.append({"name": f"block {index}", "dimension": block.dimension, "noise": noise, "weights": norm})
        for part in parts:
            energy[partition.names[part.tensor]] += noise**2 * part.size / block.dimension
    layers = [
        {
            "name": name,
            "dimension": value.numel(),
            "noise": math.sqrt(energy[name]),
            "weights": value.norm().item(),
        }
        for name, value in tensors.items()
    ]
    return {"blocks": blocks, "layers": layers}


def curves(certificate):
    """ε over δ at the proximity used; ε over Δ at the δ used."""
    promise, gap = certificate["guarantee"], certificate["hops"][-1]["proximity"]["gap"]
    blocks = accounting.ledger.read_blocks(certificate["hops"][-1]["blocks"])
    deltas = [10.0 ** (-power / 2) for power in range(2, 25)]
    gaps = [gap * factor / 20 for factor in range(5, 61)]
    return {
        "privacy": [list(point) for point in accounting.privacy_curve(promise["mu"], deltas)],
        "recertification": [[gap, accounting.recertified_epsilon(gap, blocks, delta=promise["delta"])] for gap in gaps],
    }


def verification(certificate, model):
    try:
        found = verify(certificate, model)
    except expunge.ExpungeError as error:
        return {"schema": "expunge.verification/1", "valid": False, "reason": str(error)}
    found = [{"name": item.name, "detail": item.detail} for item in found]
    return {"schema": "expunge.verification/1", "valid": True, "weights_compared": True, "found": found}


def make(*, pairs=3, epochs=6, every=20, simulate=None):
    """The whole document. `simulate` is a seed: reproducible noise, and no certificate that verifies."""
    bench, expenses = Bench(epochs), []
    bench.workload.train(bench.workload.stream(), 1)  # the first run is slower than all others
    started = time.monotonic()
    model = bench.workload.train(bench.workload.stream(), 0)
    expenses.append({"stage": "training", "seconds": time.monotonic() - started, "once": True})
    steps = bench.workload.recipe.total_steps(len(bench.split.retain))
    started = time.monotonic()
    found = expunge.calibrate(
        Trajectory(bench.workload, every), bench.data, workloads.RandomDeletion(FRACTION), pairs=pairs
    )
    expenses.append({"stage": "calibration", "seconds": time.monotonic() - started, "once": True})
    plan = expunge.plan(
        model, blocks=expunge.Permutation(4), proximity=found, epsilon=EPSILON, delta=DELTA, steps=2, **NOISY
    )
    started = time.monotonic()
    retrained = bench.workload.train(bench.workload.stream(bench.split.retain), 0)
    seconds = time.monotonic() - started
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    unlearned, outcome, points, took = unlearn(bench, weights, plan, simulate=simulate)
    done = FINE_TUNE + sum(len(block.steps) for block in plan.blocks)
    certificate = dict(outcome.certificate)
    promise = {name: certificate["guarantee"][name] for name in ("mu", "delta", "unconditional_delta")}
    rows = [
        row(
            "blockwise_nft",
            "certified",
            took,
            done,
            bench.audit(unlearned, retrained),
            curve=points,
            guarantee=promise | {"epsilon": outcome.certificate.epsilon},
        ),
        *rivals(bench, weights, plan, retrained, simulate),
        row("retrain", "exact", seconds, steps, bench.audit(retrained, None)),
    ]
    expenses += [
        {"stage": "unlearning", "seconds": took, "steps": done},
        {"stage": "retraining", "seconds": seconds, "steps": steps},
    ]
    return {
        "schema": "expunge.results/1",
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "asked": {
            "project": "Digits, one request",
            "model": {
                "name": "digits-mlp",
                "parameters": sum(parameter.numel() for parameter in model.parameters()),
                "accuracy": bench.workload.accuracy(model),
            },
            "data": {"name": "digits", "training": len(bench.data), "test": len(bench.data.test_labels)},
            "deletion": {"kind": "random", "says": "a random 10 %", "removed": len(bench.split.forget)},
            "target": {"epsilon": EPSILON, "delta": DELTA, "accountant": "gaussian"},
        },
        "method": "blockwise_nft",
        "command": "python tests/report/example.py",
        "certificate": certificate,
        "verification": verification(outcome.certificate, unlearned),
        "calibration": found.to_dict(),
        "plan": json.loads(plan.to_json()),
        "comparison": {
            "schema": "expunge.comparison/1",
            "workload": "digits-mlp",
            "deletion": {"kind": "random", "fraction": FRACTION},
            "seeds": [0],
            "machine": {"processor": platform.machine(), "threads": torch.get_num_threads()},
            "rows": rows,
        },
        "curves": curves(certificate),
        "signal": signal(plan, bench_model(bench, weights)),
        "progress": points,
        "cost": expenses,
    }


def bench_model(bench, weights):
    model = bench.workload.model(0)
    model.load_state_dict(weights)
    return model


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(make(pairs=10), allow_nan=False) + "\n", encoding="utf-8")
