"""A clean phase, public state and a clip for each block, from the project file to the certificate."""

import json

import torch

from expunge import certificate

CLEAN = """
[clean]
steps = 20
optimizer = "lbfgs"
lr = 1.0
[mechanism]"""


def issued(place):
    run = place.folder / "run"
    certificate.verify(run / "certificate.json", run / "unlearned.safetensors")
    return json.loads((run / "certificate.json").read_text())


def test_the_gap_is_measured_after_the_clean_phase_that_the_run_begins_with(place):
    place.change("[mechanism]", CLEAN)
    place.change("batch_size = 30", "batch_size = 150")
    place.change('train = "toy:train"', 'train = "toy:train"\nloss = "toy:regularised"')
    place.run("audit")
    made = issued(place)
    assert '"optimizer": "lbfgs"' in made["hops"][-1]["proximity"]["entry"]
    pairs = json.loads((place.folder / "run" / "proximity.json").read_text())["pairs"]
    assert all(pair["gap"]["total"] < pair["gap_as_trained"]["total"] for pair in pairs)
    curve = json.loads((place.folder / "run" / "curve.json").read_text())["curve"]
    assert [point["phase"] for point in curve].count("clean") == 20
    rows = {row["method"]: row for row in json.loads((place.folder / "run" / "comparison.json").read_text())["rows"]}
    assert rows["blockwise_nft"]["steps"] == rows["from_public"]["steps"] == 20 + 4 + 12
    assert rows["output_perturbation"]["kind"] == "certified"


def test_other_clean_phases_are_another_calibration(place):
    place.change("[mechanism]", CLEAN)
    place.run("plan")
    place.change("steps = 20", "steps = 10")
    assert place.fresh("plan") == ["calibrate", "plan"]


def test_frozen_state_is_public_if_the_file_says_so(place):
    place.change("toy:model", "toy:headed")
    place.change("toy:train", "toy:train_head")
    assert "public=" in place.run("unlearn", code=1).err
    place.change("[data]", 'public = ["0.*"]\n[data]')
    place.change("[mechanism]", CLEAN)
    place.run("audit")
    assert issued(place)["run"]["public"]


def test_every_block_may_have_a_clip_of_its_own(place):
    place.change("clip = 1.0", "clip = [0.5, 0.1]")
    place.run("audit")
    clips = [block["steps"][0]["clip"] for block in issued(place)["hops"][-1]["blocks"]]
    assert clips == [0.5, 0.1]
    place.change("clip = [0.5, 0.1]", "clip = [0.5, 0.1, 0.2]")
    assert "have 2 values; got 3" in place.run("plan", code=2).err


def test_threads_are_the_files_while_it_runs(place, monkeypatch):
    import toy

    seen, train = [], toy.train
    monkeypatch.setattr(toy, "train", lambda *words: (seen.append(torch.get_num_threads()), train(*words))[1])
    before = torch.get_num_threads()
    place.change('name = "toy"', f'name = "toy"\nthreads = {before + 1}')
    place.run("train")
    assert seen == [before + 1]
    assert torch.get_num_threads() == before
