"""One test on a real cluster of two nodes: starting Ray takes longer than all the pairs together."""

import os
import warnings
from importlib import import_module
from pathlib import Path

import pytest
from runs import Deadly, Fixed, Points, mistaken, train

from expunge.calibration import calibrate
from expunge.errors import ConfigError

SINGLES = Fixed(((1,), (2,), (3,), (4,)))


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_of_two_nodes_measures_the_same_and_survives_a_killed_worker(tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'expunge[ray]'")
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            cluster.add_node(num_cpus=1)
            there = {"pairs": 4, "ray": cluster.address}
            found = calibrate(Deadly(tmp_path, 3), Points(), SINGLES, **there, folder=tmp_path / "kept")
            with pytest.raises(ConfigError, match=r"a Ray node cannot run it.*No module named 'only_here'"):
                calibrate(_unknown_elsewhere(tmp_path, monkeypatch), Points(), SINGLES, **there, folder=tmp_path / "no")
            with pytest.raises(AttributeError, match="no_such_thing"):
                calibrate(mistaken, Points(), SINGLES, **there, folder=tmp_path / "mistaken")
        finally:
            cluster.shutdown()
    assert (tmp_path / "killed").exists()
    here, there = calibrate(train, Points(), SINGLES, pairs=4).pairs, found.pairs
    for first, second in zip(here, there, strict=True):
        assert {**first, "seconds": 0} == {**second, "seconds": 0}


def _unknown_elsewhere(folder, monkeypatch):
    """A training function in a module that no node can import."""
    (folder / "only_here.py").write_text(
        "from runs import train\n\n\ndef own(stream, seed):\n    return train(stream, seed)\n"
    )
    monkeypatch.syspath_prepend(folder)
    return import_module("only_here").own


@pytest.mark.filterwarnings("ignore")
def test_where_no_cluster_answers_it_says_so(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'expunge[ray]'")
    with pytest.raises(ConfigError, match=r"no Ray cluster answers at 'no-scheme://x'.*ray start --head"):
        calibrate(train, Points(), SINGLES, pairs=1, ray="no-scheme://x", folder=tmp_path)
