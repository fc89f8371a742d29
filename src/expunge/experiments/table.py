"""A comparison as people read it: a row of words for each method, on a terminal or in Markdown."""

from typing import Any

from .summary import Line, Spread, summarise

LEADING = ("method", "kind", "ε")
RATES = ("UA", "RA", "TA", "TA retained", "MIA")  # in percent; the rest is as it is


def table(document: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Titles and rows; a column that nobody measured is left out."""
    lines, seeds = summarise(document), len(document["seeds"])
    kept = [title for title in lines[0].columns if any(line.columns[title] for line in lines)]
    rows = [[_name(line, seeds), line.kind, _epsilon(line), *(_cell(title, line) for title in kept)] for line in lines]
    return [*LEADING, *kept], rows


def markdown(document: dict[str, Any]) -> str:
    """The table, and below it how it came to be."""
    titles, rows = table(document)
    rules = ["---", "---", *["--:"] * (len(titles) - 2)]
    text = "\n".join(f"| {' | '.join(row)} |" for row in (titles, rules, *rows))
    return f"{text}\n\n{_origin(document)}\n"


def _origin(document: dict[str, Any]) -> str:
    """Command, request, promise, machine and day, in a line."""
    target, place = document["target"], document["machine"]
    seeds = ", ".join(map(str, document["seeds"]))
    return (
        f"`{document['command']}`: {document['workload']} ({document['scale']}), {_words(document['deletion'])}, "
        f"seeds {seeds}; certified at ε = {target['epsilon']:g}, δ = {target['delta']:g} ({target['accountant']}). "
        f"{place['gpu'] or place['processor']}, {place['threads']} threads, torch {place['torch']}; "
        f"{document['created'][:10]}."
    )


def _name(line: Line, asked: int) -> str:
    """With what a reader must know: seeds that ended badly, or were not run."""
    told = [f"{line.failed} failed"] if line.failed else []
    run = line.seeds + line.failed
    told += [f"{run} of {asked} seeds"] if run < asked else []
    return f"{line.method} ({', '.join(told)})" if told else line.method


def _epsilon(line: Line) -> str:
    return "" if line.epsilon is None else f"{line.epsilon:.5g}"


def _cell(title: str, line: Line) -> str:
    """Mean ± standard deviation (gap to retraining)."""
    spread: Spread | None = line.columns[title]
    if spread is None:
        return ""
    scale, digits = (100.0, 1) if title in RATES else (1.0, 2)
    text = f"{scale * spread.mean:.{digits}f}"
    if spread.deviation is not None:
        text += f" ± {scale * spread.deviation:.{digits}f}"
    return text if spread.gap is None else f"{text} ({round(scale * spread.gap, digits) + 0.0:+.{digits}f})"  # no −0.0


def _words(deletion: dict[str, Any]) -> str:
    return " ".join(str(value) for value in deletion.values())
