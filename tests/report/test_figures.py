import json
from dataclasses import asdict, replace

import pytest

from expunge.report import from_dict
from expunge.report.figures import FIGURES, figures
from expunge.report.figures.figure import MOST_ROWS, Axis, Figure, Series
from expunge.report.summary import main_method, summaries


def all_of(results):
    return {figure.name: figure for section in figures(results).values() for figure in section}


def test_every_section_of_the_example_has_a_figure(results):
    assert all(figures(results).values())
    names = [figure.name for section in figures(results).values() for figure in section]
    assert len(names) == len(set(names))


def test_results_without_measurements_have_no_figures(asked):
    assert figures(from_dict(asked)) == {section: [] for section in FIGURES}


def test_figures_are_plain_data(results):
    for figure in all_of(results).values():
        json.dumps(asdict(figure), allow_nan=False)


def test_figures_show_the_numbers_of_the_results(results):
    found, certificate = all_of(results), results.certificate
    assert found["privacy"].series[1].points == ((certificate.guarantee.delta, certificate.epsilon),)
    assert found["recertification"].series[1].points == ((certificate.proximity.gap, certificate.epsilon),)
    gaps = sorted(pair.gap.total for pair in results.calibration.pairs)
    assert [y for _, y in found["gaps"].series[0].points] == gaps
    assert [y for _, y in found["trajectory"].series[-1].points][-1] == gaps[-1]
    noise = found["progress-noise"]
    assert noise.series[0].points[0] == (0.0, results.asked.model.accuracy)
    assert [mark.label for mark in noise.marks] == ["block 0", "block 1", "block 2", "block 3", "retrained"]
    signal = {series.name: series for series in found["signal-layers"].series}
    assert [x for x, _ in signal["noise"].points] == [layer.noise for layer in results.signal.layers]


def test_accuracy_has_a_row_per_method_and_retraining_is_last(results):
    figure = all_of(results)["accuracy"]
    assert figure.y.places[0] == "Block-wise NFT"
    assert figure.y.places[-1] == "Retraining"
    tested = next(series for series in figure.series if series.name == "test data")
    assert tested.points[0][0] == results.comparison.rows[0].audit.accuracy.test


def test_roc_is_cut_at_a_decade_and_zeros_lie_on_its_edge(results):
    figure = all_of(results)["roc"]
    low = figure.x.limits[0]
    assert low in (1e-2, 1e-3, 1e-4)
    assert figure.x.drawn(0.0) == figure.y.drawn(0.0) == low
    assert figure.series[-1].quiet


def test_the_strongest_attack_with_curves_is_drawn(values):
    for row in values["comparison"]["rows"]:
        row["audit"]["mia"]["lira"] = row["audit"]["mia"]["loss_threshold"]
    assert "LiRA" in all_of(from_dict(values))["roc"].title


def test_seeds_become_a_spread(values):
    rows = values["comparison"]["rows"]
    again = json.loads(json.dumps(rows))
    for row in again:
        row["seed"], row["audit"]["accuracy"]["test"] = 1, row["audit"]["accuracy"]["test"] - 0.02
    values["comparison"]["rows"] = rows + again
    tested = next(s for s in all_of(from_dict(values))["accuracy"].series if s.name == "test data")
    assert tested.spread[0] == pytest.approx((0.01, 0.01))


def test_a_number_that_one_seed_lacks_is_not_averaged(values):
    rows = values["comparison"]["rows"]
    rows.append({**rows[0], "seed": 1, "audit": None})
    assert summaries(from_dict(values))[0].accuracy("test") is None


def test_the_main_method_is_the_certified_one_that_is_no_baseline(results):
    assert main_method(replace(results, method=None)) == "blockwise_nft"


def test_a_single_snapshot_has_no_trajectory(values):
    for pair in values["calibration"]["pairs"]:
        pair["trajectory"] = pair["trajectory"][-1:]
    assert [figure.name for figure in figures(from_dict(values))["calibration"]] == ["gaps"]


def test_failed_pairs_have_no_gap(values):
    values["calibration"]["pairs"][0] = {"pair": 0, "failed": "DataError: diverged"}
    assert len(all_of(from_dict(values))["gaps"].series[0].points) == 9


def test_many_layers_are_cut_to_the_noisiest(values):
    values["signal"]["layers"] = [
        {"name": f"layer {i}", "dimension": 1, "noise": 1.0 + i, "weights": 1.0} for i in range(200)
    ]
    figure = all_of(from_dict(values))["signal-layers"]
    assert len(figure.y.places) == MOST_ROWS
    assert figure.y.places[-1] == "layer 199"
    assert f"The {MOST_ROWS} noisiest of 200 are shown." in figure.says


def test_weights_that_are_all_zero_have_no_place_on_a_log_axis(values):
    values["signal"]["layers"][1]["weights"] = 0.0
    weights = all_of(from_dict(values))["signal-layers"].series[0]
    assert len(weights.points) == len(values["signal"]["layers"]) - 1


def line(name, points, **options):
    return Series(name, tuple(points), "blue", **options)


def test_a_table_has_a_column_per_series_and_a_row_per_x():
    figure = Figure(
        "f", "", "", Axis("x"), Axis("y", percent=True), (line("a", [(1, 0.5)]), line("b", [(1, 1), (2, 0)]))
    )
    table = figure.table()
    assert table.columns == ("x", "a", "b")
    assert table.rows == (("1", "50.0 %", "100.0 %"), ("2", "", "0.0 %"))


def test_a_table_of_a_staircase_says_what_was_reached_by_then():
    steps = (line("a", [(0, 0), (1, 5)], shape="steps"), line("b", [(0.5, 1)], shape="steps"))
    assert Figure("f", "", "", Axis("x"), Axis("y"), steps).table().rows == (
        ("0", "0", ""),
        ("0.5", "0", "1"),
        ("1", "5", "1"),
    )


def test_a_long_table_says_what_it_leaves_out():
    table = Figure("f", "", "", Axis("x"), Axis("y"), (line("a", [(i, i) for i in range(100)]),)).table()
    assert len(table.rows) <= MOST_ROWS + 1
    assert table.rows[-1] == ("99", "99")
    assert table.note == "One row in 3 is shown, and the last."
