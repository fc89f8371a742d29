"""A small run that has everything a resume can get wrong, and ways to stop it anywhere."""

import json
from functools import partial

import rig
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import expunge
from expunge import Core, FastRotation, FineTune, Permutation, Proximity, RandomRotation, Reference

LBFGS = partial(torch.optim.LBFGS, lr=0.1, max_iter=3)
CLEAN = FineTune(steps=3, lr=0.05, momentum=0.9, schedule="cosine")


class StopError(Exception):
    """Raised in the middle of a run, in place of a crash."""


class Scaled(nn.Module):
    """Dropout, BatchNorm, and a buffer that is recomputed and used."""

    def __init__(self):
        super().__init__()
        self.body = rig.mlp(norm=True, dropout=0.3)
        self.body[1].running_mean.fill_(9.0)
        self.register_buffer("scale", torch.tensor([5.0]))

    def forward(self, x):
        return self.body(x) / self.scale


def public():
    """Another initialisation than the model's."""
    model = Scaled()
    model.body = rig.mlp(norm=True, dropout=0.3, seed=1)
    return model


def scale_of(model):
    return 1.0 + model.body[0].weight.detach().norm().reshape(1)


VARIANTS = {
    "everything": {
        "blocks": RandomRotation(3),
        "clean": CLEAN,
        "fine_tune": FineTune(steps=4, lr=0.1, momentum=0.9, weight_decay=0.01, schedule="cosine"),
    },
    "Adam": {"blocks": FastRotation(2), "fine_tune": FineTune(steps=3, optimizer="adam", lr=0.01), "accumulate": 2},
    "AdamW, no clean phase, schedule": {
        "blocks": Permutation(2),
        "fine_tune": FineTune(steps=3, optimizer="adamw", lr=0.01, schedule=lambda step: 1.0 / (1 + step)),
        "plan": {"steps": 4, "noise_every": 2, "weight_decay": [0.0, 2.0, 0.0, 1.0]},
    },
    "L-BFGS": {
        "blocks": RandomRotation(2),
        "clean": FineTune(steps=2, optimizer=LBFGS),
        "fine_tune": FineTune(steps=2, optimizer=LBFGS),
    },
    "reset blocks": {
        "blocks": Core(
            2,
            "keep",
            reference=Reference(public),
            bases=FineTune(steps=3, optimizer="adam", lr=0.05),
            rest="run",
            k=2,
        ),
        "clean": CLEAN,
        "fine_tune": FineTune(steps=2),
    },
    "model clip": {"blocks": Permutation(2), "plan": {"proximity": None, "model_clip": 0.5, "epsilon": 1e4}},
}


def shuffled():
    return DataLoader(TensorDataset(*rig.points(20)), batch_size=5, shuffle=True)


def run(
    variant, path, *, loss=rig.cross_entropy, progress=lambda _: None, every=0.0, simulate=5, recompute=True, **more
):
    """One attempt, on a model as a new process would load it."""
    options = dict(VARIANTS[variant]) | more
    model = Scaled()
    clean = options.get("clean")
    proximity = (
        0.05 if clean is None else Proximity(0.05, 0.0, "given", entry=json.dumps(clean.describe(), sort_keys=True))
    )
    blocks = options.pop("blocks")
    made = rig.plan(model, blocks, **({"proximity": proximity} | options.pop("plan", {})))
    outcome = expunge.unlearn(
        model,
        shuffled(),
        loss,
        made,
        design=blocks,
        simulate=simulate,
        checkpoint=path,
        checkpoint_every=every,
        progress=progress,
        statistics_batches=3,
        **({"recompute": {"scale": scale_of}} if recompute else {"public": ["scale"]}),
        **options,
    )
    return outcome, made


def stop_at(number, then):
    """A function that raises StopError at one call and otherwise does `then`."""
    calls = [0]

    def call(*arguments):
        calls[0] += 1
        if calls[0] == number:
            raise StopError
        return then(*arguments)

    return call


def summary(outcome):
    """What a resumed run must have in common with one that was never stopped."""
    blocks = [(block.steps, block.clip_hits, block.noisy_coordinates) for block in outcome.record.blocks]
    energies = [round(block.noise_energy, 6) for block in outcome.record.blocks]
    return outcome.record.output_sha256, blocks, energies, outcome.record.batches
