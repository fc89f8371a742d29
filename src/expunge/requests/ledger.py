"""The requests on one model, in a folder: who went, which certificate, what is spent, what is left.

    requests.json            budget and requests, in order
    certificate-1.json …     one for each request
    model-N.safetensors      the weights as they are now; those of before are deleted

Nothing is believed that can be computed: what is spent comes from the certificates, which are verified when the ledger is
read. A request is *anchored* if its proximity holds wherever its run began (`calibration.near_minimizer`): its certificate
then stands alone. Any other continues a chain, whose costs add, and needs a proximity of the whole pipeline before it.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from .. import api, weights
from .. import certificate as certificates
from ..accounting import Accountant, Proximity, composition
from ..accounting.checks import number, whole
from ..accounting.ledger import parse, read_record, read_text
from ..accounting.recertify import conversion
from ..certificate import Certificate
from ..errors import BudgetError, CertificationError, ConfigError, DataError
from ..planning import Plan
from ..subspaces import Whole
from ..unlearning import FineTune, Loss
from .checks import anchored, verify

SCHEMA = "expunge.requests/1"
FILE = "requests.json"
SAFE = 1.0 - 1e-9  # of a share: shares that add up must not exceed the whole by rounding


@dataclass
class Ledger:
    """A budget (ε, δ) until the model is retrained, and `most` requests in a chain to share it; `about` is the caller's."""

    folder: Path
    epsilon: float
    delta: float
    accountant: Accountant
    most: int
    weights_sha256: str
    about: dict[str, Any] = field(default_factory=dict[str, Any])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @classmethod
    def begin(
        cls,
        folder: str | Path,
        model: nn.Module,
        *,
        epsilon: float,
        delta: float,
        most: int = 1,
        accountant: Accountant = "gaussian",
        about: dict[str, Any] | None = None,
    ) -> "Ledger":
        """For a model that was trained and never unlearned; its weights go into the folder."""
        place = Path(folder)
        if (place / FILE).exists():
            raise ConfigError(
                f"{place / FILE} is there already: a ledger begins with training, once. Name another folder."
            )
        conversion(accountant).mu(epsilon, delta)
        place.mkdir(parents=True, exist_ok=True)
        sha256 = weights.save(model.state_dict(), place / _model(0), mode=0o600)
        ledger = cls(place, epsilon, delta, accountant, whole("most", most), sha256, about or {})
        ledger._write()
        return ledger

    @classmethod
    def load(cls, folder: str | Path) -> "Ledger":
        """A ledger whose certificates are verified, and whose weights are the ones they certify."""
        place = Path(folder)
        names = ("schema", "epsilon", "delta", "accountant", "most", "weights_sha256", "about", "requests")
        values = read_record(parse(read_text(place / FILE)), FILE, required=names)
        if values.pop("schema") != SCHEMA:
            raise DataError(f"{place / FILE}: its schema must be {SCHEMA!r}. Use a matching version of Expunge.")
        ledger = cls(place, **values)
        number("epsilon", ledger.epsilon, above=0.0)
        verify(ledger)
        return ledger

    @property
    def forgotten(self) -> list[int]:
        """Everybody who went."""
        return sorted(index for request in self.requests for index in request["forget"])

    @property
    def weights_file(self) -> Path:
        """The weights as they are now."""
        return self.folder / _model(len(self.requests))

    @property
    def current_sha256(self) -> str:
        """Of the weights as they are now."""
        return self.requests[-1]["weights"] if self.requests else self.weights_sha256

    @property
    def last(self) -> Certificate | None:
        """The newest certificate."""
        return self.certificate(len(self.requests)) if self.requests else None

    def certificate(self, count: int) -> Certificate:
        """Of request number `count`."""
        return certificates.load(self.folder / f"certificate-{count}.json")

    @property
    def budget(self) -> float:
        """μ of (ε, δ)."""
        return conversion(self.accountant).mu(self.epsilon, self.delta)

    @property
    def spent(self) -> float:
        """μ of the model as it is now, against one retrained without everybody who went."""
        return 0.0 if self.last is None else self.last.mu

    @property
    def spent_epsilon(self) -> float:
        """The same as ε at the ledger's δ, rounded up."""
        return conversion(self.accountant).epsilon(self.spent, self.delta) if self.spent > 0.0 else 0.0

    def share(self, proximity: Proximity) -> float:
        """ε for the next request: the whole budget where it is anchored, an equal part of it where it continues a chain."""
        if anchored(proximity):
            return self.epsilon
        part = self.budget / self.most * SAFE
        self._refuse_overspending(part)
        return conversion(self.accountant).epsilon(part, self.delta)

    def carry_out(
        self,
        model: nn.Module,
        retained: Iterable[Any],
        loss: Loss,
        *,
        forget: Sequence[int],
        proximity: Proximity,
        plan: Plan | None = None,
        looks: int = 1,
        clean: FineTune | None = None,
        fine_tune: FineTune | None = None,
        indices: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> api.Outcome:
        """Unlearn one more request, in place, and enter it. `forget` are the new ones; `retained` must hold none of all.

        Without a plan: output perturbation with this request's share of the budget. `options` are those of `unlearn`.
        """
        self._refuse_repeats(forget)
        share = self.share(proximity)
        if plan is None:
            plan = api.plan(model, blocks=Whole(), proximity=proximity, epsilon=share, delta=self.delta, clip=0.0,
                            step_size=0.0, accountant=self.accountant)  # fmt: skip
        if (plan.proximity, plan.delta) != (proximity, self.delta) or plan.epsilon > share:
            raise ConfigError(f"the plan must be for this proximity, delta = {self.delta:g} and epsilon ≤ {share:.6g}.")
        cost = composition.repeated_looks(plan.mu, looks)
        self._refuse_overspending(cost, spent=0.0 if anchored(proximity) else self.spent)
        if weights.digest(model.state_dict()) != self.current_sha256:
            raise ConfigError(f"the model is not the one in {self.folder}: load {self.weights_file} from there.")
        outcome = api.unlearn(
            model, retained, loss, plan, clean=clean, fine_tune=fine_tune, indices=indices,
            forget=sorted({*self.forgotten, *forget}), after=None if anchored(proximity) else self.last, looks=looks,
            **options,
        )  # fmt: skip
        self._enter(outcome, sorted(forget))
        return outcome

    def _enter(self, outcome: api.Outcome, forget: list[int]) -> None:
        """Certificate and weights first; with the ledger's own file the request is done, and the old weights go."""
        if outcome.certificate["kind"] != "certificate":
            raise CertificationError("a simulation hides nothing, and a ledger has no place for it.")
        before, count = len(self.requests), len(self.requests) + 1
        outcome.certificate.save(self.folder / f"certificate-{count}.json")
        sha256 = weights.save(outcome.model.state_dict(), self.folder / _model(count), mode=0o600)
        entry = {"forget": forget, "certificate": outcome.certificate.sha256, "weights": sha256}
        self.requests.append(entry)
        self._write()
        (self.folder / _model(before)).unlink(missing_ok=True)

    def _write(self) -> None:
        names = ("epsilon", "delta", "accountant", "most", "weights_sha256", "about", "requests")
        document = {"schema": SCHEMA, **{name: getattr(self, name) for name in names}}
        with weights.Atomic(self.folder / FILE, 0o600) as file:
            file.write(json.dumps(document, indent=1).encode())

    def _refuse_overspending(self, cost: float, *, spent: float | None = None) -> None:
        spent = self.spent if spent is None else spent
        if spent + cost > self.budget * (2.0 - SAFE):
            raise BudgetError(
                f"request {len(self.requests) + 1} would cost mu = {cost:.4g}, and {self.budget - spent:.4g} of "
                f"{self.budget:.4g} is left. Retrain on the retained data, and begin a new ledger with the model."
            )

    def _refuse_repeats(self, forget: Sequence[int]) -> None:
        seen, gone = set(forget), set(self.forgotten)
        if not forget or seen & gone:
            what = f"index {min(seen & gone)} went in an earlier request" if forget else "it names nobody"
            raise DataError(f"the request changes nothing: {what}. Give new sample indices.")
        if len(seen) < len(forget):
            raise DataError("the request names an index twice. Give each once.")


def _model(count: int) -> str:
    return f"model-{count}.safetensors"
