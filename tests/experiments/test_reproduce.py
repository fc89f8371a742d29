"""The paper's experiments: every recipe runs, as a test of seconds on digits; models are shared; scales are what they say."""

import json

import pytest

from expunge.experiments.recipes import EXPERIMENTS
from expunge.experiments.reproduce import Place, reproduce
from expunge.report import paper

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where all experiments here keep their models and cells, as in a real run."""
    return tmp_path_factory.mktemp("runs")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs_and_has_a_page(name, folder):
    document = reproduce(EXPERIMENTS[name], Place(folder=folder, scale="smoke"))
    document = json.loads(json.dumps({**document, "commit": "c0ffee"}, allow_nan=False))
    assert (document["schema"], document["name"], document["scale"]) == ("expunge.experiment/1", name, "smoke")
    for panel in document.get("panels", ()):
        for line in panel["lines"]:
            (row,) = line["rows"]
            assert row["method"] == line["method"]
            assert (row.get("guarantee") is not None) == (row["kind"] == "certified" and "failed" not in row)
        assert {"output_perturbation", "from_public", "retrain"} <= {line["method"] for line in panel["lines"]}
    text = paper.page(document)
    assert text.startswith(f"# {document['title']}")
    for figure in paper.figures(document):
        assert f"({figure.name}.png)" in text or f"figures/{figure.name}.png" in text
