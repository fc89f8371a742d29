"""`expunge report`: results → one page, and the same figures as files."""

from pathlib import Path

from ..errors import ConfigError, DataError
from . import loading
from .output import print_facts, print_json


def report(
    results: Path, *, output: Path = Path("report.html"), figures: Path | None = None, json: bool = False
) -> None:
    """Make one self-contained HTML page from a results file. It needs no network, and opens anywhere.

    Parameters
    ----------
    results
        What `expunge run` or `expunge demo` wrote (results.json).
    output
        Where the page goes.
    figures
        A folder for the same figures as PNG and SVG.
    json
        Print one JSON object.
    """
    from .. import report as reports

    loading.destination("output", output)
    if output.absolute() == results.absolute():
        raise ConfigError(f"--output {output} would overwrite the results. Name another file.")
    found = reports.load(results)
    try:
        size = reports.write(found, output)
        drawn = [] if figures is None else reports.write_figures(found, figures)
    except OSError as error:
        raise DataError(f"cannot write {error.filename}: {error.strerror}. Check the place.") from error
    said, judged = reports.statement(found), reports.verdict(found)
    answer = {
        "schema": "expunge.report/1",
        "page": str(output),
        "bytes": size,
        "figures": [str(path) for path in drawn],
        "state": said.state,
        "verdict": judged.answer,
    }
    if json:
        print_json(answer)
        return
    print_facts(
        [
            ("certificate", said.title),
            ("worth it?", judged.headline),
            ("page", f"{output} ({size / 1e6:.1f} MB, opens without a network)"),
            *([("figures", f"{len(drawn)} files in {figures}")] if figures is not None else []),
        ]
    )
