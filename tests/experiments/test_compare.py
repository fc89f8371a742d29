"""A comparison: what it holds, that finished cells are not run again, and what it refuses."""

import csv
import json

import pytest
import torch

from expunge import experiments, report
from expunge.errors import ConfigError, DataError
from expunge.experiments import (
    ALWAYS,
    Request,
    brief,
    cell,
    compare,
    markdown,
    results,
    settings_of,
    summarise,
    table,
    write_csv,
)
from expunge.experiments.case import open_view
from expunge.experiments.meter import silent
from expunge.experiments.settings import SETTINGS, build
from expunge.experiments.store import Store
from expunge.experiments.trained import training_task
from expunge.experiments.work import run_each
from expunge.methods import METHODS
from expunge.report.words import label
from expunge.unlearning import FineTune
from expunge.workloads import RECIPES, ClassDeletion, RandomDeletion

pytest.importorskip("sklearn")
QUICK = {name: {"fine_tune.steps": 10} for name in ("output_perturbation", "nft")} | {
    "from_public": {"recipe.steps": 10}
}


def request(**changes):
    values = {
        "workload": "digits-mlp",
        "deletion": ClassDeletion(5),
        "epsilon": 10.0,
        "delta": 1e-5,
        "proximity": 2.0,
        "methods": ("nft", "fine_tune"),
        "changes": {"epochs": 2},
        "simulate": True,
        "settings": {**QUICK, "fine_tune": {"steps": 10}},
    }
    return Request(**{**values, **changes})


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A finished comparison, and its folder."""
    folder = tmp_path_factory.mktemp("cells")
    return compare(request(), folder), folder


def test_the_document_says_what_was_done(kept):
    document, _ = kept
    json.dumps(document, allow_nan=False)
    assert document["schema"] == "expunge.comparison/1"
    assert (document["workload"], document["seeds"]) == ("digits-mlp", [0])
    assert document["deletion"] == {"kind": "class", "label": 5}
    assert [row["method"] for row in document["rows"]] == [*ALWAYS, "nft", "fine_tune"]
    for row in document["rows"]:
        assert row["kind"] == METHODS[row["method"]].kind
        assert (row["guarantee"] is not None) == (row["kind"] == "certified")
        assert {"accuracy", "ua", "mia", "to_retrained", "warnings"} <= row["audit"].keys()
        assert row["audit"]["accuracy"]["test_retained_classes"] is not None
    guarantee = next(row["guarantee"] for row in document["rows"] if row["method"] == "nft")
    assert guarantee["epsilon"] == pytest.approx(10.0)
    assert guarantee["unconditional_delta"] == 1.0  # a bare number says nothing of its failure
    assert guarantee["simulated"] is True


def test_retraining_is_held_against_itself_and_relative_cost_is_its_share(kept):
    document, _ = kept
    rows = {row["method"]: row for row in document["rows"]}
    retrain = rows["retrain"]
    assert retrain["audit"]["to_retrained"]["weights"] == 0.0
    assert retrain["audit"]["to_retrained"]["kl"] == 0.0
    assert (retrain["relative_steps"], retrain["relative_seconds"]) == (1.0, 1.0)
    retained = 1438 - sum(1 for label in open_view(request()).labels.tolist() if label == 5)
    assert retrain["samples"] == 2 * retained
    assert retrain["steps"] == 2 * -(-retained // 64)
    assert rows["fine_tune"]["relative_steps"] == 10 / retrain["steps"]
    assert rows["fine_tune"]["audit"]["to_retrained"]["weights"] > 0.0


def test_curves_go_through_noise_and_recovery(kept):
    document, _ = kept
    curve = next(row["curve"] for row in document["rows"] if row["method"] == "nft")
    assert [point["phase"] for point in curve][:2] == ["noise", "fine-tune"]
    assert curve[-1]["step"] == 10
    assert all(0.0 <= point["test_accuracy"] <= 1.0 for point in curve)


def test_finished_cells_are_not_run_again_and_changed_ones_are(kept, monkeypatch):
    document, folder = kept
    ran = []
    run = cell._run
    monkeypatch.setattr(cell, "_run", lambda r, s, method, seed: ran.append(method.name) or run(r, s, method, seed))
    again = compare(request(), folder)
    assert ran == []
    assert again["rows"] == document["rows"]
    (folder / "nft-0.json").unlink()
    compare(request(), folder)
    assert ran == ["nft"]
    changed = {**QUICK, "fine_tune": {"steps": 12}}
    compare(request(settings=changed), folder)
    assert ran == ["nft", "fine_tune"]
    compare(request(epsilon=20.0, settings=changed), folder)
    assert ran[2:] == ["output_perturbation", "nft"]


def test_a_cell_that_was_audited_with_fewer_models_is_run_again(tmp_path):
    few = {"methods": ("fine_tune",), "without": ALWAYS, "changes": {"epochs": 1}}
    models = [compare(request(**few, shadows=n), tmp_path)["rows"][0]["audit"]["mia"]["lira"]["models"] for n in (0, 2)]
    assert models == [1, 3]


def test_seeds_in_two_processes_are_those_of_one(tmp_path):
    chosen = request(methods=("fine_tune",), without=ALWAYS, seeds=(0, 1), changes={"epochs": 1}, shadows=0)
    alone = compare(chosen, tmp_path)["rows"]
    for file in tmp_path.glob("fine_tune-*.json"):
        file.unlink()
    cells = [
        (chosen, Store(tmp_path, chosen.describe()), build(chosen, s)["fine_tune"], s, "fine_tune") for s in (0, 1)
    ]
    beside = run_each(cell.run_cell, cells, "methods", workers=2, ray=None, progress=silent)
    for one, other in zip(alone, sorted(beside, key=lambda row: row["seed"]), strict=True):
        apart = [row["audit"]["to_retrained"]["weights"] for row in (one, other)]
        assert apart[0] == pytest.approx(apart[1], rel=1e-3)
        assert (one["seed"], one["steps"]) == (other["seed"], other["steps"])


def test_the_same_request_gives_the_same_numbers(kept, tmp_path):
    def plain(document):
        times = ("seconds", "relative_seconds", "details")
        return [{key: value for key, value in row.items() if key not in times} for row in document["rows"]]

    chosen = request(methods=("fine_tune",), without=("from_public",))
    names = [row["method"] for row in compare(chosen, tmp_path)["rows"]]
    assert names == ["retrain", "output_perturbation", "fine_tune"]
    fresh = plain(compare(chosen, tmp_path))
    assert [row for row in plain(kept[0]) if row["method"] in names and row["method"] != "fine_tune"] == fresh[:2]


def test_the_honest_baselines_come_along_unless_they_are_left_out():
    assert request(methods=("salun",)).chosen == (*ALWAYS, "salun")
    assert request(methods=("salun",), without=ALWAYS).chosen == ("salun",)
    assert request(methods=None).chosen == tuple(METHODS)


def test_a_method_that_diverges_is_a_result_too(tmp_path):
    wild = request(methods=("fine_tune",), without=ALWAYS, settings={"fine_tune": {"lr": 1e7, "steps": 60}})
    document = compare(wild, tmp_path)
    (row,) = document["rows"]
    assert "no longer finite" in row["failed"] or "NaN or infinite" in row["failed"]
    assert (row["audit"], row["guarantee"]) == (None, None)
    before, line = summarise(document)
    assert (line.method, line.seeds, line.failed) == ("fine_tune", 0, 1)
    assert all(value is None for value in line.columns.values())
    assert before.method == "(before)"


def test_retrained_models_never_see_what_goes_and_shadows_differ():
    chosen = request()
    view, parts = open_view(chosen), chosen.split(0)
    seen = []
    stream = view.workload.stream(parts.retain)
    assert not set(stream.index_map.tolist()) & set(parts.forget.tolist())
    for seed in (0, 1):
        model = training_task(view, parts.retain, seed).fresh()
        seen.append(next(model.parameters()).detach().clone())
    assert not torch.equal(*seen)
    assert {int(label) for label in view.labels[parts.forget]} == {5}


def test_calibration_has_seeds_and_deletions_of_its_own(tmp_path):
    chosen = request(deletion=RandomDeletion(0.1), proximity=0.0, changes={"epochs": 1})
    found = experiments.calibrated(chosen, tmp_path, pairs=2)
    assert found.proximity.failure == pytest.approx(1 / 3)
    assert found.proximity.gap > 0.0
    written = json.loads((tmp_path / "proximity.json").read_text())
    pairs = {pair["forget_sha256"] for pair in written["pairs"]}
    assert chosen.split(0).forget_sha256 not in pairs
    assert len({pair["seed"] for pair in written["pairs"]}) == 2
    assert not {pair["seed"] for pair in written["pairs"]} & {0, 1, 2, 3, 4}


def row(method, kind, seed, ua, epsilon=None):
    guarantee = None if epsilon is None else {"epsilon": epsilon}
    accuracy = {"retain": 0.9, "test": 0.8, "test_retained_classes": None}
    audit = {"ua": ua, "accuracy": accuracy, "mia": {"svc_confidence": {"efficacy": 0.5, "roc": [[0.0, 0.0]]}}}
    common = {"method": method, "kind": kind, "seed": seed, "guarantee": guarantee}
    return {**common, "seconds": 2.0, "relative_steps": 0.5, "audit": audit}


def test_means_deviations_and_gaps_by_hand(tmp_path):
    rows = [row("retrain", "exact", s, ua) for s, ua in ((0, 0.2), (1, 0.4))]
    rows += [row("nft", "certified", s, ua, e) for s, ua, e in ((0, 0.5, 9.0), (1, 0.9, 10.0))]
    document = {"rows": rows, "originals": [{"seed": 0, "seconds": 1.0, "audit": rows[0]["audit"]}]}
    before, retrain, nft = summarise(document)
    assert nft.columns["UA"].mean == pytest.approx(0.7)
    assert nft.columns["UA"].deviation == pytest.approx(0.2 * 2**0.5)
    assert nft.columns["UA"].gap == pytest.approx(0.4)
    assert retrain.columns["UA"].gap == 0.0
    assert (nft.epsilon, nft.seeds, before.epsilon) == (10.0, 2, None)
    assert nft.columns["TA retained"] is None
    assert nft.columns["LiRA"] is None
    assert before.columns["UA"].deviation is None
    write_csv(document, tmp_path / "table.csv")
    with (tmp_path / "table.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["UA"] for line in lines] == ["0.2", "0.4", "0.5", "0.9"]
    assert lines[2]["epsilon"] == "9.0"


def test_a_method_with_fewer_seeds_is_held_against_retraining_with_the_same(tmp_path):
    rows = [row("retrain", "exact", s, ua) for s, ua in ((0, 0.2), (1, 0.4), (2, 0.9))]
    rows += [row("amun", "empirical", 0, 0.25), row("nft", "certified", 0, 0.25, 9.0)]
    rows += [{**row("nft", "certified", 1, 0.0), "audit": None, "failed": "it diverged"}]
    originals = [{"seed": 0, "seconds": 1.0, "audit": rows[0]["audit"]}]
    place = {"gpu": None, "processor": "an abacus", "threads": 1, "torch": "2"}
    head = {"workload": "digits-mlp", "scale": "laptop", "deletion": {"kind": "class", "label": 5}, "seeds": [0, 1, 2]}
    target = {"epsilon": 10.0, "delta": 1e-5, "accountant": "gaussian"}
    document = {**head, "machine": place, "target": target, "command": "expunge compare", "created": "2026-01-02T03:04"}
    document |= {"rows": rows, "originals": originals}
    _, _, amun, nft = summarise(document)
    assert amun.columns["UA"].gap == pytest.approx(0.05)
    assert nft.columns["UA"].gap == pytest.approx(0.05)  # of the seed that ended well
    titles, (_, retrain, *rest) = table(document)
    assert titles[:4] == ["method", "kind", "ε", "UA"]
    assert retrain[3] == "50.0 ± 36.1 (+0.0)"
    assert [cells[0] for cells in rest] == ["amun (1 of 3 seeds)", "nft (1 failed, 2 of 3 seeds)"]
    assert [cells[3] for cells in rest] == ["25.0 (+5.0)"] * 2
    text = markdown(document)
    assert text.splitlines()[0] == f"| {' | '.join(titles)} |"
    assert len({line.count("|") for line in text.splitlines()[: 2 + 4]}) == 1
    assert "an abacus, 1 threads, torch 2; 2026-01-02" in text
    assert "class 5, seeds 0, 1, 2; certified at ε = 10, δ = 1e-05" in text


def test_slow_methods_may_have_fewer_seeds():
    chosen = request(seeds=(4, 5, 6), fewer={"nft": 2})
    assert chosen.seeds_of("nft") == (4, 5)
    assert chosen.seeds_of("fine_tune") == (4, 5, 6)


def test_a_brief_row_lacks_curves_and_nothing_else(kept):
    document, _ = kept
    full = next(row for row in document["rows"] if row["method"] == "nft")
    short = brief(full)
    assert full.keys() - short.keys() == {"curve"}
    assert full["details"].keys() - short["details"].keys() == {"noise"}
    for name, attack in full["audit"]["mia"].items():
        assert short["audit"]["mia"][name] == {key: value for key, value in attack.items() if key != "roc"}
    assert brief(full, curve=True)["curve"] == full["curve"]
    assert len(json.dumps(short)) < len(json.dumps(full)) / 2
    shortened = {**document, "rows": [brief(row) for row in document["rows"]]}
    assert summarise(shortened) == summarise(document)


def test_a_comparison_makes_a_page_that_claims_no_certificate(kept):
    document, _ = kept
    found = report.from_dict(json.loads(json.dumps(results(request(), document))))
    assert found.asked.deletion.removed == int((open_view(request()).labels == 5).sum())
    assert report.statement(found).state == "none"
    assert "releases no model" in report.statement(found).plain
    page = report.render(found)
    assert all(label(row["method"]) in page for row in document["rows"])


def test_every_workload_has_settings_that_build():
    assert set(SETTINGS) == set(RECIPES)
    for deletion in (RandomDeletion(0.1), ClassDeletion(5)):
        for workload, scale in SETTINGS:
            chosen = request(workload=workload, scale=scale, deletion=deletion, methods=None, settings={})
            assert tuple(build(chosen, 0)) == tuple(METHODS)


def test_training_from_the_public_initialisation_takes_as_many_steps_as_the_certified_methods():
    methods, settings = build(request(methods=None, settings={}), 0), settings_of("digits-mlp", "laptop")
    blockwise = methods["blockwise_nft"]
    assert methods["from_public"].recipe.steps == blockwise.fine_tune.steps + blockwise.design.k * blockwise.steps
    assert settings.recovery.steps == blockwise.fine_tune.steps
    assert isinstance(methods["from_public"].recipe, FineTune)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"methods": ("magic",)}, "there is no method 'magic'; they are retrain, from_public"),
        ({"without": ("magic",)}, "there is no method 'magic'"),
        ({"settings": {"magic": {}}}, "there is no method 'magic'"),
        ({"fewer": {"magic": 1}}, "there is no method 'magic'"),
        ({"fewer": {"nft": 2}}, "nft can have 1 to 1 of the 1 seeds; got 2"),
        ({"fewer": {"nft": 0}}, "nft can have 1 to 1 of the 1 seeds; got 0"),
        ({"seeds": ()}, "seeds must be one or more"),
        ({"seeds": (1, 1)}, "seeds must be one or more, each once"),
        ({"epsilon": 0.0}, "epsilon must be a finite number, above 0"),
        ({"delta": 1.0}, "delta must be"),
        ({"shadows": -1}, "shadows must be a whole number"),
    ],
)
def test_wrong_requests(changes, told):
    with pytest.raises(ConfigError) as error:
        request(**changes)
    assert told in str(error.value)


def test_settings_that_do_not_exist_are_named(kept):
    for changes in ({"lrr": 1.0}, {"lr.x": 1.0}, {"nothing.x": 1.0}):
        with pytest.raises(ConfigError, match=r"fine_tune cannot be set so .* Its settings are: epochs, steps, lr"):
            build(request(settings={"fine_tune": changes}), 0)
    with pytest.raises(ConfigError, match=r"retrain cannot be set so .* Its settings are: none"):
        build(request(settings={"retrain": {"lr": 1.0}}), 0)


def test_a_folder_belongs_to_one_comparison(kept):
    _, folder = kept
    with pytest.raises(ConfigError, match="holds another comparison"):
        compare(request(changes={"epochs": 3}), folder)
    (folder / "fine_tune-0.json").write_text("{")
    with pytest.raises(DataError, match=r"is damaged .* Delete it"):
        compare(request(), folder)
    (folder / "fine_tune-0.json").unlink()


def test_a_class_that_does_not_exist(tmp_path):
    with pytest.raises(DataError, match="removes nothing: label 12"):
        compare(request(deletion=ClassDeletion(12)), tmp_path)
