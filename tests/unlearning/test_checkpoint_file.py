"""A checkpoint holds un-noised weights: only its owner reads it, it is deleted, and it leaves nothing behind."""

import os
import pickle
import stat

import pytest
import torch
from interruptible import StopError, run, stop_at
from safetensors import safe_open


@pytest.fixture
def stopped(tmp_path):
    """The checkpoint of a run stopped in its noise phase."""
    path = tmp_path / "run.checkpoint"
    with pytest.raises(StopError):
        run("everything", path, progress=stop_at(7, lambda _: None))
    return path


def test_only_its_owner_may_read_it(tmp_path):
    before = os.umask(0)
    try:
        with pytest.raises(StopError):
            run("everything", tmp_path / "run", progress=stop_at(4, lambda _: None))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o600


@pytest.mark.parametrize("which", ["the file", "what a kill left of it"])
def test_an_old_file_of_other_permissions_does_not_matter(stopped, which):
    old = stopped if which == "the file" else stopped.with_name(f".{stopped.name}.partial")
    old.touch()
    old.chmod(0o666)
    with pytest.raises(StopError):
        run("everything", stopped, progress=stop_at(2, lambda _: None))
    assert stat.S_IMODE(stopped.stat().st_mode) == 0o600


def test_it_is_deleted_at_the_end_and_leaves_nothing(stopped):
    run("everything", stopped)
    assert list(stopped.parent.iterdir()) == []


def test_what_a_kill_left_behind_while_writing_is_deleted_too(tmp_path):
    """A process that died between opening and renaming leaves weights under a name of its own."""
    path = tmp_path / "run.checkpoint"
    process = os.fork()
    if process == 0:
        os.replace = lambda *_: os._exit(9)  # the last moment before the file has its name
        run("everything", path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 9
    assert len(list(tmp_path.iterdir())) == 1
    run("everything", path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")  # by chance, of a file whose header has such a length
def test_it_is_safetensors_and_json_and_no_pickle(stopped):
    with safe_open(stopped, framework="pt") as file:
        assert '"fingerprint"' in file.metadata()["state"]
        assert len(list(file.keys())) > 5
    content = stopped.read_bytes()
    assert b"PK\x03\x04" not in content[:4]
    assert b"ctorch" not in content
    with pytest.raises(pickle.UnpicklingError):
        torch.load(stopped, weights_only=True)


def test_it_holds_no_key_of_the_noise(tmp_path, monkeypatch):
    key = b"0123456789abcdef0123456789abcdef"
    monkeypatch.setattr("expunge.unlearning.noise.os.urandom", lambda n: key[:n])
    with pytest.raises(StopError):
        run("Adam", tmp_path / "run", simulate=None, progress=stop_at(3, lambda _: None))
    content = (tmp_path / "run").read_bytes()
    assert key not in content
    assert key.hex().encode() not in content
