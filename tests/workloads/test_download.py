"""Downloads, against a server on the loopback interface that can be told to misbehave."""

import gzip
import hashlib
import io
import math
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from expunge.errors import ConfigError, DataError
from expunge.workloads import archive, cifar10, load, mnist
from expunge.workloads.download import Source, fetch

CONTENT = bytes(i * 7 % 256 for i in range(300_000))
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """`files` by name; `cuts`: after how many bytes the next answers break off; every request's Range is noted."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.cuts, self.ranges, self.honours_range, self.status = {}, [], [], True, None
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        pass  # a client that goes away is part of the test


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, name = self.server, self.path.strip("/")
        server.ranges.append(self.headers.get("Range"))
        if server.status or name not in server.files:
            self.send_error(server.status or 404)
            return
        content, start = server.files[name], 0
        if self.headers.get("Range") and server.honours_range:
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        end = start + server.cuts.pop(0) if server.cuts else len(content)
        self.wfile.write(content[start:end])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("EXPUNGE_MIRROR", raising=False)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        running.files["file.gz"] = CONTENT
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def source(server):
    return Source("file.gz", len(CONTENT), SHA256, (server.url,))


def get(source, folder, **options):
    return fetch(source, folder, pause=0.0, timeout=5.0, **options)


def test_a_file_is_downloaded_once_and_progress_is_told(server, source, tmp_path):
    told = []
    path = get(source, tmp_path / "new", progress=lambda *row: told.append(row))
    assert path.read_bytes() == CONTENT
    assert told[-1] == ("file.gz", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})
    assert get(source, tmp_path / "new") == path
    assert server.ranges == [None]
    assert [entry.name for entry in path.parent.iterdir()] == ["file.gz"]


def test_a_cut_connection_is_continued(server, source, tmp_path):
    server.cuts = [100_000, 50_000]
    assert get(source, tmp_path).read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=100000-", "bytes=150000-"]


def test_a_later_run_continues(server, source, tmp_path):
    server.cuts = [120_000]
    with pytest.raises(DataError, match="cut at 120000 of 300000 bytes"):
        get(source, tmp_path, attempts=1)
    assert not (tmp_path / "file.gz").exists()
    assert get(source, tmp_path).read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=120000-"]


def test_a_server_that_ignores_ranges_sends_it_all_again(server, source, tmp_path):
    server.honours_range, server.cuts = False, [100_000]
    assert get(source, tmp_path).read_bytes() == CONTENT


def test_a_damaged_partial_file_is_thrown_away(server, source, tmp_path):
    (tmp_path / "file.gz.part").write_bytes(b"x" * 1000)
    assert get(source, tmp_path).read_bytes() == CONTENT
    assert server.ranges == ["bytes=1000-", None]


@pytest.mark.parametrize("content", [b"y" + CONTENT[1:], CONTENT + b"more", CONTENT * 20, CONTENT[:-1], b""])
def test_wrong_content_never_gets_the_name(server, source, tmp_path, content):
    server.files["file.gz"] = content
    with pytest.raises(DataError, match=r"wrong content \(expected 300000 bytes"):
        get(source, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(server.ranges) == 1


def test_what_one_mirror_gave_the_next_continues(server, source, tmp_path):
    server.cuts = [120_000]
    with Server() as other:
        thread = threading.Thread(target=other.serve_forever, daemon=True)
        thread.start()
        other.files["file.gz"] = CONTENT
        assert get(source, tmp_path, mirrors=[server.url, other.url], attempts=1).read_bytes() == CONTENT
        other.shutdown()
        thread.join()
    assert other.ranges == ["bytes=120000-"]


def test_mirrors_are_tried_in_turn(server, source, tmp_path):
    with Server() as broken:
        thread = threading.Thread(target=broken.serve_forever, daemon=True)
        thread.start()
        broken.status = 404
        assert get(source, tmp_path, mirrors=[broken.url, server.url]).read_bytes() == CONTENT
        broken.status = 503
        (tmp_path / "file.gz").unlink()
        assert get(source, tmp_path, mirrors=[broken.url, server.url]).read_bytes() == CONTENT
        broken.shutdown()
        thread.join()
    assert len(broken.ranges) == 1 + 3  # a 404 is final, a 503 may pass


def test_offline_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    nowhere = Source("file.gz", 5, SHA256, ("http://127.0.0.1:9/a", "http://127.0.0.1:9/b"))
    with pytest.raises(DataError) as caught:
        get(nowhere, tmp_path)
    message = str(caught.value)
    assert "cannot download file.gz: http://127.0.0.1:9/a/file.gz: no connection" in message
    assert "127.0.0.1:9/b" in message
    assert "set EXPUNGE_MIRROR" in message
    assert SHA256 in message


def test_a_mirror_must_be_a_web_address(source, tmp_path):
    with pytest.raises(ConfigError, match="'file:///etc'"):
        get(source, tmp_path, mirrors=["file:///etc"])


def idx_file(*sizes):
    content = bytes([0, 0, 8, len(sizes)]) + b"".join(size.to_bytes(4, "big") for size in sizes)
    return gzip.compress(content + bytes(math.prod(sizes)))


def test_mnist_from_a_mirror_of_ones_own(server, tmp_path, monkeypatch):
    """The environment names the mirror; it may be anybody's, since only the published files are taken."""
    monkeypatch.setenv("EXPUNGE_MIRROR", f" {server.url}/ ,")
    for source, sizes in zip(mnist.SOURCES, [(5, 28, 28), (5,), (3, 28, 28), (3,)], strict=True):
        server.files[source.file] = idx_file(*sizes)
    with pytest.raises(DataError, match="wrong content"):
        load("mnist", tmp_path, download=True)
    mine = [
        Source(s.file, len(server.files[s.file]), hashlib.sha256(server.files[s.file]).hexdigest(), s.mirrors)
        for s in mnist.SOURCES
    ]
    monkeypatch.setattr(mnist, "SOURCES", tuple(mine))
    assert len(load("mnist", tmp_path, download=True)) == 5
    asked = len(server.ranges)
    assert len(load("mnist", tmp_path, download=True).test_labels) == 3
    assert len(server.ranges) == asked
    assert sorted(path.name for path in (tmp_path / "MNIST" / "raw").iterdir()) == sorted(s.file for s in mine)


def tarball(members):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def test_cifar10_is_downloaded_and_unpacked(server, tmp_path, monkeypatch):
    monkeypatch.setattr(cifar10, "_RECORDS", 10)
    records = (bytes([3]) + bytes(3072)) * 10
    packed = tarball({"../escape": b"no", "readme.html": b"no", **dict.fromkeys(cifar10.MEMBERS, records)})
    server.files["cifar-10-binary.tar.gz"] = packed
    monkeypatch.setenv("EXPUNGE_MIRROR", server.url)
    known = Source("cifar-10-binary.tar.gz", len(packed), hashlib.sha256(packed).hexdigest(), ())
    monkeypatch.setattr(cifar10, "SOURCE", known)
    with pytest.raises(DataError, match=r"data_batch_1.bin in .* is not the published file"):
        load("cifar10", tmp_path, download=True)
    monkeypatch.setattr(
        cifar10, "MEMBERS", dict.fromkeys(cifar10.MEMBERS, (30730, hashlib.sha256(records).hexdigest()))
    )
    assert len(load("cifar10", tmp_path / "a" / "b", download=True)) == 50
    assert not (tmp_path / "a" / "escape").exists()
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == {
        "cifar-10-batches-bin",
        "cifar-10-binary.tar.gz",
    }


def test_broken_archives_are_refused(tmp_path):
    path = tmp_path / "a.tar.gz"
    wanted = {"a/one": (3, hashlib.sha256(b"one").hexdigest())}
    for content, told in [
        (b"nothing", "cannot unpack"),
        (tarball({"a/one": b"one"})[:40], "cannot unpack"),
        (tarball({"a/two": b"one"}), "lacks a/one"),
        (tarball({"a/one": b"One"}), "not the published file"),
        (tarball({"a/one": b"one" * 10}), "not the published file"),
    ]:
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"a\.tar\.gz") as caught:
            archive.unpack(path, wanted, tmp_path / "out")
        assert told in str(caught.value)
    assert not (tmp_path / "out" / "a" / "one").exists()
    path.write_bytes(tarball({"a/one": b"one"}))
    archive.unpack(path, wanted, tmp_path / "out")
    assert (tmp_path / "out" / "a" / "one").read_bytes() == b"one"
