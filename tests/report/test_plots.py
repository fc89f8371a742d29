import sys
from xml.etree import ElementTree

import pytest

from expunge.errors import ConfigError
from expunge.report import from_dict, write_figures
from expunge.report.figures import figures

pytest.importorskip("matplotlib", reason="figures for papers need matplotlib: pip install 'expunge[report]'")


def test_every_figure_becomes_two_files(results, tmp_path):
    written = write_figures(results, tmp_path / "new")
    names = {figure.name for section in figures(results).values() for figure in section}
    assert {path.name for path in written} == {f"{name}.{ending}" for name in names for ending in ("png", "svg")}
    for path in written:
        content = path.read_bytes()
        assert len(content) > 2000
        if path.suffix == ".svg":
            ElementTree.fromstring(content)
        else:
            assert content.startswith(b"\x89PNG")


def only(values, *parts):
    return from_dict({name: values[name] for name in ("schema", "created", "asked", *parts)})


def test_the_same_results_give_the_same_files(values, tmp_path):
    few = only(values, "curves")
    first, second = (write_figures(few, tmp_path / name) for name in "ab")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_names_that_look_like_formulas_are_only_names(values, tmp_path):
    values["signal"]["layers"][0]["name"] = "_$\\frac{1}$"
    assert write_figures(only(values, "signal"), tmp_path)


def test_without_matplotlib_it_says_what_to_install(results, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"expunge\[report\]"):
        write_figures(results, tmp_path)
