"""Was it worth it? Computed from the comparison: against the same steps from scratch, plain noise, and retraining.

Accuracies count as different where they differ by more than 1.96 standard errors of two independent proportions on the
test samples. That is wide for two models on the same samples, so that a small lead is never called one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .results import Results
from .statement import state_of
from .summary import Summary, by_name, main_method, test_part
from .words import cost, count, percent, points, seconds

Answer = Literal["yes", "no", "partly", "unknown"]
Z = 1.96
NOTHING: dict[str, tuple[Answer, str]] = {
    "none": ("no", "No. Nothing is certified."),
    "invalid": ("no", "No. Verification refused the certificate, so nothing is certified."),
}


@dataclass(frozen=True)
class Judgement:
    """One comparison, in words."""

    against: str
    answer: Answer
    says: str


@dataclass(frozen=True)
class Verdict:
    """The answer, its reason in a sentence, and what it was computed from."""

    answer: Answer
    headline: str
    judgements: tuple[Judgement, ...]
    margin: str


@dataclass(frozen=True)
class Case:
    """What is judged: the unlearned model among its rivals."""

    found: dict[str, Summary]
    main: Summary
    part: str
    samples: int | None

    def accuracy(self, summary: Summary) -> float | None:
        """Mean test accuracy over the seeds."""
        spread = summary.accuracy(self.part)
        return None if spread is None else spread.mean

    def lead(self, rival: str) -> tuple[float, float, int] | None:
        """Own accuracy, the rival's, and whether the own is better (1), worse (−1), or neither can be told (0)."""
        other = self.found.get(rival)
        own, their = self.accuracy(self.main), None if other is None else self.accuracy(other)
        if own is None or their is None:
            return None
        clear = abs(own - their) > margin(own, their, self.samples)
        return own, their, (1 if own > their else -1) if clear else 0


def margin(first: float, second: float, samples: int | None) -> float:
    """The difference of two proportions that chance explains; 0 where the number of samples is not known."""
    return 0.0 if not samples else Z * math.sqrt((first * (1 - first) + second * (1 - second)) / samples)


def verdict(results: Results) -> Verdict:
    """Every comparison that was measured, and what they come to."""
    found, samples = by_name(results), results.asked.data.test
    name, state = main_method(results), state_of(results)
    if name is None or name not in found:
        if state in NOTHING:
            return Verdict(*NOTHING[state], (), "")
        return Verdict("unknown", "Not measured: no comparison with other methods was run.", (), "")
    case = Case(found, found[name], test_part(list(found.values())), samples)
    judgements = [judge(case) for judge in JUDGES]
    judgements += [_calibration(results, case)] if results.cost else []
    note = (
        f"A difference counts where it is larger than chance explains on {count(samples, 'test sample')} (95 %)."
        if samples
        else "The number of test samples is not given, so every difference counts."
    )
    answer, headline = NOTHING.get(state) or _together(judgements)
    if state == "weak" and answer in ("yes", "partly"):
        headline += f" The promise itself is weak: at ε = {cost(results.asked.target.epsilon)} it hides little."
    about = "Of a real run like this simulation: " if state == "simulation" else ""
    return Verdict(answer, about + headline, tuple(judgements), note)


def _public(case: Case) -> Judgement:
    against = "The same steps from the public initialisation"
    measured = {name: lead for name in FRESH if (lead := case.lead(name)) is not None}
    if not measured:
        return Judgement(
            against, "unknown", "Not measured. Without it nobody can say whether the old model was of any use."
        )
    best = max(measured, key=lambda name: measured[name][1])
    own, their, sign = measured[best]
    facts = (
        f"The unlearned model reaches {percent(own)} on test data; a fresh one, after {_steps(case, best)}"
        f"{FRESH[best]}, {percent(their)}."
    )
    if sign > 0:
        return Judgement(against, "yes", f"{facts} What the old model knew was worth keeping.")
    level = "does no better than" if sign == 0 else "is worse than"
    return Judgement(
        against,
        "no",
        f"{facts} Unlearning {level} starting again, and a fresh model never saw the removed data: it needs neither noise "
        "nor certificate.",
    )


def _steps(case: Case, rival: str) -> str:
    own, other = case.main.steps, case.found[rival].steps
    if own is None or other is None:
        return "as many steps as were given to it"
    same = own.mean == other.mean
    return f"the same {own.mean:,.0f} steps" if same else f"{other.mean:,.0f} steps (unlearning took {own.mean:,.0f})"


def _plain_noise(case: Case) -> Judgement:
    against, lead = "Output perturbation, with the same promise", case.lead("output_perturbation")
    if case.main.method == "output_perturbation":
        return Judgement(against, "unknown", "The unlearned model was made by output perturbation itself.")
    if lead is None:
        return Judgement(against, "unknown", "Not measured.")
    own, their, sign = lead
    facts = f"{case.main.label} {percent(own)}, output perturbation {percent(their)} on test data."
    if sign > 0:
        return Judgement(against, "yes", f"{facts} The noisy steps earn {points(own - their)}.")
    if sign == 0:
        return Judgement(
            against, "no", f"{facts} The difference is within chance: adding the noise at once would have done."
        )
    return Judgement(against, "no", f"{facts} Adding the noise at once is {points(own - their)} better, and simpler.")


def _retraining(case: Case) -> Judgement:
    against, lead = "Retraining without the removed data", case.lead("retrain")
    if lead is None:
        return Judgement(against, "unknown", "Not measured.")
    own, their, sign = lead
    level = {
        0: "as accurate as far as chance allows to say",
        1: f"{points(own - their)} more accurate",
        -1: f"{points(own - their)} less accurate",
    }
    times = _times(case)
    facts = f"The unlearned model is {level[sign]} ({percent(own)} against {percent(their)})."
    if times is None:
        return Judgement(against, "unknown", f"{facts} What either took was not measured.")
    mine, whole = times
    took = f"It took {seconds(mine)}, retraining {seconds(whole)}."
    if mine >= whole:
        return Judgement(against, "no", f"{took} {facts} Retraining is no dearer, and exact.")
    saved = f"{took} {facts}"
    return (
        Judgement(against, "yes", saved)
        if sign >= 0
        else Judgement(against, "partly", f"{saved} Time is bought with accuracy.")
    )


def _calibration(results: Results, case: Case) -> Judgement:
    against = "The calibration, which has to be paid once"
    spent = [expense.seconds for expense in results.cost or () if expense.stage == "calibration"]
    times = _times(case)
    if not spent or times is None:
        return Judgement(against, "unknown", "Not measured.")
    mine, whole = times
    facts = f"It took {seconds(sum(spent))}, as much as {sum(spent) / whole:,.1f} retrainings."
    if mine >= whole:
        return Judgement(against, "no", f"{facts} No number of requests pays it back, because a request saves no time.")
    needed = math.ceil(sum(spent) / (whole - mine))
    return Judgement(
        against, "yes" if needed <= 1 else "partly", f"{facts} It is paid back after {count(needed, 'request')}."
    )


# Noise may be a better start than the public initialisation: then it is the noise that helped, and not the old model.
FRESH = {"from_public": "", "from_public_noised": " and the same noise"}
JUDGES: tuple[Callable[[Case], Judgement], ...] = (_public, _plain_noise, _retraining)


def _times(case: Case) -> tuple[float, float] | None:
    own, whole = case.main.seconds, case.found["retrain"].seconds if "retrain" in case.found else None
    return None if own is None or whole is None or whole.mean <= 0.0 else (own.mean, whole.mean)


def _together(judgements: list[Judgement]) -> tuple[Answer, str]:
    """The weakest point decides."""
    public, plain, retraining = (judgement.answer for judgement in judgements[:3])
    if public == "no":
        return "no", "No. The same steps from the public initialisation do as well or better, and need no certificate."
    if retraining == "no":
        return "no", "No. Retraining takes no longer, and is exact."
    if "unknown" in (public, retraining):
        return "unknown", "It cannot be said: not every baseline that decides it was measured."
    if plain == "no":
        return (
            "partly",
            "Unlearning was; this method was not. Plain output perturbation keeps the same promise and does as well.",
        )
    if retraining == "partly":
        return (
            "partly",
            "In part. It is faster than retraining, beats its baselines, and is less accurate than retraining.",
        )
    return (
        "yes",
        "Yes. It beats the same steps from scratch, and takes less time than retraining at no loss that can be seen.",
    )
