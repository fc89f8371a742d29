"""The page: one HTML file that asks nothing of the network, and whose scripts are the two that stand here.

Jinja escapes everything that comes from the results. The content security policy lets the browser run those two scripts, by
their hash, and nothing else, and open no connection at all.
"""

import base64
import hashlib
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from . import tables, words
from .figures import Figure, figures
from .results import Results
from .statement import state_of, statement
from .summary import by_name, main_method, test_part
from .verdict import verdict

ASSETS = files("expunge.report") / "assets"
NOT_MEASURED = "not measured"


def render(results: Results) -> str:
    """The page as text."""
    drawn = figures(results)
    scripts = [_asset("plotly-basic.min.js"), _asset("report.js")]
    return _template().render(
        results=results,
        asked=results.asked,
        certificate=results.certificate,
        statement=statement(results),
        verdict=verdict(results),
        facts=facts(results),
        figures=drawn,
        drawings=[asdict(figure) for section in drawn.values() for figure in section],
        tables={name: getattr(tables, name)(results) for name in ("checks", "ledger", "audits", "attacks", "expenses")},
        warnings=_warnings(results),
        style=_asset("report.css"),
        scripts=scripts,
        policy=f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {_hashes(scripts)}",
    )


def write(results: Results, path: str | Path) -> int:
    """Write the page; its size in bytes."""
    content = render(results).encode()
    Path(path).write_bytes(content)
    return len(content)


def facts(results: Results) -> list[tuple[str, str, str]]:
    """The figures at the top: name, value, and what it is to be held against."""
    found = by_name(results)
    main, retrain = found.get(main_method(results) or ""), found.get("retrain")
    part = test_part(list(found.values()))
    own, other = (summary.accuracy(part) if summary else None for summary in (main, retrain))
    mine, theirs = (summary.seconds if summary else None for summary in (main, retrain))
    tested = "Test accuracy" if part == "test" else "Test accuracy, other classes"
    accuracy, time = _beside(tested, own, other, words.percent), _beside("Time", mine, theirs, words.seconds)
    return [*_promise(results), accuracy, time]


def _promise(results: Results) -> list[tuple[str, str, str]]:
    """ε and δ + ϱ, where they are certified; what the document says is otherwise only told."""
    asked = f"asked for: {words.number(results.asked.target.epsilon)} at δ = {words.number(results.asked.target.delta)}"
    if results.certificate is None:
        return [("ε", "none", asked), ("δ in any case", "none", "")]
    promise, epsilon = results.certificate.guarantee, words.cost(results.certificate.epsilon)
    total = words.cost(promise.unconditional_delta) if promise.unconditional_delta < 1.0 else "nothing is known"
    said = {"simulation": "of a real run", "invalid": "as stated"}.get(state_of(results))
    if said is not None:
        return [("ε", "not certified", f"{said}: {epsilon}"), ("δ in any case", "not certified", f"{said}: {total}")]
    return [("ε", epsilon, asked), ("δ in any case", total, f"given the proximity: {words.number(promise.delta)}")]


def _beside(name: str, own: Any, other: Any, form: Any) -> tuple[str, str, str]:
    value = NOT_MEASURED if own is None else form(own.mean)
    return (name, value, f"retraining: {NOT_MEASURED if other is None else form(other.mean)}")


def _warnings(results: Results) -> list[str]:
    rows = results.comparison.rows if results.comparison else ()
    return list(dict.fromkeys(text for row in rows if row.audit for text in row.audit.warnings))


def _hashes(scripts: list[str]) -> str:
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


@cache
def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "number": words.number,
        "cost": words.cost,
        "percent": words.percent,
        "capital": words.capital,
        "label": words.label,
        "day": words.day,
        "narrow": _narrow,
        "unquoted": _unquoted,
    }
    return environment.from_string(_asset("page.html.j2"))


def _unquoted(text: str) -> str:
    """Without the backticks that a text for terminals has."""
    return text.replace("`", "")


def _narrow(section: list[Figure]) -> bool:
    """Whether the section's figures stand side by side where there is room."""
    return len(section) > 1
