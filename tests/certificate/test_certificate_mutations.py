"""Ten thousand mutations of a certificate file: none verifies, and every refusal is an ExpungeError."""

import copy
import json
import random

import pytest
from paperwork import at, issued, leaves, opened, refused

from expunge import Proximity, certificate
from expunge.certificate.document import canonical

STRANGE = [None, True, False, 0, -1, 1, 2**70, 0.5, 1e308, -0.0, "", "x", "é", "\u0000", [], {}, [None], {"a": 1}]


@pytest.fixture(scope="module")
def document():
    first = issued(steps=3, hashes=("a" * 64, "b" * 64))
    second = Proximity(0.2, 0.05, "pairs", requests=2)
    return issued((3, 4), after=first, hashes=("b" * 64, "c" * 64), looks=2, proximity=second)


def damaged(content, dice):
    """Bytes with one to five flips, insertions, deletions or exchanges."""
    result = bytearray(content)
    for _ in range(dice.choice((1, 1, 1, 2, 5))):
        kind, here, there = dice.randrange(4), dice.randrange(len(result)), dice.randrange(len(result))
        if kind == 0:
            result[here] ^= 1 << dice.randrange(8)
        elif kind == 1:
            result.insert(here, dice.choice((dice.randrange(256), *b'0123456789,"{}[] \n-.e')))
        elif kind == 2:
            del result[here]
        else:
            result[here], result[there] = result[there], result[here]
    return bytes(result)


def tampered(document, dice):
    """A document with one value, key or list changed, somewhere."""
    changed = copy.deepcopy(document)
    *path, last = dice.choice(list(leaves(changed)))
    parent = at(changed, path)
    value, kind = parent[last], dice.randrange(5)
    if kind == 0 and isinstance(value, (int, float)) and not isinstance(value, bool):
        parent[last] = value * dice.choice((0, -1, 0.5, 0.999999, 1.000001, 2, 1e6)) + dice.choice((0, 0, 1))
    elif kind == 1:
        parent[last] = dice.choice(STRANGE)
    elif kind == 2:
        del parent[last]
    elif kind == 3 and isinstance(parent, dict):
        parent[f"{last}_"] = parent.pop(last) if dice.random() < 0.5 else copy.deepcopy(value)
    elif isinstance(value, list):
        parent[last] = value[:-1] if dice.random() < 0.5 else [*value, *value]
    elif isinstance(value, str):
        parent[last] = value[1:] if value and dice.random() < 0.5 else f"{value} "
    return changed


def test_the_document_itself_verifies(document):
    certificate.verify(document.to_bytes())


def test_no_damaged_file_verifies(document):
    content, dice = document.to_bytes(), random.Random(1)
    for number in range(10_000):
        changed = damaged(content, dice)
        assert changed == content or refused(changed), number


def test_a_file_cut_short_at_any_byte_is_refused(document):
    content = document.to_bytes()
    for end in range(len(content)):
        assert refused(content[:end]), end


@pytest.mark.parametrize("form", ["plain", "canonical"])
def test_no_tampered_field_verifies(document, form):
    original, dice, tried = opened(document), random.Random(2), 0
    while tried < 5_000:
        changed = tampered(original, dice)
        if json.dumps(changed) == json.dumps(original):
            continue
        content = json.dumps(changed, indent=1, ensure_ascii=False).encode() if form == "plain" else canonical(changed)
        assert refused(content + b"\n"), json.dumps(changed)
        tried += 1


@pytest.mark.parametrize("value", [None, [], "x", 3, {}])
def test_hashes_that_are_no_object_are_refused_in_words(document, value):
    assert refused(canonical({**opened(document), "sha256": value}) + b"\n")


def test_a_fingerprint_that_is_not_ascii_is_refused_in_words(document):
    changed = opened(document)
    changed["sha256"]["certificate"] = "é" * 64
    assert refused(canonical(changed) + b"\n")


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"null", b"{}", b"[1]", b"\xff\xfe", b"{" * 10**5, b"9" * 10**5, b'{"schema": NaN}', b"PK\x03\x04"],
)
def test_what_is_no_certificate_is_refused_in_words(content):
    assert refused(content)


def test_the_same_values_written_otherwise_are_refused(document):
    values, content = opened(document), document.to_bytes()
    for other in (
        json.dumps(values).encode(),
        json.dumps(values, indent=2, sort_keys=True).encode() + b"\n",
        content[:-1],
        content + b" ",
        b"\xef\xbb\xbf" + content,
        content.decode().encode("utf-16"),
        content.replace(b"\n", b"\r\n"),
    ):
        assert refused(other)


@pytest.mark.parametrize("nothing", [None, 3, {}, "no such file.json", "", "\0"])
def test_what_names_no_certificate_is_refused_in_words(nothing):
    assert refused(nothing)
