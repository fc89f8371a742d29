"""[reset]: a core that is kept, from the project file to the page."""

import json

import pytest

from expunge import certificate
from expunge.errors import ConfigError

CORE = '[reset]\nrank = 2\nsteps = 6\n[mechanism]\ndesign = "Whole"'


@pytest.fixture
def core(place):
    place.change("[mechanism]\nblocks = 2\nclip = 1.0", f"{CORE}\nclip = 0.0")
    return place


def test_a_core_is_calibrated_noised_certified_and_reported(core):
    core.run()
    run = core.folder / "run"
    findings = certificate.verify(run / "certificate.json", run / "unlearned.safetensors")
    assert "reset part" in {finding.name for finding in findings}
    made, pairs = (json.loads((run / name).read_text()) for name in ("certificate.json", "proximity.json"))
    assert [block["dimension"] for block in made["hops"][-1]["blocks"]] == [4]
    assert all(pair["gap"]["total"] < pair["gap"]["everywhere"] for pair in pairs["pairs"])
    rows = {row["method"]: row for row in json.loads((run / "comparison.json").read_text())["rows"]}
    assert rows["from_public"]["steps"] == rows["blockwise_nft"]["steps"] == 6 + 2 + 12
    assert rows["output_perturbation"]["guarantee"]["epsilon"] == pytest.approx(20.0, rel=1e-3)
    assert (run / "report.html").exists()


def test_another_core_is_another_calibration(core):
    core.run("plan")
    core.change("rank = 2", "rank = 1")
    assert core.fresh("plan") == ["calibrate", "plan"]


def test_the_core_is_the_block(place):
    place.change("[mechanism]", "[reset]\nrank = 2\n[mechanism]")
    with pytest.raises(ConfigError, match="must be \"Whole\"; got 'Permutation'"):
        place.load()
