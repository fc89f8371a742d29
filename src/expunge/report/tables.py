"""The tables that stand beside the figures: checks, ledger, audits, attacks, expenses."""

from collections.abc import Callable
from itertools import groupby

from .figures.figure import MOST_ROWS, Table
from .results import Results, Step
from .summary import ATTACKS, Spread, Summary, by_name, summaries
from .words import capital, number, percent, seconds

NONE = "–"


def checks(results: Results) -> Table | None:
    """Every assumption that was measured, against its limit."""
    if results.certificate is None:
        return None
    rows = (
        (
            "✓" if check.measured <= check.limit else "✗",
            capital(check.name),
            number(check.measured, 3),
            number(check.limit, 3),
            check.how,
        )
        for check in results.certificate.checks
    )
    return Table(("", "assumption", "measured", "at most", "what is measured"), tuple(rows))


def ledger(results: Results) -> Table | None:
    """What was done, block by block; equal blocks in one row."""
    if results.certificate is None:
        return None
    blocks = results.certificate.hops[-1].blocks
    rows: list[tuple[str, ...]] = []
    first = 0
    for key, run in groupby(blocks, key=lambda block: (block.dimension, block.steps)):
        last = first + len(list(run)) - 1
        place = str(first) if first == last else f"{first}–{last}"
        rows += [(place, *_step(key[0], step)) for step in key[1]]
        first = last + 1
    left = f"The first {MOST_ROWS} of {len(rows)} rows." if len(rows) > MOST_ROWS else ""
    columns = ("block", "coordinates", "steps", "step size γ", "decay λ", "clip C₁", "noise σ")
    return Table(columns, tuple(rows[:MOST_ROWS]), left)


def _step(dimension: int | None, step: Step) -> tuple[str, ...]:
    size = NONE if dimension is None else f"{dimension:,}"
    return (
        size,
        str(step.count),
        *(number(value, 4) for value in (step.step_size, step.weight_decay, step.clip, step.sigma)),
    )


COLUMNS: dict[str, Callable[[Summary], str]] = {
    "accuracy on removed data": lambda summary: _rate(summary.accuracy("forget")),
    "on retained data": lambda summary: _rate(summary.accuracy("retain")),
    "on test data": lambda summary: _rate(summary.accuracy("test")),
    "on test data, retained classes": lambda summary: _rate(summary.accuracy("test_retained_classes")),
    "disagrees with retrained": lambda summary: _rate(summary.distance("disagreement")),
    "KL to retrained": lambda summary: _plain(summary.distance("kl")),
    "distance to retrained": lambda summary: _plain(summary.distance("weights")),
    "steps": lambda summary: _steps(summary.steps),
    "time": lambda summary: _time(summary.seconds),
}


def audits(results: Results) -> Table | None:
    """A row for each method; columns that nobody measured are left out."""
    found = summaries(results)
    columns = [name for name, cell in COLUMNS.items() if any(cell(summary) != NONE for summary in found)]
    rows = ((s.label, s.kind, str(len(s.rows)), *(COLUMNS[name](s) for name in columns)) for s in found)
    return Table(("method", "kind", "seeds", *columns), tuple(rows)) if found else None


def attacks(results: Results) -> Table | None:
    """Every attack on every method."""
    fields = {"auc": "AUC", "tpr_at_1": "TPR at 1 % FPR", "tpr_at_01": "TPR at 0.1 % FPR", "efficacy": "efficacy"}
    cells = {
        (summary.label, title): tuple(_attack(summary, name, field) for field in fields)
        for summary in summaries(results)
        for name, title in ATTACKS.items()
    }
    rows = tuple((*names, *values) for names, values in cells.items() if set(values) != {NONE})
    return Table(("method", "attack", *fields.values()), rows) if rows else None


def _attack(summary: Summary, name: str, field: str) -> str:
    found = summary.attack(name, field)
    if found is None or field != "auc":
        return _rate(found)
    return f"{found.mean:.3f}" + (f" [{found.low:.3f}, {found.high:.3f}]" if found.high > found.low else "")


def expenses(results: Results) -> Table | None:
    """What every stage took, beside retraining."""
    if not results.cost:
        return None
    retrain = by_name(results).get("retrain")
    whole = retrain.seconds.mean if retrain and retrain.seconds else None
    rows = (
        (
            capital(expense.stage),
            seconds(expense.seconds),
            NONE if expense.steps is None else f"{expense.steps:,}",
            NONE if not whole else f"{expense.seconds / whole:,.2f} ×",
            "once" if expense.once else "every request",
        )
        for expense in results.cost
    )
    return Table(("stage", "time", "steps", "of a retraining", "paid"), tuple(rows))


def _rate(found: Spread | None) -> str:
    return _spread(found, percent)


def _plain(found: Spread | None) -> str:
    return _spread(found, lambda value: number(value, 3))


def _steps(found: Spread | None) -> str:
    return NONE if found is None else f"{found.mean:,.0f}"


def _time(found: Spread | None) -> str:
    return _spread(found, seconds)


def _spread(found: Spread | None, form: Callable[[float], str]) -> str:
    """The mean, with the range over the seeds where there is one."""
    if found is None:
        return NONE
    return form(found.mean) + (f" ({form(found.low)} … {form(found.high)})" if found.high > found.low else "")
