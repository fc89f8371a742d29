"""How each method is set on each workload, as data. Where nothing stands here, a method's own default holds: its paper's.

Chosen by hand on seeds and deletions that no table shows (seeds 100 and up). The noisy steps are almost output
perturbation, because that is what keeps accuracy: one step per block, a small clip (docs/mathematics.md, section 9.6), and
a decay that brings the noise down to the size of an initialisation, from where fine-tuning works (docs/methods.md).
"""

from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..accounting import Proximity
from ..accounting.recertify import conversion
from ..errors import ConfigError
from ..methods import METHODS, Calibrated, Certified, FromPublic, Method
from ..subspaces import Permutation
from ..unlearning import FineTune
from .request import Request

Values = dict[str, Any]
STEP_SIZE = 1e-3


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One workload at one scale.

    recovery        fine-tuning after the noise; training from the public initialisation takes as many steps in all
    level           σ that fine-tuning recovers from well, about that of an initialisation; a decay ρ brings Δ/μ down to it
    clip            C₁ of the noisy steps, whose step size is STEP_SIZE
    model_clip      C₀ of the original NFT
    statistics      retained batches from which certified methods make BatchNorm's statistics anew
    both            of empirical methods, whatever is deleted; `random` and `classes` add what differs
    """

    recovery: FineTune
    level: float = 0.03
    clip: float = 1.0
    blocks: int = 4
    model_clip: float = 1.0
    statistics: int = 100
    both: dict[str, Values] = field(default_factory=dict[str, Values])
    random: dict[str, Values] = field(default_factory=dict[str, Values])
    classes: dict[str, Values] = field(default_factory=dict[str, Values])

    def empirical(self, method: str, kind: str) -> Values:
        """What is set of a method for this kind of deletion."""
        special = self.classes if kind == "class" else self.random
        return {**self.both.get(method, {}), **special.get(method, {})}

    def schedule(self, gap: float, mu: float) -> Values:
        """What certified methods take of it, each its own part."""
        keep = min(1.0, self.level * mu / gap) if gap > 0.0 else 1.0
        return {
            "clip": self.clip,
            "step_size": STEP_SIZE,
            "weight_decay": (1.0 - keep) / STEP_SIZE,
            "keep": keep,
            "steps": 1,
            "design": Permutation(self.blocks),
            "model_clip": self.model_clip,
        }


_DIGITS = Settings(
    recovery=FineTune(steps=100, optimizer="adam", lr=3e-3),
    level=0.1,
    both={
        "fine_tune": {"epochs": 5, "lr": 0.1},
        "l1_sparse": {"epochs": 5, "lr": 0.05, "gamma": 2e-3},
        "amun": {"epochs": 5, "lr": 0.05},
    },
    random={"gradient_ascent": {"lr": 0.02}, "influence": {"alpha": 60.0}, "salun": {"epochs": 5, "lr": 0.03}},
    classes={"gradient_ascent": {"lr": 0.013}, "influence": {"alpha": 50.0}, "salun": {"epochs": 3, "lr": 0.01}},
)
_SGD: Values = {"steps": 200, "lr": 0.01}
_MNIST = (
    Settings(  # every method takes about 200 steps or fewer. Set on models of one epoch; class influence was not tried
        recovery=FineTune(steps=200, optimizer="adam", lr=1e-3),
        level=0.02,
        both={
            "fine_tune": _SGD,
            "amun": {**_SGD, "radius": 1.0, "attack_steps": 20},
            "salun": {"steps": 200, "lr": 0.003},
        },
        random={
            "gradient_ascent": {"epochs": 1},
            "influence": {"alpha": 3.0, "fisher_samples": 200},
            "l1_sparse": {**_SGD, "gamma": 5e-5},
        },
        classes={
            "gradient_ascent": {"steps": 22},
            "influence": {"alpha": 0.3, "fisher_samples": 200},
            "l1_sparse": {**_SGD, "gamma": 2e-4},
        },
    )
)
_STEPS = {"steps": 40}
# Of D_f and D_r in proportion: in batches of 64, such an epoch of SalUn is its 40 steps, 4 of them on D_f.
_PASS = 0.05
# Where full passes take too long, every method is short, and whole in itself. Set on class 3 of seed 0, whose tables hold
# classes 0 and 5, with ResNet-18; not tried with the other two models.
_CIFAR_LAPTOP = Settings(
    recovery=FineTune(steps=40, optimizer="adam", lr=1e-3),
    level=0.1,
    statistics=10,
    both={
        "fine_tune": _STEPS,
        "l1_sparse": _STEPS,
        "salun": {**_STEPS, "pass_share": _PASS},
        "amun": {**_STEPS, "pass_share": _PASS, "attack_steps": 10},
        "influence": {"alpha": 0.005, "pass_share": _PASS, "fisher_samples": 200},
        "gradient_ascent": {"steps": 12, "lr": 3e-4},
    },
)
_CIFAR_PAPER = Settings(recovery=FineTune(steps=1000, optimizer="adam", lr=1e-3))
_HEAD = Settings(recovery=FineTune(steps=30, optimizer="adam", lr=1e-2), both={"amun": {"attack_steps": 10}})

SETTINGS: dict[tuple[str, str], Settings] = {
    ("digits-mlp", "laptop"): _DIGITS,
    ("digits-mlp", "paper"): _DIGITS,
    ("mnist-mlp", "laptop"): _MNIST,
    ("mnist-mlp", "paper"): _MNIST,
    ("cifar10-resnet18", "laptop"): _CIFAR_LAPTOP,
    ("cifar10-resnet18", "paper"): _CIFAR_PAPER,
    ("cifar10-resnet20", "laptop"): _CIFAR_LAPTOP,
    ("cifar10-resnet20", "paper"): _CIFAR_PAPER,
    ("cifar10-vit_tiny", "laptop"): _CIFAR_LAPTOP,
    ("cifar10-vit_tiny", "paper"): _CIFAR_PAPER,
    ("cifar10-head", "laptop"): _HEAD,
    ("cifar10-head", "paper"): _HEAD,
}


def settings_of(workload: str, scale: str) -> Settings:
    """A workload's settings; for one that is not in the table, those of a small one."""
    return SETTINGS.get((workload, scale), Settings(recovery=FineTune(steps=300, optimizer="adam", lr=1e-3)))


def build(request: Request, seed: int) -> dict[str, Method]:
    """The methods of a request, set for its workload, deletion and privacy, with the request's own changes on top."""
    return {name: _build(request, name, seed) for name in request.chosen}


def _build(request: Request, name: str, seed: int) -> Method:
    chosen, kind = settings_of(request.workload, request.scale), METHODS[name]
    if issubclass(kind, Certified):
        values = _certified(request, kind, chosen, seed)
    elif name == FromPublic.name:
        values = {"recipe": replace(chosen.recovery, steps=chosen.recovery.steps + chosen.blocks)}
    else:
        values = chosen.empirical(name, request.deletion.describe()["kind"])
    return _changed(name, kind, values, request.settings.get(name, {}))


def _certified(request: Request, kind: Any, chosen: Settings, seed: int) -> Values:
    """The promise, the schedule that fits it, and the recovery."""
    proximity = request.proximity if issubclass(kind, Calibrated) else 2.0 * chosen.model_clip
    gap = proximity.gap if isinstance(proximity, Proximity) else proximity
    values: Values = {name: getattr(request, name) for name in ("epsilon", "delta", "proximity", "accountant")}
    values |= {"fine_tune": chosen.recovery, "statistics_batches": chosen.statistics}
    values |= {"simulate": seed if request.simulate else None}
    values |= chosen.schedule(gap, conversion(request.accountant).mu(request.epsilon, request.delta))
    known = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in known}


def _changed(name: str, kind: Any, values: Values, changes: Values) -> Method:
    """A method with these values, and these changes: a field, or field.field of what a field holds."""
    plain = {key: value for key, value in changes.items() if "." not in key}
    try:
        method = kind(**{**values, **plain})
        for path, value in changes.items():
            outer, dot, inner = path.partition(".")
            if dot:
                method = replace(method, **{outer: replace(getattr(method, outer), **{inner: value})})
    except (TypeError, AttributeError) as error:
        known = ", ".join(field.name for field in fields(kind)) or "none"
        raise ConfigError(f"{name} cannot be set so ({error}). Its settings are: {known}.") from error
    return method
