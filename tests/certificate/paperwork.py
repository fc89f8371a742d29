"""What the tests share: a tiny model, data, plans and runs, certificates with and without a run behind them, forgery."""

import json

import torch
from torch import nn
from torch.nn import functional

import expunge
from expunge import Proximity, Whole, certificate, planning
from expunge.certificate.document import canonical, sealed
from expunge.unlearning.record import BlockRecord, Record

SETTINGS = {
    "proximity": Proximity(0.1, 0.05, "largest of 19 coupled pairs", ("exchangeable",)),
    "epsilon": 1.0,
    "delta": 1e-5,
    "clip": 0.5,
    "step_size": 0.01,
    "weight_decay": 1.0,
    "steps": 2,
}


def network(seed=0):
    """4 → 6 → 3."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def batches(count=4, size=8, seed=0):
    random = torch.Generator().manual_seed(seed)
    return [(torch.randn(size, 4, generator=random), torch.randint(0, 3, (size,), generator=random))] * count


def cross_entropy(model, batch):
    return functional.cross_entropy(model(batch[0]), batch[1])


def plan(model, blocks=None, **changes):
    return expunge.plan(model, blocks=blocks or Whole(), **(SETTINGS | changes))


def unlearn(model, made=None, *, loader=None, loss=cross_entropy, **options):
    return expunge.unlearn(model, loader or batches(), loss, made or plan(model), **options)


def values(model):
    """Parameters and buffers as they are now."""
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def issued(dimensions=(5, 5), *, simulated=False, looks=1, after=None, hashes=("a" * 64, "b" * 64), **changes):
    """A certificate of a run that never was: a flawless record of a plan."""
    made = planning.make(dimensions, **(SETTINGS | changes))
    record = Record(
        subspace={"kind": "Permutation", "k": len(dimensions), "seed": 0, "dimensions": list(dimensions)},
        input_sha256=hashes[0],
        output_sha256=hashes[1],
        generator="none",
        simulated=simulated,
        parameters=sum(dimensions),
        retained_how="declared by the caller",
        epsilon_machine=2.0**-23,
    )
    for block in made.blocks:
        normals = block.dimension * sum(step.sigma > 0.0 for step in block.steps)
        record.blocks.append(
            BlockRecord(block.dimension, list(block.steps), noise_energy=float(normals), noisy_coordinates=normals)
        )
    return certificate.issue(
        proximity=made.proximity,
        blocks=record.ledger,
        epsilon=made.epsilon,
        delta=made.delta,
        accountant=made.accountant,
        run=record.summary(),
        sha256={"input_weights": hashes[0], "output_weights": hashes[1], "forget_set": None, "plan": made.sha256},
        simulated=simulated,
        looks=looks,
        after=after,
    )


def opened(document):
    """The certificate's JSON, to be tampered with."""
    return json.loads(canonical(dict(document)))


def resealed(document):
    """What a forger writes: canonical, with the fingerprint recomputed."""
    return canonical(sealed(document)) + b"\n"


def refused(content, model=None, **options):
    """Whether `verify` refuses it; anything but an ExpungeError is the test's failure."""
    try:
        certificate.verify(content, model, **options)
    except expunge.ExpungeError:
        return True
    return False


def leaves(value, path=()):
    """Paths to all values of a JSON document, containers included."""
    if path:
        yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from leaves(value[key], (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def certified(model, made=None, **options):
    """Whether a run is certified and verifies. A refusal is fine; anything else is the test's failure."""
    try:
        certificate.verify(unlearn(model, made, **options).certificate, model)
    except expunge.ExpungeError:
        return False
    return True
