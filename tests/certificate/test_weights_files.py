"""A file of weights is data, never a program; whatever else it is, is refused."""

import io
import pickle
import zipfile

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from expunge import DataError, weights


class Malicious:
    """Unpickling it writes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("kind", ["torch", "old torch", "pickle", "zip"])
def test_a_file_with_code_in_it_is_refused_and_the_code_is_not_run(tmp_path, kind):
    path, proof = tmp_path / "model.pt", tmp_path / "the code was run"
    evil = {"weight": torch.ones(2), "evil": Malicious(proof)}
    if kind == "pickle":
        path.write_bytes(pickle.dumps(evil["evil"]))
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("archive/data.pkl", pickle.dumps(evil["evil"]))
            file.writestr("archive/version", "3")
    else:
        torch.save(evil, path, _use_new_zipfile_serialization=kind == "torch")
    with pytest.raises(DataError):
        weights.load(path)
    assert not proof.exists()
    pickle.loads(pickle.dumps(Malicious(proof))).close()
    assert proof.exists()  # it would have been


def test_what_is_no_file_of_weights_is_refused(tmp_path):
    content = io.BytesIO()
    torch.save({"a": torch.ones(100)}, content)
    whole = {"cut.pt": content.getvalue()[:-50], "text.pt": b"hello", "empty.pt": b"", "empty.safetensors": b""}
    save_file({"a": torch.ones(100)}, tmp_path / "whole.safetensors")
    whole["cut.safetensors"] = (tmp_path / "whole.safetensors").read_bytes()[:-50]
    whole["long.safetensors"] = b"\xff" * 64
    whole["torch.safetensors"], whole["safetensors.pt"] = (
        content.getvalue(),
        (tmp_path / "whole.safetensors").read_bytes(),
    )
    for name, bytes_ in whole.items():
        (tmp_path / name).write_bytes(bytes_)
    for name, value in (("list.pt", [torch.ones(1)]), ("number.pt", {"a": 3}), ("module.pt", nn.Linear(1, 1))):
        torch.save(value, tmp_path / name)
    for name in (*whole, "list.pt", "number.pt", "module.pt", "missing.pt", "missing.safetensors", ".", "no/where.pt"):
        with pytest.raises(DataError):
            weights.load(tmp_path / name)
