"""The picture of a trajectory."""

import pytest
from runs import Diverging, Fixed, Points, train, watched

from expunge import RandomDeletion
from expunge.calibration import calibrate, plot_trajectory
from expunge.calibration.plot import _gaps
from expunge.errors import ConfigError

figures = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed: pip install 'expunge[report]'")


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_trajectory_is_drawn(tmp_path, ending):
    path = tmp_path / f"trajectory.{ending}"
    plot_trajectory(calibrate(watched, Points(), RandomDeletion(0.1), pairs=3), path)
    assert path.stat().st_size > 1000


def test_the_curves_are_the_gaps_from_a_common_start_and_the_strong_one_is_the_largest():
    found = calibrate(watched, Points(), RandomDeletion(0.1), pairs=3)
    axes = figures.Figure().subplots()
    _gaps(axes, list(found.pairs), found.steps)
    *curves, largest = [line.get_ydata() for line in axes.get_lines()]
    assert [list(curve)[1:] for curve in curves] == [
        [point["gap"]["total"] for point in pair["trajectory"]] for pair in found.pairs
    ]
    assert [max(at) for at in zip(*curves, strict=True)] == list(largest)
    assert largest[0] == 0


def test_failed_pairs_are_left_out_and_the_title_says_so(tmp_path):
    found = calibrate(Diverging("raise", missing=2), Points(), Fixed(((1,), (2,), (3,))), pairs=3)
    several = calibrate(watched, Points(), Fixed(((1,), (2,), (3,))), pairs=3)
    mixed = several.__class__(several.proximity, (several.pairs[0], found.pairs[1], several.pairs[2]), several.coupling)
    plot_trajectory(mixed, tmp_path / "t.svg")
    assert (tmp_path / "t.svg").exists()


def test_without_a_trajectory_there_is_nothing_to_draw(tmp_path):
    with pytest.raises(ConfigError, match="no trajectory"):
        plot_trajectory(calibrate(train, Points(), RandomDeletion(0.1), pairs=1), tmp_path / "t.png")


def test_an_unknown_format_is_refused_in_words(tmp_path):
    with pytest.raises(ConfigError, match=r"\.png, \.svg or \.pdf"):
        plot_trajectory(calibrate(watched, Points(), RandomDeletion(0.1), pairs=1), tmp_path / "t.doc")
