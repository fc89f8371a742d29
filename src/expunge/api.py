"""The five calls that most people need: calibrate, plan, unlearn, verify, recertify."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from . import calibration, planning, subspaces, unlearning, weights
from . import certificate as certificates
from .accounting import Accountant, Proximity, cost
from .accounting.checks import number
from .accounting.recertify import conversion
from .calibration import Calibration
from .certificate import Certificate, Finding
from .certificate.document import read_document
from .errors import BudgetError, ConfigError, ProximityError
from .unlearning import FineTune, Loss, Options, Record


@dataclass(frozen=True)
class Outcome:
    """The model that was passed in, changed in place; its certificate; and everything that was measured on the way."""

    model: nn.Module
    certificate: Certificate
    record: Record


def calibrate(
    train: calibration.Train,
    dataset: Any,
    deletion: calibration.Deletion,
    *,
    pairs: int = 10,
    clean: FineTune | None = None,
    loss: Loss | None = None,
    loader: Callable[[calibration.Stream, int], Iterable[Any]] | None = None,
    design: subspaces.Design | None = None,
    public: Sequence[str] = (),
    **settings: Any,
) -> Calibration:
    """Measure the proximity of trained and retrained models by coupled pairs (`expunge.calibration.calibrate` has it all).

    With a clean phase or a keep-space, `loss`, `loader(stream, seed)` and `public` are those of the later run, and the gap
    is measured where its noise will enter: after the phase, inside the space. The stream then holds the retained samples
    alone.
    """
    keep = design if isinstance(design, subspaces.KeepSpace) else None
    if (clean is not None or keep is not None) and (loss is None or loader is None):
        raise ConfigError(
            "a clean phase or a keep-space needs loss(model, batch) and loader(stream, seed), as the run itself will."
        )
    _refuse_unnamed(design)
    if clean is not None and loss is not None and loader is not None:
        settings |= {"clean": _CleanPhase(clean, loss, loader, tuple(public)), "entry": entry_of(clean)}
    if keep is not None and loss is not None and loader is not None:
        settings |= {"keep": _Bases(keep, loss, loader)}
    return calibration.calibrate(train, dataset, deletion, pairs=pairs, design=design, **settings)


@dataclass(frozen=True)
class _CleanPhase:
    """The engine's clean phase as calibration calls it (a class, so that it can be sent to another process)."""

    recipe: FineTune
    loss: Loss
    loader: Callable[[calibration.Stream, int], Iterable[Any]]
    public: tuple[str, ...] = ()

    def __call__(self, model: nn.Module, stream: calibration.Stream, seed: int) -> nn.Module:
        unlearning.train_clean(model, self.loader(stream, seed), self.loss, self.recipe, seed=seed, public=self.public)
        return model


@dataclass(frozen=True)
class _Bases:
    """The engine's run that finds the bases, as calibration calls it."""

    design: subspaces.KeepSpace
    loss: Loss
    loader: Callable[[calibration.Stream, int], Iterable[Any]]

    def __call__(self, model: nn.Module, stream: calibration.Stream, seed: int) -> subspaces.Partition:
        return unlearning.find_bases(model, self.loader(stream, seed), self.loss, self.design, seed=seed)


def _refuse_unnamed(design: subspaces.Design | None) -> None:
    """The run that finds the bases is told apart by its description, as a clean phase is."""
    if isinstance(design, subspaces.KeepSpace) and design.bases is not None:
        entry_of(design.bases)  # pyright: ignore[reportArgumentType] (it refuses what is no FineTune)


def entry_of(clean: FineTune | None) -> str | None:
    """What a proximity says of the clean phase it was measured after."""
    if clean is not None and not isinstance(clean, FineTune):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"clean and bases must be an expunge.FineTune; got {clean!r:.60}.")
    if clean is not None and not clean.named:
        raise ConfigError(
            "a clean phase and the bases' run are told apart by their description, and a lambda or closure has none. Use "
            "'sgd', 'adam', 'adamw', a class, functools.partial of one with plain settings, or a function at the top level "
            "of a module."
        )
    return None if clean is None else json.dumps(clean.describe(), sort_keys=True)


def plan(
    model: nn.Module,
    *,
    blocks: subspaces.Design,
    epsilon: float,
    delta: float,
    clip: float | Sequence[float],
    step_size: float | Sequence[float],
    weight_decay: float | Sequence[float] = 0.0,
    proximity: Calibration | Proximity | float | None = None,
    steps: int | Literal["best"] = 1,
    noise_every: int = 1,
    noise_shape: Sequence[float] | None = None,
    accountant: Accountant = "gaussian",
    model_clip: float | None = None,
    weights: Sequence[float] | None = None,
) -> planning.Plan:
    """What will be done, decided before anything runs: the least noise that keeps (ε, δ) at this proximity.

    `clip` is C₁ of the whole parameter vector (each of k blocks clips at C₁/√k), or one value per block. Noisy
    fine-tuning is `Whole()`; output perturbation is clip=0, weight_decay=0, steps=1. `model_clip` is C₀ of the original
    NFT: the model is clipped to it, which makes the proximity 2C₀ whatever the training did; give no proximity then.
    Where the proximity knows every block's gap (`Calibration.by_block`), noise is shared out among the blocks; `weights` say
    how much a unit of noise variance hurts in each.
    """
    if (proximity is None) == (model_clip is None):
        raise ConfigError("give a proximity (calibrated), or model_clip (which sets it to 2 × model_clip), not both.")
    if isinstance(proximity, Calibration):
        proximity = proximity.proximity
    if proximity is None:
        radius = number("model_clip", model_clip, above=0.0)
        proximity = Proximity(2.0 * radius, 0.0, f"model clipped to {radius:g} in both runs")
    if not isinstance(blocks, subspaces.Design):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"blocks must be a block design, such as expunge.Permutation(4); got {blocks!r:.60}.")
    _refuse_unnamed(blocks)
    bare = model.module if isinstance(model, DistributedDataParallel) else model
    trainable = {name: p for name, p in bare.named_parameters() if p.requires_grad}
    if not trainable:
        raise ConfigError(
            "the model has no trainable parameter, so no noise has a place. Unfreeze it: requires_grad_(True)."
        )
    for name, parameter in trainable.items():
        unlearning.refuse_unusual(name, parameter)
    shapes = {name: parameter.shape for name, parameter in trainable.items()}
    return planning.make(
        blocks.bind(shapes).dimensions,
        epsilon=epsilon,
        delta=delta,
        proximity=proximity,
        clip=clip,
        step_size=step_size,
        weight_decay=weight_decay,
        steps=steps,
        noise_every=noise_every,
        noise_shape=noise_shape,
        accountant=accountant,
        design=blocks.describe(),
        model_clip=model_clip,
        weights=weights,
    )


def unlearn(
    model: nn.Module,
    retain_loader: Iterable[Any],
    loss: Loss,
    plan: planning.Plan,
    *,
    fine_tune: FineTune | None = None,
    clean: FineTune | None = None,
    design: subspaces.Design | None = None,
    looks: int = 1,
    after: Certificate | str | Path | None = None,
    public: Sequence[str] = (),
    recompute: dict[str, Callable[[nn.Module], Tensor]] | None = None,
    forget: Sequence[int] | None = None,
    indices: unlearning.Indices | None = None,
    accumulate: int = 1,
    autocast: torch.dtype | None = None,
    nonfinite: Literal["error", "zero"] = "error",
    statistics_batches: int = 100,
    simulate: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 60.0,
    progress: unlearning.Meter = unlearning.silent,
) -> Outcome:
    """Carry out a plan on a model, in place, and certify it.

    `loss(model, batch)` gives a scalar tensor; `retain_loader` is any iterable of batches of retained data, which can be
    iterated again and again. Everything else has a default:

    fine_tune, clean    training on retained data after the noise; before it (then the proximity must be calibrated there)
    design              the plan's block design, where its description cannot rebuild it (`Custom` with bases, `Core`, …)
    looks, after        runs of this request that anyone looked at, this one included; the certificate of the last request
    public, recompute   name patterns of state that never saw the data; functions that compute data-dependent buffers anew
    forget, indices     indices that must not be in the retained data; how to tell the indices of a batch
    accumulate          batches per step (the mean gradient is clipped)
    autocast            a dtype for forward and backward; parameters and noise stay as they are
    nonfinite           "error", or "zero": a step whose gradient is not finite is taken without it, and counted
    simulate            a seed: reproducible noise for research, and no certificate that verifies
    checkpoint          a path; a run that was killed resumes from it. It holds un-noised weights and is deleted at the end

    If anything is raised, the model is not unlearned and must not be released.
    """
    if isinstance(after, (str, Path)):
        after = certificates.load(after)
    if after is not None and after["kind"] == "certificate":
        certificates.verify(after)
    started_from = None if after is None else weights.digest(weights.state_of(model))
    certificates.history(plan.proximity, started_from, looks=looks, after=after)
    if clean is not None and plan.model_clip is not None:
        raise ConfigError(
            "a clean phase moves a clipped model, and 2 × model_clip no longer bounds the gap. Use one of them."
        )
    design = _design_of(plan, design)
    finds_bases = isinstance(design, subspaces.KeepSpace) and design.bases is not None
    if (clean is not None or finds_bases) and (accumulate != 1 or autocast is not None):
        raise ConfigError(
            "a clean phase and the bases' run are calibrated with one batch a step and in full precision; leave accumulate "
            "and autocast out."
        )
    entry = entry_of(clean)
    if plan.proximity.entry != entry:
        raise ProximityError(
            f"the proximity was calibrated at entry {plan.proximity.entry or 'as trained'}, and this run's noise begins at "
            f"{entry or 'as trained'}. Calibrate after the same clean phase."
        )
    if cost(plan.proximity, plan.blocks) > conversion(plan.accountant).mu(plan.epsilon, plan.delta) * (1.0 + 1e-9):
        raise BudgetError("the plan's noise does not pay for its epsilon and delta. Make the plan anew.")
    record = unlearning.run(
        model,
        retain_loader,
        loss,
        blocks=plan.blocks,
        design=design,
        model_clip=plan.model_clip,
        clean=clean,
        fine_tune=fine_tune,
        options=Options(
            public=public,
            recompute=recompute,
            forget=forget,
            indices=indices,
            accumulate=accumulate,
            autocast=autocast,
            nonfinite=nonfinite,
            statistics_batches=statistics_batches,
            simulate=simulate,
            checkpoint=None if checkpoint is None else str(checkpoint),
            checkpoint_every=checkpoint_every,
            progress=progress,
        ),
    )
    group = unlearning.Group(model)
    with group.watched():
        document = group.once(lambda: _certify(plan, record, looks, after).to_bytes())
    return Outcome(model, Certificate(read_document(document)), record)


def _design_of(plan: planning.Plan, given: subspaces.Design | None) -> subspaces.Design:
    """The plan's design: rebuilt from its description, or the one that was given, which must be the same."""
    design = subspaces.from_description(plan.design) if given is None else given
    if not isinstance(design, subspaces.Design):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"design must be a block design, such as expunge.Permutation(4); got {design!r:.60}.")
    described = design.describe()
    if given is not None and described != json.loads(json.dumps(plan.design)):
        raise ConfigError(
            f"design is not the one that the plan was made with: it is {json.dumps(described):.200}, and the plan's "
            f"{json.dumps(plan.design):.200}. Make the plan for this model and design."
        )
    if plan.proximity.design not in (None, json.dumps(described, sort_keys=True)):
        raise ProximityError(
            "the proximity was calibrated in other blocks than this version of Expunge makes of the design. Calibrate and "
            "plan again."
        )
    return design


def _certify(plan: planning.Plan, record: Record, looks: int, after: Certificate | None) -> Certificate:
    return certificates.issue(
        proximity=plan.proximity,
        blocks=record.ledger,
        epsilon=plan.epsilon,
        delta=plan.delta,
        accountant=plan.accountant,
        run=record.summary(),
        sha256={
            "input_weights": record.input_sha256,
            "output_weights": record.output_sha256,
            "forget_set": record.forget_sha256,
            "plan": plan.sha256,
        },
        simulated=record.simulated,
        looks=looks,
        after=after,
    )


def verify(
    certificate: Certificate | str | Path, model: Any, *, public_key: str | Path | None = None, reference: Any = None
) -> list[Finding]:
    """Check a certificate against a model, a state dict or a weights file; raises, saying why. Returns what was verified.

    `reference`: of reset blocks, the public reference that the run must have had (a module, its parameters, or a file).
    """
    return certificates.verify(certificate, model, public_key=public_key, reference=reference)


def recertify(
    certificate: Certificate | str | Path, *, proximity: Calibration | Proximity | float, delta: float | None = None
) -> Certificate:
    """What the same run is worth under another proximity: a new certificate that names its parent."""
    certificate = certificates.load(certificate) if isinstance(certificate, (str, Path)) else certificate
    found = proximity.proximity if isinstance(proximity, Calibration) else proximity
    return certificates.recertify(certificate, proximity=found, delta=delta)
