"""What is certified, in words that a lawyer can read and in those of a mathematician."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from .documents import Certificate
from .results import Results
from .words import capital, cost, count, number, percent, percent_up

State = Literal["valid", "weak", "document", "unchecked", "simulation", "invalid", "none"]
TITLES: dict[State, str] = {
    "valid": "Valid certificate",
    "weak": "Valid certificate of a weak promise",
    "document": "Valid as a document; weights not compared",
    "unchecked": "Certificate not verified",
    "simulation": "Simulation: certifies nothing",
    "invalid": "Not valid",
    "none": "No certificate",
}
WEAK = 0.95  # an observer who may be right more often than this is hardly hindered
ACCOUNTANTS = {"gaussian": "Gaussian", "renyi": "Rényi"}


@dataclass(frozen=True)
class Statement:
    """`notes` are what a reader must not miss beside the two sentences."""

    state: State
    title: str
    plain: str
    exact: str | None = None
    notes: tuple[str, ...] = ()


def statement(results: Results) -> Statement:
    """What can be said, from the certificate and its verification."""
    state, certificate = state_of(results), results.certificate
    if certificate is None:
        return Statement(state, TITLES[state], _without(results))
    exact = _exact(certificate)
    if state == "invalid":
        reason = results.verification.reason if results.verification else None
        return Statement(
            state, TITLES[state], f"Verification refused it: {_sentence(reason)} Treat the data as not removed."
        )
    if state == "simulation":
        return Statement(
            state,
            TITLES[state],
            "This run is for research. Its noise can be computed from a seed, so it hides nothing, and the data counts as "
            "not removed. The numbers below say what a real run of the same kind would be worth.",
            f"For a real run, whose noise nobody knows: {exact[:1].lower()}{exact[1:]}",
        )
    return Statement(state, TITLES[state], _plain(results, certificate), exact, _notes(results, state, certificate))


def state_of(results: Results) -> State:
    """Valid only where everything was verified; whatever is missing makes it less."""
    certificate, verification = results.certificate, results.verification
    if certificate is None:
        return "none"
    if certificate.kind == "simulation":
        return "simulation"
    if verification is None:
        return "unchecked"
    if not verification.valid:
        return "invalid"
    if not verification.weights_compared:
        return "document"
    return "weak" if best_guess(certificate.guarantee.mu) > WEAK else "valid"


def best_guess(mu: float) -> float:
    """How often the best observer tells two Gaussians μ apart at even odds: Φ(μ/2)."""
    return NormalDist().cdf(mu / 2.0)


def _without(results: Results) -> str:
    reason = f" {_sentence(results.refused)}" if results.refused else ""
    return f"Nothing is certified about this request, and the data counts as not removed.{reason}"


def _plain(results: Results, certificate: Certificate) -> str:
    asked, guess = results.asked, best_guess(certificate.guarantee.mu)
    failure = certificate.proximity.failure
    if failure == 0.0:
        condition = "That holds in every case."
    elif failure >= 1.0:
        condition = (
            "That holds if trained and retrained models are as close as was assumed; "
            "nobody measured how often they are not."
        )
    else:
        condition = (
            "That holds if trained and retrained models are as close as was measured beforehand; the probability that they "
            f"are not is at most {percent_up(failure)}."
        )
    return (
        f"This is about the removal of {asked.deletion.removed:,} of {count(asked.data.training, 'training sample')} "
        f"({asked.deletion.says}) from {asked.model.name}. Someone who sees the released model and must tell, at even odds, "
        "whether it comes from the original or from one that was retrained without that data, and then treated in the same "
        f"way, is right at most {percent_up(guess)} of the time. A coin is right {percent(0.5, 0)}"
        f"{': the promise alone hides little. ' if guess > WEAK else '. '}{condition}"
    )


def _exact(certificate: Certificate) -> str:
    promise = certificate.guarantee
    beside = "".join(
        f"; by the {ACCOUNTANTS.get(name, name)} accountant ε = {cost(value)}"
        for name, value in promise.epsilon.items()
        if name != promise.accountant
    )
    return (
        f"{_condition(certificate)} (ε, δ) = ({cost(certificate.epsilon)}, {number(promise.delta)})-indistinguishable in "
        f"both directions, being μ-Gaussian-DP with μ = {cost(promise.mu)} (by the "
        f"{ACCOUNTANTS.get(promise.accountant, promise.accountant)} accountant{beside}). {_always(certificate)}"
    )


def _condition(certificate: Certificate) -> str:
    gap, requests = number(certificate.proximity.gap), len(certificate.hops)
    if requests > 1:
        return (
            f"Given the proximities of all {requests} requests (the last: Δ = {gap}), the released state, and what the same "
            "procedure makes of a model trained without any of the removed data, are"
        )
    return f"Given ‖x̂ − x̂′‖₂ ≤ Δ = {gap}, the released state U(x̂, D, D_f) and U(x̂′, D∖D_f, ∅) are"


def _always(certificate: Certificate) -> str:
    total = certificate.guarantee.unconditional_delta
    if total < 1.0:
        return f"Unconditionally: (ε, δ + ϱ) = ({cost(certificate.epsilon)}, {cost(total)})."
    return "Unconditionally nothing, because the failure probability ϱ of the proximity is not known."


def _notes(results: Results, state: State, certificate: Certificate) -> tuple[str, ...]:
    notes: list[str] = []
    if state == "unchecked":
        notes.append("Nobody verified this certificate when the results were written. Verify it before you rely on it.")
    if state == "document":
        notes.append(
            "The certificate holds together, and no weights were compared with it: it may be about another model."
        )
    signature = results.verification.detail("signature") if results.verification else None
    if signature is not None and signature.startswith("not signed"):
        notes.append("It is not signed: nothing shows who issued it.")
    elif signature is not None and "NOT checked" in signature:
        notes.append("It is signed, and the signature was not checked against the signer's public key.")
    if len(certificate.hops) > 1:
        notes.append(
            f"This is request {len(certificate.hops)} on the same model; the numbers cover all of them together."
        )
    return tuple(notes)


def _sentence(text: str | None) -> str:
    text = (text or "no reason was given").strip()
    return capital(text if text.endswith((".", "!", "?")) else f"{text}.")
