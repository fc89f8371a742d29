"""The tables of docs/methods.md are those of the documents that it links."""

import json
from pathlib import Path

import pytest

from expunge.experiments import markdown, summarise
from expunge.methods import METHODS

DOCS = Path(__file__).parents[2] / "docs"
FILES = sorted((DOCS / "results" / "compare").glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_table_is_what_was_measured(file):
    document, page = json.loads(file.read_text(encoding="utf-8")), (DOCS / "methods.md").read_text(encoding="utf-8")
    rows, _ = markdown(document).split("\n\n", 1)
    assert rows in page
    assert f"results/compare/{file.name}" in page
    assert {line.method for line in summarise(document)} <= {"(before)", *METHODS}


@pytest.mark.parametrize("name", ["digits-class", "digits-random"])
def test_every_method_is_in_the_tables_of_digits(name):
    document = json.loads((DOCS / "results" / "compare" / f"{name}.json").read_text(encoding="utf-8"))
    assert {row["method"] for row in document["rows"]} == set(METHODS)
    assert document["seeds"] == [0, 1, 2, 3, 4]
