"""How each method is set on each workload, as data. Where nothing stands here, a method's own default holds: its paper's.

Chosen by hand on seeds and deletions that no table shows (seeds 100 and up). The noisy steps are almost output
perturbation, because that is what keeps accuracy: one step per block, a small clip (docs/mathematics.md, section 9.6), and
a decay that brings the noise down to the size of an initialisation, from where fine-tuning works (docs/methods.md).
"""

from dataclasses import dataclass, field, fields, replace
from typing import Any

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
    keep            what one noisy step leaves of the weights, and of the noise: ρ
    clip            C₁ of the noisy steps, whose step size is STEP_SIZE
    model_clip      C₀ of the original NFT
    both            of empirical methods, whatever is deleted; `random` and `classes` add what differs
    """

    recovery: FineTune
    keep: float = 0.1
    clip: float = 1.0
    blocks: int = 4
    model_clip: float = 1.0
    both: dict[str, Values] = field(default_factory=dict[str, Values])
    random: dict[str, Values] = field(default_factory=dict[str, Values])
    classes: dict[str, Values] = field(default_factory=dict[str, Values])

    def empirical(self, method: str, kind: str) -> Values:
        """What is set of a method for this kind of deletion."""
        special = self.classes if kind == "class" else self.random
        return {**self.both.get(method, {}), **special.get(method, {})}

    def schedule(self) -> Values:
        """What certified methods take of it, each its own part."""
        return {
            "clip": self.clip,
            "step_size": STEP_SIZE,
            "weight_decay": (1.0 - self.keep) / STEP_SIZE,
            "keep": self.keep,
            "steps": 1,
            "design": Permutation(self.blocks),
            "model_clip": self.model_clip,
        }


_DIGITS = Settings(
    recovery=FineTune(steps=100, optimizer="adam", lr=3e-3),
    both={
        "fine_tune": {"epochs": 5, "lr": 0.1},
        "l1_sparse": {"epochs": 5, "lr": 0.05, "gamma": 2e-3},
        "amun": {"epochs": 5, "lr": 0.05},
    },
    random={"gradient_ascent": {"lr": 0.02}, "influence": {"alpha": 60.0}, "salun": {"epochs": 5, "lr": 0.03}},
    classes={"gradient_ascent": {"lr": 0.013}, "influence": {"alpha": 50.0}, "salun": {"epochs": 3, "lr": 0.01}},
)
_MNIST = Settings(
    recovery=FineTune(steps=300, optimizer="adam", lr=1e-3),
    both={
        "fine_tune": {"epochs": 1, "lr": 0.01},
        "l1_sparse": {"epochs": 1, "lr": 0.01, "gamma": 1e-4},
        "amun": {"epochs": 1, "lr": 0.01},
    },
    random={"gradient_ascent": {"epochs": 1}, "influence": {"alpha": 10.0}, "salun": {"epochs": 1, "lr": 0.005}},
    classes={"gradient_ascent": {"epochs": 1}, "influence": {"alpha": 10.0}, "salun": {"epochs": 1, "lr": 0.005}},
)
_SHORT = {name: {"steps": 60} for name in ("fine_tune", "gradient_ascent", "l1_sparse", "salun", "amun")}
_FEW_PASSES = {"influence": {"fisher_samples": 200}, "amun": {"steps": 60, "attack_steps": 10}}
_CIFAR_LAPTOP = Settings(recovery=FineTune(steps=60, optimizer="adam", lr=1e-3), both={**_SHORT, **_FEW_PASSES})
_CIFAR_PAPER = Settings(recovery=FineTune(steps=1000, optimizer="adam", lr=1e-3))
_HEAD = Settings(recovery=FineTune(steps=30, optimizer="adam", lr=1e-2), both={"amun": {"attack_steps": 10}})

SETTINGS: dict[tuple[str, str], Settings] = {
    ("digits-mlp", "laptop"): _DIGITS,
    ("digits-mlp", "paper"): _DIGITS,
    ("mnist-mlp", "laptop"): _MNIST,
    ("mnist-mlp", "paper"): _MNIST,
    ("cifar10-resnet18", "laptop"): _CIFAR_LAPTOP,
    ("cifar10-resnet18", "paper"): _CIFAR_PAPER,
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
    values = chosen.empirical(name, request.deletion.describe()["kind"])
    if issubclass(kind, Certified):
        values = {"epsilon": request.epsilon, "delta": request.delta, "accountant": request.accountant}
        values |= {"fine_tune": chosen.recovery, "simulate": seed if request.simulate else None}
        if issubclass(kind, Calibrated):
            values["proximity"] = request.proximity
        own = {field.name for field in fields(kind)}
        values |= {key: value for key, value in chosen.schedule().items() if key in own}
    elif name == FromPublic.name:
        values = {"recipe": replace(chosen.recovery, steps=chosen.recovery.steps + chosen.blocks)}
    return _changed(name, kind, values, request.settings.get(name, {}))


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
