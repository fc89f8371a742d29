"""An experiment's page, in Markdown. Every sentence about a result is computed from the document."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .figures import figures
from .measures import CLOSE, MEASURES, PERCENT, Spread, agreement, apart, doubt, spread

Document = Mapping[str, Any]


def page(document: Document, *, folder: str = "figures", data: str = "") -> str:
    """Title, claim, findings, then a figure and a table for each panel; `folder` is where the figures lie."""
    parts = [
        f"# {document['title']}",
        f"*In the paper: {document['source']}.* {document['claim']}",
        *(document[name] for name in ("note", "scaled") if document.get(name)),
        *([f"Not run: {', '.join(document['left_out'])}."] if document.get("left_out") else []),
        *_findings(document),
        *_body(document, folder),
        _origin(document, data),
    ]
    return "\n\n".join(parts) + "\n"


def _findings(document: Document) -> list[str]:
    if document["kind"] in ("recipe", "search"):
        found = [sentence for panel in document["panels"] for sentence in _verdicts(panel, document.get("scaled", ""))]
        return ["## What we find", "\n".join(f"- {sentence}" for sentence in found)]
    if document["kind"] == "trajectory":
        return ["## What we find", document["calibration"]["says"], *_papers_gap(document)]
    return []


def _papers_gap(document: Document) -> list[str]:
    paper, ours = document.get("paper"), document["calibration"]["proximity"]["gap"]
    return [] if paper is None else [f"The paper uses Δ = {paper:g}; here it is {ours:.3g}."]


def _verdicts(panel: Mapping[str, Any], scaled: str) -> list[str]:
    """Agreement with the paper; validity of its noise; whether blocks help; worth against the same steps from scratch."""
    judged = [] if scaled else [*_agreement(panel), *_blocks(panel), *_worth(panel)]  # short runs prove nothing
    sentences = [*_diverged(panel), *_validity(panel), *judged]
    return [f"**{panel['title']}**: {sentence}" for sentence in sentences]


def _agreement(panel: Mapping[str, Any]) -> list[str]:
    compared = [(line["label"], agreement(line["rows"], line["paper"])) for line in panel["lines"] if line["paper"]]
    close = sum(value for _, found in compared for value in found.values())
    count = sum(len(found) for _, found in compared)
    if not count:
        return []
    far = [
        f"{label} ({', '.join(MEASURES[m][0] for m, ok in found.items() if not ok)})"
        for label, found in compared
        if not all(found.values())
    ]
    return [
        f"{close} of the paper's {count} accuracies are within {CLOSE:g} points of ours"
        + (f"; further away: {'; '.join(far)}." if far else ".")
    ]


def _diverged(panel: Mapping[str, Any]) -> list[str]:
    lines = [line["label"] for line in panel["lines"] if all("failed" in row for row in line["rows"])]
    if not lines:
        return []
    return [f"fine-tuning diverged in every seed after the noise that these settings need: {'; '.join(lines)}."]


def _validity(panel: Mapping[str, Any]) -> list[str]:
    found = [line["papers_noise"] for line in panel["lines"] if line.get("papers_noise")]
    return [_noise(noise) for noise in {(n["steps"], n["sigma"], n["papers_sigma"]): n for n in found}.values()]


def _noise(noise: Mapping[str, Any]) -> str:
    factors, judged = noise["variance_factor"], "valid" if noise["valid"]["gaussian"] else "not valid"
    kept = "no privacy at all" if noise["epsilon"] is None else f"ε = {noise['epsilon']:,.4g}"
    return (
        f"the paper's formula gives σ = {noise['papers_sigma']:.4g}; {noise['steps']} steps need {factors['renyi']:.3g} "
        f"times its variance by the paper's own accountant and {factors['gaussian']:.3g} times by the exact one ({judged} "
        f"by that: it keeps {kept}). Lines here use the valid σ = {noise['sigma']:.4g}; plain output perturbation needs "
        f"{noise['output_perturbation']:.4g}."
    )


def _blocks(panel: Mapping[str, Any]) -> list[str]:
    """NFT beside Block-wise NFT with the same settings: the paper's, and ours."""
    pairs = [[_fate(panel, _of(name, ours)) for name in ("nft", "blockwise_nft")] for ours in (False, True)]
    return [f"{whole}; {parts}." for whole, parts in pairs if whole and parts]


def _fate(panel: Mapping[str, Any], wanted: Callable[[Mapping[str, Any]], bool]) -> str:
    """Of the best such line."""
    found = best(panel, wanted)
    if found is None:
        return ""
    rows = next(line["rows"] for line in panel["lines"] if wanted(line) and line["label"] == found[0])
    lowest = spread(rows, "lowest")
    return f"{found[0]} falls to {lowest.mean:.1f} % and ends at {found[1].mean:.1f} %" if lowest else ""


def _of(method: str, ours: bool) -> Callable[[Mapping[str, Any]], bool]:
    return lambda line: line["method"] == method and line["ours"] == ours


def _worth(panel: Mapping[str, Any]) -> list[str]:
    certified = best(panel, lambda line: line["kind"] == "certified")
    scratch = best(panel, lambda line: line["method"] == "from_public")
    exact = best(panel, lambda line: line["method"] == "retrain")
    if certified is None or scratch is None:
        return []
    (name, ours), (rival, theirs) = certified, scratch
    tail = f"; retraining reaches {exact[1].mean:.1f}" if exact else ""
    return [
        f"the best certified line ({name}) ends at {ours.mean:.1f} %, {apart(ours, theirs)} the best from scratch in as "
        f"many steps ({rival}, {theirs.mean:.1f} %{doubt(ours, theirs)}){tail}."
    ]


def best(panel: Mapping[str, Any], wanted: Callable[[Mapping[str, Any]], bool]) -> tuple[str, Spread] | None:
    """The line that ends best, of those that are wanted and did not diverge in any seed."""
    found = [
        (line["label"], value)
        for line in panel["lines"]
        if wanted(line)
        and not any("failed" in row for row in line["rows"])
        and (value := spread(line["rows"], "final"))
    ]
    return max(found, key=lambda pair: pair[1].mean, default=None)


def _body(document: Document, folder: str) -> list[str]:
    drawn = {figure.name: f"![{figure.says}]({folder}/{figure.name}.png)" for figure in figures(document)}
    if document["kind"] not in ("recipe", "search"):
        return list(drawn.values())
    tables = [_table(panel, document["shows"]) for panel in document["panels"]]
    parts = [
        part
        for panel, image, table in zip(document["panels"], drawn.values(), tables, strict=True)
        for part in (f"## {panel['title']}", image, table)
    ]
    return [*parts, *_tried(document)]


def _table(panel: Mapping[str, Any], shows: Sequence[str]) -> str:
    shown = [name for name in shows if any(spread(line["rows"], name) for line in panel["lines"])]
    head = ["", "ε", *(MEASURES[name][0] for name in shown)]
    rows = [[_named(line), _epsilon(line), *(_cell(line, name) for name in shown)] for line in panel["lines"]]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---", *["---:"] * (len(head) - 1)], *rows])


def _named(line: Mapping[str, Any]) -> str:
    failed = sum("failed" in row for row in line["rows"])
    return line["label"] + (f" (diverged in {failed} of {len(line['rows'])} seeds)" if failed else "")


def _epsilon(line: Mapping[str, Any]) -> str:
    found = [row["guarantee"]["epsilon"] for row in line["rows"] if row.get("guarantee")]
    return f"{max(found):,.6g}" if found else {"exact": "exact", "certified": "–"}.get(line["kind"], "none")


def _cell(line: Mapping[str, Any], measure: str) -> str:
    ours, paper = spread(line["rows"], measure), line["paper"].get(measure)
    if ours is None:
        return "" if paper is None else f"(paper: {paper:g})"
    digits = 1 if measure in PERCENT else 2
    text = f"{ours.mean:.{digits}f}" + ("" if ours.deviation is None else f" ± {ours.deviation:.{digits}f}")
    return text if paper is None else f"{text} (paper: {paper:g})"


def _tried(document: Document) -> list[str]:
    if "search" not in document:
        return []
    search = document["search"]
    rows = [
        f"| {panel['title']} | {label} | {100 * value:.1f} |"
        for panel in search["panels"]
        for label, value in panel["tried"].items()
    ]
    head = f"| setting | tried | {search['by']}, % |\n| --- | --- | ---: |"
    text = f"Chosen on models and requests of other seeds ({', '.join(map(str, search['seeds']))}), by {search['by']}."
    return ["## What was tried", text, "\n".join([head, *rows])]


def _origin(document: Document, data: str) -> str:
    machine = document["machine"]
    where = machine.get("gpu") or machine["processor"]
    seeds = f"seeds {', '.join(map(str, document['seeds']))}; " if "seeds" in document else ""
    changes = f"; changed: {document['changes']}" if document.get("changes") else ""
    link = f" [The numbers]({data})." if data else ""
    rows = [row for panel in document.get("panels", ()) for line in panel["lines"] for row in line["rows"]]
    worked = (
        f"{sum(row.get('seconds', 0.0) for row in rows):.0f} s of methods (some from earlier calls), " if rows else ""
    )
    return (
        f"*Measured at scale {document['scale']}{changes}; {seeds}{where}, torch {machine['torch']}, "
        f"{worked}{document['seconds']:.0f} s of this call, {document['created'][:10]}, commit "
        f"{document.get('commit', 'unknown')}. Command: `{document['command']}`.*{link}"
    )
