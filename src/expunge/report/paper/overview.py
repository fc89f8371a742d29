"""All experiments on one page: what the paper says, its numbers, ours, and a verdict, each computed from a document."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .measures import CLOSE, agreement, apart, doubt, spread
from .page import best

Document = Mapping[str, Any]
CHANCE = 20.0  # percent: of ten classes, less than this is called no recovery


def overview(documents: Sequence[Document], titles: Mapping[str, str]) -> str:
    """The page; `titles` names every experiment there is, so that those that were not run are named too."""
    told = {document["name"] for document in documents}
    missing = [f"`{name}`" for name in titles if name not in told]
    return "\n\n".join([
        "# Every experiment, its numbers and its verdict",
        "Test accuracies in percent (all classes), means over seeds. The pages have deviations, curves and times.",
        *(part for document in documents for part in _experiment(document)),
        "## What the paper's noise keeps",
        "With the paper's printed hyper-parameters and its own σ, run for its printed steps, by the exact accountant.",
        _table(
            ("setting", "T\\*", "σ, the paper's", "σ needed", "promised ε", "ε that its σ keeps"), _noise(documents)
        ),
        "## What was run",
        _table(("experiment", "scale", "seeds", "panels left out"), map(_ran, documents)),
        f"Not run: {', '.join(missing) or 'none'}.",
    ]) + "\n"  # fmt: skip


def _table(head: Sequence[str], rows: Any) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])


def _experiment(document: Document) -> list[str]:
    """Its claim, and what came of it."""
    head = [f"## [{document['title']}]({document['name']}.md)", f"The paper: {document['claim']}"]
    scaled = document.get("scaled", "")
    found = _trajectory(document) if document["kind"] == "trajectory" else _panels(document, scaled)
    return [*head, *([scaled] if scaled else []), *found]


def _trajectory(document: Document) -> list[str]:
    gap, paper = document["calibration"]["proximity"]["gap"], document.get("paper")
    said = "The paper prints no Δ for it" if paper is None else f"The paper's Δ is {paper:g}"
    pairs = document["calibration"]["pairs"]
    whose = f"the largest of {len(pairs)} pairs" if len(pairs) > 1 else "that of one pair"
    steps = next((f" after {pair['trajectory'][-1]['step']} steps" for pair in pairs if "trajectory" in pair), "")
    return [f"{said}; {whose} here is {gap:.3g}{steps}."]


def _panels(document: Document, scaled: str) -> list[str]:
    """A row each; a graph has none, and nothing to judge but its page."""
    rows = [
        [panel["title"], _stated(panel) or "drawn only", _measured(panel), _verdict(panel, scaled)]
        for panel in document.get("panels", ())
    ]
    return [_table(("setting", "the paper", "ours", "verdict"), rows)] if rows else []


def _stated(panel: Mapping[str, Any]) -> str:
    """The paper's accuracies on the test part."""
    found = [
        f"{line['label']} {line['paper'][name]:g}"
        for line in panel["lines"]
        for name in ("final", "test", "lowest")
        if name in line["paper"] and not (name == "lowest" and "final" in line["paper"])
    ]
    return "<br>".join(found)


def _measured(panel: Mapping[str, Any]) -> str:
    found: list[str] = []
    for line in panel["lines"]:
        value = spread(line["rows"], "final")
        failed = sum("failed" in row for row in line["rows"])
        some = f" ({failed} of {len(line['rows'])} seeds diverged)" if failed else ""
        found.append(f"{line['label']} " + ("diverged" if value is None else f"{value.mean:.1f}{some}"))
    return "<br>".join(found)


def _verdict(panel: Mapping[str, Any], scaled: str) -> str:
    if scaled:
        return "none: the runs are too short for one"
    return "<br>".join([*_printed(panel), *_gain(panel), *_scratch(panel)]) or "–"


def _printed(panel: Mapping[str, Any]) -> Iterator[str]:
    """What the paper's hyper-parameters come to, with valid noise."""
    lines = [line for line in panel["lines"] if line["method"] in ("nft", "blockwise_nft") and not line["ours"]]
    ends = [value.mean for line in lines if (value := spread(line["rows"], "final"))]
    if not lines:
        return
    if not ends:
        yield "with the printed hyper-parameters fine-tuning diverges in every line"
    elif max(ends) < CHANCE:
        yield f"with the printed hyper-parameters no line recovers (at most {max(ends):.1f} %)"
    checks = [ok for line in lines for ok in agreement(line["rows"], line["paper"]).values()]
    if checks:
        yield f"{sum(checks)} of {len(checks)} of its printed accuracies are within {CLOSE:g} points"


def _gain(panel: Mapping[str, Any]) -> Iterator[str]:
    """Blocks against none, wherever both came to an end that is more than chance."""
    for ours in (False, True):
        whole, parts = (
            best(panel, lambda line, name=name, ours=ours: line["method"] == name and line["ours"] == ours)
            for name in ("nft", "blockwise_nft")
        )
        if whole and parts and max(whole[1].mean, parts[1].mean) >= CHANCE:
            words, against = apart(parts[1], whole[1]), doubt(parts[1], whole[1])
            yield f"{parts[0]} ends {words} {whole[0]}" + (f" ({against[2:]})" if against else "")


def _scratch(panel: Mapping[str, Any]) -> Iterator[str]:
    certified = best(panel, lambda line: line["kind"] == "certified")
    scratch = best(panel, lambda line: line["method"] == "from_public")
    if certified and scratch:
        words, against = apart(certified[1], scratch[1]), doubt(certified[1], scratch[1])
        yield f"the best certified line ({certified[0]}) ends {words} the best from scratch ({scratch[0]}{against})"


def _noise(documents: Sequence[Document]) -> Iterator[list[str]]:
    """Every setting of the paper once."""
    seen: set[tuple[float, ...]] = set()
    for document in documents:
        for panel in document.get("panels", ()):
            for line in panel["lines"]:
                found = line.get("papers_noise")
                if found and (key := (found["sigma"], found["papers_sigma"])) not in seen:
                    seen.add(key)
                    best_steps, kept = found["optimal_steps"], found.get("epsilon")
                    yield [
                        f"{document['name']}, {panel['title']}",
                        "∞" if best_steps is None else f"{best_steps:.4g}",
                        *(f"{found[name]:.4g}" for name in ("papers_sigma", "sigma")),
                        f"{line['settings']['epsilon']:,.6g}",
                        "nothing" if kept is None else f"{kept:,.4g}",
                    ]


def _ran(document: Document) -> list[str]:
    seeds = len(document["seeds"]) if "seeds" in document else "–"
    left = ", ".join(document.get("left_out", ())) or "–"
    return [f"`{document['name']}`", document["scale"], str(seeds), left]
