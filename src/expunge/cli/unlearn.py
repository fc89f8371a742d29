"""`expunge unlearn`: plan, run and certify in one go."""

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ..accounting import Accountant
from ..accounting.checks import number
from ..errors import ConfigError
from . import keep as keeping
from . import loading
from .keep import Keep
from .numbers import StepCount, WholeNumber
from .output import figure, print_facts, print_json
from .processes import meet


def unlearn(
    *,
    model: str,
    weights: Path,
    data: str,
    loss: str | None = None,
    proximity: str,
    epsilon: float,
    delta: float,
    clip: float,
    step_size: float,
    weight_decay: float = 0.0,
    steps: StepCount = 1,
    design: loading.DesignName = "Permutation",
    blocks: WholeNumber | None = None,
    keep: Keep | None = None,
    accountant: Accountant = "gaussian",
    clean_steps: WholeNumber | None = None,
    clean_optimizer: loading.OptimizerName = "sgd",
    clean_lr: float | None = None,
    clean_whiten: WholeNumber = 0,
    fine_tune_steps: WholeNumber = 0,
    fine_tune_lr: float = 0.01,
    fine_tune_optimizer: Literal["sgd", "adam", "adamw"] = "sgd",
    forget: Path | None = None,
    first_stage: Path | None = None,
    public: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    looks: WholeNumber = 1,
    after: Path | None = None,
    sign_key: Path | None = None,
    simulate: WholeNumber | None = None,
    checkpoint: Path | None = None,
    device: str = "cpu",
    output: Path = Path("unlearned.safetensors"),
    certificate: Path = Path("certificate.json"),
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Unlearn: run noisy fine-tuning block by block on retained data, and write the new weights and their certificate.

    Parameters
    ----------
    model
        package.module:factory, a function without arguments that builds the model.
    weights
        The trained weights: .safetensors, or a state_dict saved by torch.save.
    data
        package.module:function, which returns an iterable of batches of *retained* data (a DataLoader).
    loss
        package.module:function of (model, batch) → scalar; default: cross-entropy of model(inputs) for (inputs, labels).
    proximity
        Δ, a number or a proximity file.
    epsilon
        ε of the guarantee, above 0.
    delta
        δ of the guarantee, between 0 and 1.
    clip
        C₁: gradient clip of the whole parameter vector; each of k blocks clips at C₁/√k. 0: no gradient.
    step_size
        γ of the noisy steps.
    weight_decay
        λ of the noisy steps.
    steps
        T, noisy steps per block, or "best".
    design
        How parameters are divided into blocks.
    blocks
        k, for the designs that take it (default 4; inside a keep-space 1).
    keep
        The options of keep-spaces.
    accountant
        "gaussian" is exact; "renyi" is the paper's.
    clean_steps
        Ordinary steps on retained data before the noise; the proximity must be calibrated after the same ones.
    clean_optimizer
        Their optimiser.
    clean_lr
        Their learning rate; default 0.01, and 1 for L-BFGS.
    clean_whiten
        Of L-BFGS on a linear head: so many retained samples tell it how long features are in each direction.
    fine_tune_steps
        Ordinary steps on retained data afterwards.
    fine_tune_lr
        Their learning rate.
    fine_tune_optimizer
        Their optimiser.
    forget
        A file of sample indices that must not be among the retained data (which then is a torch Subset).
    first_stage
        The first stage's weights, of `expunge train --permanent`: a request that names a permanent sample is refused.
    public
        Name patterns of frozen parameters and buffers that never saw the data.
    looks
        How many runs of this request anyone looked at, this one included.
    after
        The certificate of the previous request, whose weights these are.
    sign_key
        An Ed25519 private key (PEM) to sign the certificate with.
    simulate
        A seed: reproducible noise for research. Its certificate does not verify.
    checkpoint
        A file to resume from if the run is interrupted. It holds un-noised weights; it is deleted at the end.
    device
        "cpu", "cuda", …
    output
        Where the new weights go.
    certificate
        Where the certificate goes.
    quiet
        No progress.
    json
        Print one JSON object.
    """
    import expunge

    from .. import certificate as certificates

    number("epsilon", epsilon, above=0.0)
    _check_places(output, certificate, after)
    if (
        sign_key is not None
    ):  # what cannot sign should not be found out after the run, so let it sign something worthless
        certificates.sign(certificates.Certificate({"sha256": {"output_weights": ""}}), sign_key)
    claimed, forgotten = loading.proximity(proximity), None if forget is None else loading.indices(forget)
    if first_stage is not None:
        _refuse_permanent(first_stage, forgotten)
    recipe = expunge.FineTune(fine_tune_steps, fine_tune_optimizer, fine_tune_lr) if fine_tune_steps else None
    with meet(device) as processes:
        with loading.users_code():
            made = processes.share(loading.model(model, weights, processes.device))
            loading.refuse_other(proximity, made)
            chosen = keeping.design(design, blocks, keep or Keep())
            plan = expunge.plan(
                made,
                blocks=chosen,
                proximity=claimed,
                epsilon=epsilon,
                delta=delta,
                clip=clip,
                step_size=step_size,
                weight_decay=weight_decay,
                steps=steps,
                accountant=accountant,
            )
            with expunge.RichMeter(quiet=quiet or json or not processes.first) as meter:
                outcome = expunge.unlearn(
                    made,
                    loading.function("data", data)(),
                    loading.cross_entropy if loss is None else loading.function("loss", loss),
                    plan,
                    design=chosen,
                    clean=loading.clean_phase(clean_steps, clean_optimizer, clean_lr, clean_whiten),
                    fine_tune=recipe,
                    forget=forgotten,
                    public=public or (),
                    looks=looks,
                    after=after,
                    simulate=simulate,
                    checkpoint=checkpoint,
                    progress=meter,
                )
        processes.save(made, output)
    if not processes.first:
        return
    issued = outcome.certificate if sign_key is None else certificates.sign(outcome.certificate, sign_key)
    issued.save(certificate)
    answer = {
        "schema": "expunge.unlearned/1",
        "kind": issued["kind"],
        "guarantee": issued["guarantee"],
        "weights": str(output),
        "certificate": str(certificate),
        "sha256": issued["sha256"],
        "seconds": outcome.record.seconds,
    }
    print_json(answer) if json else _show(answer, plan.gap)


def _refuse_permanent(first_stage: Path, forgotten: list[int] | None) -> None:
    import torch

    from .. import workloads

    if forgotten is None:
        raise ConfigError("--first-stage is held against the request: name the samples to forget with --forget.")
    workloads.refuse_permanent(torch.tensor(forgotten), workloads.load_first_stage(first_stage).permanent)


def _check_places(output: Path, certificate: Path, after: Path | None) -> None:
    loading.destination("output", output)
    loading.destination("certificate", certificate)
    if certificate.absolute() in {path.absolute() for path in (output, after) if path is not None}:
        raise ConfigError(f"--certificate {certificate} would overwrite --output or --after. Name another file.")


def _show(answer: dict[str, Any], gap: float) -> None:
    promise, files = answer["guarantee"], (answer["certificate"], answer["weights"])
    total = promise["unconditional_delta"]
    check = f"expunge verify {shlex.quote(files[0])} --weights {shlex.quote(files[1])}"
    print_facts(
        [
            (answer["kind"], f"({figure(promise['epsilon'][promise['accountant']])}, {promise['delta']:g}), if trained and "
             f"retrained model were within {gap:g} of each other"),
            ("in any case", f"delta {total:.4g}" if total < 1.0 else "nothing: how often the proximity fails is not known"),
            ("weights", f"{files[1]} (SHA-256 {answer['sha256']['output_weights']})"),
            ("certificate", files[0]),
            ("time", ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in answer["seconds"].items())),
            ("check it", check if answer["kind"] == "certificate" else "a simulation verifies as nothing"),
        ]
    )  # fmt: skip
