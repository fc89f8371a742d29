"""The paper's experiments: every recipe runs, in seconds on digits; models are shared; scales are what they say."""

import json

import pytest
import torch

from expunge.accounting import gaussian, sigma
from expunge.errors import ConfigError
from expunge.experiments import trained
from expunge.experiments.noise import papers_noise
from expunge.experiments.recipes import EXPERIMENTS, Recipe, find
from expunge.experiments.recipes.panel import STEPS
from expunge.experiments.recipes.scales import LAPTOP
from expunge.experiments.reproduce import Place, _chosen, reproduce
from expunge.report import paper
from expunge.report.paper.measures import Spread, agreement, apart, doubt
from expunge.report.paper.page import best

pytest.importorskip("sklearn")
RECIPES = [experiment for experiment in EXPERIMENTS.values() if isinstance(experiment, Recipe)]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Models are so small here that threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


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
        assert f"(figures/{figure.name}.png)" in text


def test_a_model_trained_on_everything_serves_every_deletion(tmp_path, monkeypatch):
    sizes, train = [], trained._train
    monkeypatch.setattr(trained, "_train", lambda view, rows, seed: sizes.append(len(rows)) or train(view, rows, seed))
    for name in ("mnist-random50", "cifar10-perclass"):
        reproduce(find(name), Place(folder=tmp_path, scale="smoke"))
    whole = max(sizes)
    assert sizes.count(whole) == 1
    assert len(sizes) == 3


def _noisy(method):
    return method.steps * getattr(getattr(method, "design", None), "k", 1 if method.name == "nft" else 2)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_laptop_runs_as_many_steps_as_it_says_and_paper_scale_is_the_papers(recipe):
    assert recipe.at("paper") is recipe
    small = recipe.at("laptop")
    if not any(panel.workload in LAPTOP for panel in recipe.panels):
        assert small == recipe
        return
    assert small.seeds == 1
    assert "Scaled" in small.scaled
    for panel in small.panels:
        total = LAPTOP[panel.workload].steps
        assert f"{total} steps a line" in small.scaled
        for line in panel.lines:
            if line.method.name in ("nft", "blockwise_nft"):
                assert _noisy(line.method) + line.method.fine_tune.steps == total
            if line.method.name == "from_public":
                assert line.method.recipe.steps == total
    ran = {panel.title: {line.label for line in panel.lines} for panel in small.panels}
    for panel in recipe.panels:
        left = {panel.title} if panel.title not in ran else {line.label for line in panel.lines} - ran[panel.title]
        assert all(name in small.scaled for name in left)


def test_every_line_of_the_paper_has_its_thousand_steps():
    for recipe in RECIPES:
        for panel in recipe.panels:
            for line in panel.lines:
                if line.method.name in ("nft", "blockwise_nft"):
                    assert _noisy(line.method) + line.method.fine_tune.steps == STEPS, line.label


def test_what_the_papers_noise_keeps_is_computed_from_its_own_sigma():
    line = find("mnist-random10").panels[0].lines[0].method
    found = papers_noise(line)
    schedule = {"step_size": line.step_size, "weight_decay": line.weight_decay, "clip": line.clip}
    mu = gaussian.mu(found["epsilon"], line.delta)
    assert sigma(mu, line.proximity, **schedule, steps=line.steps) == pytest.approx(found["papers_sigma"], rel=1e-6)
    assert found["epsilon"] > line.epsilon
    assert not found["valid"]["gaussian"]


def test_some_panels_alone_can_be_run_and_the_page_names_the_others(folder):
    chosen = Place(folder=folder, scale="paper", panels=("ε = 60",))
    assert [panel.title for panel in _chosen(find("mnist-random10"), chosen.panels)[0].panels] == ["ε = 60"]
    assert _chosen(find("mnist-random10"), chosen.panels)[1] == ["ε = 30", "ε = 90"]
    document = reproduce(find("mnist-best"), Place(folder=folder, scale="smoke"))
    assert "Not run: ε = 90." in paper.page({**document, "left_out": ["ε = 90"]})
    for name in ("mnist-random10", "budget"):
        with pytest.raises(ConfigError, match="has the panels"):
            reproduce(find(name), Place(folder=folder, panels=("ε = 61",)))


def test_the_overview_tells_what_was_run_and_what_was_not(folder):
    documents = [reproduce(find(name), Place(folder=folder, scale="smoke")) for name in ("mnist-class5", "budget")]
    text = paper.overview(documents, {name: experiment.title for name, experiment in EXPERIMENTS.items()})
    for document in documents:
        assert f"## [{document['title']}]({document['name']}.md)" in text
    assert "Block-wise NFT, k = 4 88.06" in text  # the paper's
    assert "| mnist-class5, ε = 75 | 1.684 | 0.5244 | 0.4998 | 75 | 69.59 |" in text
    missing = text.rpartition("Not run: ")[2]
    assert "`mnist-best`" in missing
    assert "`mnist-class5`" not in missing


def test_a_line_that_diverged_agrees_with_nothing():
    ended = [{"audit": {"accuracy": {"test": 0.9, "retain": 0.5}}}]
    assert agreement(ended, {"test": 88.0, "retain": 97.0, "seconds": 1.0}) == {"test": True, "retain": False}
    failed = [{"failed": "not finite", "audit": None}]
    assert agreement(failed, {"test": 88.0, "retain": 97.0}) == {"test": False, "retain": False}


def test_an_unknown_experiment_is_refused_in_words():
    with pytest.raises(ConfigError, match="reproduce --list"):
        find("mnist-random11")


def test_two_lines_are_held_apart_only_as_far_as_their_seeds_allow():
    one, close, far = Spread(97.0, None, 1), Spread(97.02, 0.1, 3), Spread(90.0, 0.1, 3)
    other = Spread(96.0, None, 1)
    assert (apart(one, close), doubt(one, close)) == ("level with", "")
    assert (apart(one, other), doubt(one, other)) == ("1.0 points above", "; one seed")
    assert (apart(far, close), doubt(far, close)) == ("7.0 points below", "")
    assert doubt(Spread(97.1, 0.3, 3), close) == "; the seeds differ by more"


def test_a_line_that_diverged_in_some_seeds_is_not_the_best():
    ended = [{"audit": {"accuracy": {"test": value}}} for value in (0.9, 0.8)]
    failed = [{"failed": "not finite", "audit": None}, {"audit": {"accuracy": {"test": 0.99}}}]
    panel = {"lines": [{"label": "steady", "rows": ended}, {"label": "lucky", "rows": failed}]}
    assert best(panel, lambda _: True)[0] == "steady"
