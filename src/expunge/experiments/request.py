"""What is compared, on one case: privacy, methods, seeds."""

from dataclasses import dataclass, field
from typing import Any

from ..accounting import Accountant, Proximity
from ..accounting.checks import number, probability
from ..errors import ConfigError
from ..methods import METHODS
from .case import Case

ALWAYS = ("retrain", "from_public", "output_perturbation")  # the honest baselines


@dataclass(frozen=True, kw_only=True)
class Request(Case):
    """One comparison.

    methods     names; None is all. The honest baselines (`ALWAYS`) come along, unless `without` names them
    proximity   Δ, measured or given. It must not rest on the models that are compared here
    simulate    noise from the seed: the same numbers every time, and certificates that verify as nothing
    settings    method → its hyper-parameters to set otherwise
    fewer       method → how many of the seeds it gets, for those that take long
    """

    epsilon: float
    delta: float
    proximity: Proximity | float
    seeds: tuple[int, ...] = (0,)
    methods: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    accountant: Accountant = "gaussian"
    simulate: bool = False
    settings: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    fewer: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        super().__post_init__()
        number("epsilon", self.epsilon, above=0.0)
        probability("delta", self.delta)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"seeds must be one or more, each once; got {self.seeds}.")
        for name in (*(self.methods or ()), *self.without, *self.settings, *self.fewer):
            if name not in METHODS:
                raise ConfigError(f"there is no method {name!r}; they are {', '.join(METHODS)}.")
        for name, count in self.fewer.items():
            if not 1 <= count <= len(self.seeds):
                raise ConfigError(
                    f"{name} can have 1 to {len(self.seeds)} of the {len(self.seeds)} seeds; got {count}. To run it not at "
                    "all, leave it out."
                )

    @property
    def chosen(self) -> tuple[str, ...]:
        """The methods to run, in the registry's order."""
        asked = METHODS if self.methods is None else {*self.methods, *ALWAYS}
        return tuple(name for name in METHODS if name in asked and name not in self.without)

    def seeds_of(self, method: str) -> tuple[int, ...]:
        """The seeds that a method is run on."""
        return self.seeds[: self.fewer.get(method)]
