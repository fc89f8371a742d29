"""`expunge requests`: deletion requests one after another on a head, and the ledger of them."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from ..errors import ConfigError
from . import loading
from .numbers import WholeNumber
from .output import figure, print_facts, print_json, print_table

SETTINGS = ("epsilon", "delta", "l2", "gradient", "length", "tune", "whiten")
WITHOUT = {"tune": 10, "whiten": 2000}  # what holds where nothing is said


def requests(
    folder: Annotated[Path, Parameter(show_default=False)],
    *,
    data: str | None = None,
    forget: Path | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    l2: float | None = None,
    gradient: float | None = None,
    length: float | None = None,
    tune: WholeNumber | None = None,
    whiten: WholeNumber | None = None,
    json: bool = False,
) -> None:
    """A linear head on features of a public backbone: train it, then carry out requests as they come. A ledger keeps count.

    Parameters
    ----------
    folder
        Of the ledger: budget, certificates, and the weights as they are now.
    data
        package.module:function → (features, labels), tensors of all samples ever in training, in a fixed order.
    forget
        A file of sample indices: the new request.
    epsilon
        ε of every request's certificate.
    delta
        δ of it.
    l2
        λ: weight of the L2 penalty, which is on every parameter.
    gradient
        g: the gradient norm where training and clean phases end. The proximity is 2g/λ.
    length
        Scale every sample's features to this norm, which makes the loss quick to minimise.
    tune
        L-BFGS iterations on retained data after the noise (default 10).
    whiten
        Retained samples that tell L-BFGS how long features are in each direction (default 2,000; 0 is without).
    json
        Print one JSON object.
    """
    from ..requests import Ledger

    given: dict[str, Any] = dict(zip(SETTINGS, (epsilon, delta, l2, gradient, length, tune, whiten), strict=True))
    if not (folder / "requests.json").exists():
        ledger = _begin(folder, data, forget, given)
    else:
        if wrong := [name for name, value in given.items() if value is not None]:
            raise ConfigError(f"--{wrong[0]} was settled when {folder} began; leave it out, or begin another folder.")
        ledger = Ledger.load(folder)
        if forget is not None:
            _carry_out(ledger, data, forget)
    answer = _answer(ledger)
    print_json(answer) if json else _show(answer)


def _begin(folder: Path, data: str | None, forget: Path | None, given: dict[str, Any]) -> Any:
    from ..requests import Ledger

    missing = [name for name in SETTINGS[:4] if given[name] is None]
    if missing or data is None or forget is not None:
        raise ConfigError(
            f"{folder} holds no ledger, so this call begins one: it needs --data, --epsilon, --delta, --l2 and --gradient, "
            "and no --forget yet."
        )
    about = {name: WITHOUT.get(name) if given[name] is None else given[name] for name in SETTINGS[2:]}
    with loading.users_code():
        head, sha256 = _head(data, about)
        model = head.train()
    return Ledger.begin(
        folder, model, epsilon=given["epsilon"], delta=given["delta"], about={**about, "data_sha256": sha256}
    )


def _carry_out(ledger: Any, data: str | None, forget: Path) -> None:
    from .. import weights

    if data is None:
        raise ConfigError("a request needs --data: the same function as when the ledger began.")
    new = loading.indices(forget)
    with loading.users_code():
        head, sha256 = _head(data, ledger.about)
        if sha256 != ledger.about["data_sha256"]:
            raise ConfigError(
                f"--data {data} gives other data than the ledger began with. Indices must go on meaning the same samples."
            )
        model = head.model()
        model.load_state_dict(weights.load(ledger.weights_file))
        head.carry_out(ledger, model, new, mend=ledger.about["tune"])


def _head(data: str, about: dict[str, Any]) -> tuple[Any, str]:
    """The head on the user's data, and the data's hash."""
    from torch import Tensor

    from .. import weights
    from ..requests import Head

    found = loading.function("data", data)()
    if not isinstance(found, tuple) or len(found) != 2 or not all(isinstance(part, Tensor) for part in found):
        raise ConfigError(f"--data {data} must return (features, labels), two tensors; got {type(found).__name__}.")
    features, labels = found
    settings = {name: about[name] for name in ("l2", "gradient", "length")}
    settings["whiten"] = about.get("whiten", 0)  # a ledger of before there was any goes on without
    head = Head(features, labels, int(labels.max()) + 1, **settings)
    return head, weights.digest({"features": features, "labels": labels})


def _answer(ledger: Any) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for number, request in enumerate(ledger.requests, start=1):
        promise = ledger.certificate(number)["guarantee"]
        rows.append(
            {
                "request": number,
                "forgotten": len(request["forget"]),
                "mu": promise["mu"],
                "epsilon": promise["epsilon"][ledger.accountant],
                "unconditional_delta": promise["unconditional_delta"],
                "certificate": str(ledger.folder / f"certificate-{number}.json"),
            }
        )
    return {
        "schema": "expunge.requested/1",
        "folder": str(ledger.folder),
        "weights": str(ledger.weights_file),
        "budget": {
            "epsilon": ledger.epsilon,
            "delta": ledger.delta,
            "mu": ledger.budget,
            "accountant": ledger.accountant,
        },
        "spent": {"epsilon": ledger.spent_epsilon, "mu": ledger.spent},
        "requests": rows,
    }


def _show(answer: dict[str, Any]) -> None:
    budget, spent = answer["budget"], answer["spent"]
    if answer["requests"]:
        columns = ("request", "forgotten", "epsilon", "in any case delta")
        print_table(
            columns,
            [
                (
                    str(row["request"]),
                    str(row["forgotten"]),
                    figure(row["epsilon"]),
                    f"{row['unconditional_delta']:.4g}",
                )
                for row in answer["requests"]
            ],
        )
        print()
    print_facts(
        [
            ("budget", f"({figure(budget['epsilon'])}, {budget['delta']:g})"),
            ("this model", f"epsilon {figure(spent['epsilon'])} against one retrained without everybody who went"),
            ("next request", "anchored: it stands alone, and costs the budget once, whatever came before"),
            ("weights", answer["weights"]),
        ]
    )
