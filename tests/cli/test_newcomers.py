"""What newcomers get wrong, and that one line tells them what to do about it."""

import json

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from expunge import calibrate, weights
from expunge.workloads import RandomDeletion

OWN = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

def model(): return nn.Linear(2, 3)
def deep(): return nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
def half(): return model().half()
def frozen(): return model().requires_grad_(False)
def half_frozen():
    made = model()
    made.bias.requires_grad_(False)
    return made
def sized(width): return nn.Linear(width, 3)
def samples(): return TensorDataset(torch.arange(80.0).view(40, 2) / 80, torch.arange(40) % 3)
def kept(): return DataLoader(Subset(samples(), range(4, 40)), 12)
def alone(): return DataLoader(Subset(samples(), range(5, 40)), 17)  # 17, 17, and a last batch of one
def everything(): return DataLoader(Subset(samples(), range(40)), 10)
def plain(): return [tuple(samples()[5:9])]
def nothing(): return []
def loss(model, batch): return nn.functional.cross_entropy(model(batch[0]), batch[1])
def each(model, batch): return nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="none")
def lost(model, batch): return loss(model, batch) * float("nan")
def missing_file(): return open("prices.csv")
def train(stream, seed): model()
"""
PROJECT = """
[model]
factory = "own:model"
train = "own:train"
[data]
dataset = "own:samples"
test = "own:samples"
[deletion]
random = 0.1
[target]
epsilon = 9.0
delta = 1e-5
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with a user's own module, weights, lists and a proximity file."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "own.py").write_text(OWN)
    (folder / "expunge.toml").write_text(PROJECT)
    for name, text in {"forget.txt": "0 1 2 3", "far.txt": "0 999", "names.txt": "alice bob", "none.txt": "\n"}.items():
        (folder / name).write_text(text)
    weights.save(nn.Linear(2, 3).state_dict(), folder / "model.safetensors")
    weights.save(nn.Linear(5, 3).state_dict(), folder / "wide.safetensors")
    torch.save(nn.Linear(2, 3), folder / "whole.pt")
    deep = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    torch.save(deep.state_dict(), folder / "deep.pt")
    torch.save(nn.Linear(2, 3).half().state_dict(), folder / "half.pt")
    data = TensorDataset(torch.arange(80.0).view(40, 2), torch.arange(40) % 3)
    calibrate(lambda stream, seed: _fitted(stream, seed), data, RandomDeletion(0.1), pairs=2).save(
        folder / "of_another.json"
    )
    return folder


def _fitted(stream, seed):
    torch.manual_seed(seed)
    made = nn.Sequential(nn.Linear(2, 3))
    optimizer = torch.optim.SGD(made.parameters(), lr=0.01)
    for inputs, labels in DataLoader(stream, 20, shuffle=True):
        nn.functional.cross_entropy(made(inputs / 80), labels).backward()
        optimizer.step()
    return made


@pytest.fixture
def in_shop(shop, monkeypatch, refused):
    monkeypatch.chdir(shop)
    monkeypatch.syspath_prepend(str(shop))
    return refused


def unlearn(**changes):
    options = {
        "model": "own:model", "weights": "model.safetensors", "data": "own:kept", "proximity": "0.5", "epsilon": "9",
        "delta": "1e-5", "clip": "1", "step-size": "0.1", "forget": "forget.txt",
    }  # fmt: skip
    options |= {name.replace("_", "-"): value for name, value in changes.items()}
    return ["unlearn", *(word for name, value in options.items() if value for word in (f"--{name}", value))]


MISTAKES = {
    "a path that is not there": (unlearn(weights="modle.safetensors"), ["modle.safetensors", "Check the path"]),
    "a module that is not there": (unlearn(model="onw:model"), ["no module 'onw'", "Run from the folder"]),
    "a misspelt function": (unlearn(model="own:modle"), ["no 'modle'", "Did you mean own:model?"]),
    "a dot for a colon": (unlearn(model="own.model"), ["package.module:function", "Did you mean own:model?"]),
    "data for a model": (unlearn(model="own:samples"), ["must return a torch.nn.Module", "TensorDataset"]),
    "a factory that wants arguments": (unlearn(model="own:sized"), ["takes (width)", "will be called as sized()"]),
    "weights of another shape": (unlearn(weights="wide.safetensors"), ["does not fit", "size mismatch", "Name the factory"]),
    "weights of another model": (unlearn(weights="deep.pt"), ["does not fit", "Name the factory"]),
    "a whole model for its weights": (unlearn(weights="whole.pt"), ["state_dict saved with torch.save"]),
    "a CUDA device that is not there": (unlearn(device="cuda"), ["'cuda' is not there", "Use cpu"]),
    "epsilon of zero": (unlearn(epsilon="0"), ["epsilon must be", "above 0", "got 0"]),
    "delta of one": (unlearn(delta="1"), ["delta must be", "below 1"]),
    "a decay that is too strong": (unlearn(weight_decay="10"), ["step_size × weight_decay", "Lower one"]),
    "a proximity file that is not there": (unlearn(proximity="gap.json"), ["neither a number nor a proximity file"]),
    "everything retained": (unlearn(data="own:everything"), ["4 samples of the forget set", "Leave them out"]),
    "batches of nobody knows what": (unlearn(data="own:plain"), ["Subset(dataset, retained_indices)"]),
    "a model that is frozen": (unlearn(model="own:frozen"), ["no trainable parameter", "requires_grad_(True)"]),
    "no batch": (unlearn(data="own:nothing", forget=None), ["gave no batch", "DataLoader"]),
    "a list of names": (unlearn(forget="names.txt"), ["whole numbers", "'alice'"]),
    "an empty list": (unlearn(forget="none.txt"), ["names no sample", "Write the indices"]),
    "an index that no sample has": (unlearn(forget="far.txt"), ["index 999", "40 samples", "Check the list"]),
    "a loss for each sample": (unlearn(loss="own:each"), ["scalar tensor", "(12,)", "Return the mean"]),
    "a loss that is not finite": (unlearn(loss="own:lost"), ["not finite", "lower the step size"]),
    "a folder that is not there": (unlearn(output="new/model.safetensors"), ["there is no folder", "Make it first"]),
    "a command that is not there": (["unlern"], ["Did you mean \"unlearn\"?", "See: expunge --help"]),
    "an option that is not there": (["plan", "--epsilom", "3"], ["--epsilon", "See: expunge plan --help"]),
    "no project": (["run", "--project", "other.toml"], ["other.toml", "`expunge init` writes"]),
    "settings beside a project": (["plan", "--project", "expunge.toml", "--epsilon", "3"], ["those of the file"]),
    "a project that is not yet run": (["recertify", "--project", "expunge.toml"], ["expunge run"]),
    "a training without return": (["run", "train"], ["[model] train must return", "NoneType"]),
    "a certificate for results": (["report", "of_another.json"], ["expunge.results/1", "expunge.calibration/1"]),
    "weights for a ledger": (["account", "model.safetensors", "--proximity", "1", "--delta", "1e-5"], ["no text at all"]),
    "a fraction in percent": (
        ["calibrate", "--train", "own:train", "--dataset", "own:samples", "--deletion", "random:10.0"],
        ["above 0 and below 1, or a whole number of samples", "got 10.0"],
    ),
    "data that are not there": (["train", "--workload", "mnist-mlp", "--data-dir", "."], ["--data-dir", "--download"]),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_line_says_what_to_do(in_shop, mistake):
    words, told = MISTAKES[mistake]
    said = in_shop(*words)
    assert all(part in said for part in told), said


REFUSED = {  # what a certificate could not be true of: exit code 1
    "half precision": (unlearn(model="own:half", weights="half.pt"), ["model.float()"]),
    "frozen weights that nobody declared": (unlearn(model="own:half_frozen"), ["declare it: public=", "unfreeze it"]),
    "the proximity of another model": (
        unlearn(proximity="of_another.json"),
        ["another model", "Calibrate for this one"],
    ),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_cannot_be_certified_is_refused_in_one_line(in_shop, mistake):
    words, told = REFUSED[mistake]
    said = in_shop(*words, code=1)
    assert all(part in said for part in told), said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            unlearn(data="own:missing_file"),
            ["own.py", "prices.csv", "your model, data or loss raised FileNotFoundError"],
        ),
        (unlearn(model="own:deep", weights="deep.pt", data="own:alone", forget=None), ["drop_last=True"]),
    ],
)
def test_what_the_users_code_raises_is_shown_and_explained(in_shop, expunge, words, told):
    code, out, err = expunge(*words)
    assert (code, out) == (2, "")
    assert all(part in err for part in told), err


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("random = 0.1", "class = 7", ["labels", "file of indices"]),
        ("[model]", '[project]\ndevice = "cuda"\n[model]', ["'cuda' is not there", "Use cpu"]),
        ("own:model", "own:sized", ["takes (width)"]),
        ("[target]", '[calibration]\nproximity = "of_another.json"\n[target]', ["another model", "Calibrate"]),
    ],
)
def test_a_project_says_the_same(shop, in_shop, old, new, told):
    file = shop / "wrong.toml"
    file.write_text(PROJECT.replace(old, new).replace('"own:train"', '"own:train"\nweights = "model.safetensors"'))
    code = 1 if "proximity" in new else 2
    said = in_shop("run", "plan" if code == 1 else "train", "--project", file, code=code)
    assert all(part in said for part in told), said


def test_weights_that_were_saved_on_a_gpu_are_read_on_a_cpu(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.serialization, "location_tag", lambda _: "cuda:0")
    torch.save(nn.Linear(2, 3).state_dict(), tmp_path / "gpu.pt")
    assert b"cuda:0" in (tmp_path / "gpu.pt").read_bytes()
    assert {value.device.type for value in weights.load(tmp_path / "gpu.pt").values()} == {"cpu"}


def test_the_certificate_of_another_model_is_not_valid_and_says_whom_to_ask(in_shop, expunge, shop, tmp_path):
    place = tmp_path / "certificate.json"
    assert expunge(*unlearn(output=str(tmp_path / "new.safetensors"), certificate=str(place)), "--quiet")[0] == 0
    said = in_shop("verify", place, "--weights", "model.safetensors", code=1)
    assert "not the certified weights" in said
    assert "Ask for the model that was certified" in said
    made = json.loads(place.read_text())
    made["guarantee"]["epsilon"]["gaussian"] = 0.1
    place.write_text(json.dumps(made))
    assert "NOT VALID" in in_shop("verify", place, code=1)
