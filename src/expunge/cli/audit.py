"""`expunge audit`: what an attacker or a critic sees in an unlearned model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ..accounting.ledger import parse, read_text
from ..errors import CertificationError, ConfigError, DataError
from . import loading
from .audit_view import show
from .numbers import WholeNumber
from .output import print_json, progress_line

Files = Annotated[list[Path] | None, Parameter(consume_multiple=True)]


def audit(
    target: Path,
    *,
    model: str | None = None,
    data: str | None = None,
    workload: str | None = None,
    deletion: str | None = None,
    scale: Literal["laptop", "paper"] = "laptop",
    data_dir: Path | None = None,
    public_weights: Path | None = None,
    retrained: Files = None,
    unlearned: Files = None,
    certificate: Path | None = None,
    runs: Path | None = None,
    save: Path | None = None,
    svc_samples: WholeNumber = 2000,
    seed: WholeNumber = 0,
    device: str = "cpu",
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Accuracies, distance to retraining, membership inference, a lower bound on ε. Exit code 1: a certificate is violated.

    Every model is a file of weights, or of saved outputs (see --save); outputs alone need neither --model nor data.

    Parameters
    ----------
    target
        The unlearned model.
    model
        package.module:factory, a function without arguments that builds the model.
    data
        package.module:function, which returns {"forget": …, "retain": …, "test": …}, each batches of (inputs, labels).
    workload
        One of ours (digits-mlp, …), instead of --model and --data.
    deletion
        With --workload: random:0.1 (a fraction), class:5, or file:indices.txt.
    scale
        Of the workload.
    data_dir
        Where the workload's data lie.
    public_weights
        Public weights, where the workload begins with some.
    retrained
        Models retrained without the forgotten data. The first is the one that distances are measured to.
    unlearned
        More runs of the same unlearning, for U-LiRA.
    certificate
        The certificate of the target: its weights are compared, and its promise is set beside what was measured.
    runs
        Scores of repeated runs, JSON: {"unlearned": [...], "reference": [...]}. They give a lower bound on ε.
    save
        A folder for the outputs of each model that was asked.
    svc_samples
        Cap on the samples of each kind that the support vector machines learn from; 0: all, as their protocol has it.
    seed
        Of the random subsets, and of a random deletion.
    device
        "cpu", "cuda", …
    quiet
        No progress.
    json
        Print one JSON object.
    """
    from .. import audit as audits

    if save is not None and not save.is_dir():
        raise ConfigError(f"--save {save}: there is no such folder. Make it first.")
    promise, scores = _promise(certificate), _scores(runs)
    asker = _Asker(model, data, workload, deletion, scale, data_dir, public_weights, seed, device, save)
    groups = [[target], list(retrained or ()), list(unlearned or ())]
    asker.prepare([path for group in groups for path in group])
    with progress_line("models", sum(map(len, groups)), quiet=quiet or json) as advance, loading.users_code():
        (mine, *_), theirs, more = ([asker.outputs(path, advance) for path in group] for group in groups)
    _refuse_other_weights(promise, mine, target)
    found = audits.measure(
        mine,
        reference=theirs[0] if theirs else None,
        retrained=theirs[1:],
        unlearned=more,
        weights=_distance(target, groups[1]),
        svc_samples=svc_samples or None,
        seed=seed,
    )
    answer = {
        "schema": "expunge.audit/1",
        "target": str(target),
        "retrained": [str(path) for path in groups[1]],
        "certificate": promise,
        "lower_bound": None if scores is None else _bound(scores, promise),
        "audit": found,
    }
    print_json(answer) if json else show(answer)


@dataclass
class _Asker:
    """Gives the outputs of a model, from its file of weights or of outputs. Data are read once, when first needed."""

    model: str | None
    data: str | None
    workload: str | None
    deletion: str | None
    scale: str
    data_dir: Path | None
    public_weights: Path | None
    seed: int
    device: str
    save: Path | None
    factory: Any = None
    parts: Any = field(default=None, repr=False)

    def prepare(self, paths: Sequence[Path]) -> None:
        """Find what is needed to ask these models; nothing where all outputs are there."""
        from .. import audit as audits

        if self.save is not None and len({path.stem for path in paths}) < len(paths):
            raise ConfigError("--save names outputs after the models' files, and two of these have the same name.")
        for path in paths:
            if not path.is_file():
                raise DataError(f"there is no file {path}. Name weights, or outputs that --save wrote.")
        if all(audits.is_outputs(path) for path in paths):
            return
        if (self.workload is None) == (self.model is None) or (self.model is None) != (self.data is None):
            raise ConfigError("to ask a model, give --model and --data, or --workload and --deletion.")
        if (self.workload is None) != (self.deletion is None):
            raise ConfigError("--workload and --deletion go together.")
        with loading.users_code():
            self._open_workload() if self.workload is not None else self._open_functions()

    def outputs(self, path: Path, advance: Any) -> Any:
        """Read them, or ask the model with these weights."""
        from .. import audit as audits

        if audits.is_outputs(path):
            found = audits.load(path)
        else:
            made = loading.with_weights(self.factory(), path, str(self.model or self.workload), self.device)
            found = audits.collect(made, self.parts)
            if self.save is not None:
                found.save(self.save / f"{path.stem}.outputs.safetensors")
        advance(path)
        return found

    def _open_functions(self) -> None:
        self.factory = loading.function("model", str(self.model))
        self.parts = loading.function("data", str(self.data))()
        if not isinstance(self.parts, dict):
            raise ConfigError(f"--data {self.data} must return a dict of batches; got {type(self.parts).__name__}.")

    def _open_workload(self) -> None:
        from .. import workloads

        options: dict[str, Any] = {"scale": self.scale, "data_dir": self.data_dir, "weights": self.public_weights}
        opened = workloads.open_workload(str(self.workload), device=self.device, **options)
        split = workloads.split(opened.dataset, loading.deletion(str(self.deletion)), self.seed)
        self.factory = lambda: opened.model(0)
        self.parts = {
            "forget": opened.batches(opened.dataset.inputs[split.forget], opened.dataset.labels[split.forget]),
            "retain": opened.batches(opened.dataset.inputs[split.retain], opened.dataset.labels[split.retain]),
            "test": opened.batches(opened.dataset.test_inputs, opened.dataset.test_labels),
        }


def _promise(path: Path | None) -> dict[str, Any] | None:
    """What a certificate says, in short."""
    if path is None:
        return None
    from .. import audit as audits
    from .. import certificate as certificates

    found = certificates.load(path)
    return {
        "file": str(path),
        "kind": found["kind"],
        "epsilon": found.epsilon,
        "delta": found.delta,
        "mu": found.mu,
        "unconditional_delta": found["guarantee"]["unconditional_delta"],
        "weights_sha256": found["sha256"]["output_weights"],
        "allowed": audits.allowed(found.mu),
    }


def _refuse_other_weights(promise: dict[str, Any] | None, outputs: Any, target: Path) -> None:
    if promise is not None and promise["weights_sha256"] != outputs.weights_sha256:
        raise CertificationError(
            f"{promise['file']} is not the certificate of {target}: it is about weights {promise['weights_sha256']:.16}…, "
            f"and these are {outputs.weights_sha256 or 'unknown':.16}…."
        )


def _scores(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    found = parse(read_text(path))
    if not isinstance(found, dict) or set(found) != {"unlearned", "reference"}:
        raise DataError(f'{path} must be {{"unlearned": [scores], "reference": [scores]}}, a number for each run.')
    return found


def _bound(scores: dict[str, Any], promise: dict[str, Any] | None) -> dict[str, Any]:
    """The lower bound; a ViolationError if it proves a certificate wrong."""
    from .. import audit as audits

    delta = promise["delta"] if promise else 1e-5
    if promise is not None:
        certified = {name: promise[name] for name in ("epsilon", "delta", "mu")}
        audits.refuse_violation(scores["unlearned"], scores["reference"], **certified)
    return audits.lower_bound(scores["unlearned"], scores["reference"], delta=delta).to_dict()


def _distance(target: Path, retrained: Sequence[Path]) -> float | None:
    """Of the weights to the first retrained model's, where both files hold weights."""
    from .. import audit as audits
    from .. import weights

    if not retrained or audits.is_outputs(target) or audits.is_outputs(retrained[0]):
        return None
    return audits.weight_distance(weights.load(target), weights.load(retrained[0]))
