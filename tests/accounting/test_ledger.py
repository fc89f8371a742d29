"""Blocks as JSON and back; and everything that is no ledger."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expunge import accounting as acc
from expunge.errors import DataError

STEP = {"step_size": 1e-4, "weight_decay": 100.0, "clip": 2500.0, "sigma": 0.4}

values = st.floats(0.0, 1e40)
steps = st.builds(
    acc.Step, st.floats(0.0, 1.0), st.floats(0.0, 0.99), values, st.one_of(st.just(0.0), st.floats(1e-40, 1e40))
)
blocks = st.builds(
    lambda runs, dimension: acc.Block(tuple(step for step, count in runs for _ in range(count)), dimension),
    st.lists(st.tuples(steps, st.integers(1, 4)), min_size=1, max_size=5),
    st.one_of(st.none(), st.integers(0, 10**12)),
)


def ledger(step=None, block=None, **changes):
    """A good ledger with some fields changed, as text."""
    record = {"steps": [STEP | (step or {})]} | (block or {})
    return json.dumps({"schema": "expunge.ledger/1", "blocks": [record]} | changes)


@settings(deadline=None)
@given(st.lists(blocks, min_size=1, max_size=4))
def test_writing_and_reading_gives_the_same_blocks(run):
    assert acc.from_json(acc.to_json(run)) == tuple(run)
    assert acc.from_json(acc.to_json(run).encode()) == tuple(run)


def test_equal_steps_are_written_once():
    text = acc.to_json(acc.Block((acc.Step(**STEP),) * 10**6, 7))
    assert len(text) < 300
    assert json.loads(text)["blocks"] == [{"dimension": 7, "steps": [STEP | {"count": 10**6}]}]
    assert acc.from_json(text) == (acc.Block((acc.Step(**STEP),) * 10**6, 7),)


def test_a_good_ledger_is_read(tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text(ledger({"count": 3}, {"dimension": 5}))
    assert acc.load(path) == acc.load(str(path)) == (acc.Block((acc.Step(**STEP),) * 3, 5),)


BAD_NUMBERS = [-1, -1e-300, 1e101, "0.4", True, None, [], {}]
BAD_COUNTS = [0, -1, 1.0, 2.5, 1e12, 10**12, 10**400, "3", True, None]


@pytest.mark.parametrize("value", BAD_NUMBERS)
@pytest.mark.parametrize("name", list(STEP))
def test_what_is_no_number_is_named_with_its_place(name, value):
    with pytest.raises(DataError, match=rf"blocks\[0\]\.steps\[0\]: {name} must be"):
        acc.from_json(ledger({name: value}))


@pytest.mark.parametrize("value", BAD_COUNTS)
def test_what_is_no_count_is_named(value):
    with pytest.raises(DataError, match="count must be a whole number"):
        acc.from_json(ledger({"count": value}))


@pytest.mark.parametrize("value", [-1, 1.5, "3", True, [], math.pi])
def test_what_is_no_dimension_is_named(value):
    with pytest.raises(DataError, match="dimension must be a whole number"):
        acc.from_json(ledger(block={"dimension": value}))


def test_counts_that_only_together_are_too_many_are_refused():
    record = {"steps": [STEP | {"count": 9_000_000}]}
    with pytest.raises(DataError, match="count must be a whole number"):
        acc.from_json(ledger(blocks=[record, record]))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (ledger({"extra": 1}), "'extra'"),
        (ledger(block={"blocks": 1}), "'blocks'"),
        (ledger(extra=1), "'extra'"),
        (ledger(schema="expunge.ledger/2"), "expunge.ledger/2"),
        (ledger(schema=1), "schema"),
        (ledger(schema=None), "schema"),
        (ledger(schema=["expunge.ledger/1"]), "schema"),
        (ledger(blocks=[]), "blocks"),
        (ledger(blocks={}), "blocks"),
        (ledger(blocks="x"), "blocks"),
        (ledger(blocks=[[]]), r"blocks\[0\]"),
        (ledger(block={"steps": []}), r"blocks\[0\].steps"),
        (ledger(block={"steps": STEP}), r"blocks\[0\].steps"),
        (ledger(block={"steps": [1]}), r"blocks\[0\].steps\[0\]"),
        (ledger({"weight_decay": 1e4}), "step_size × weight_decay must be below 1"),
        (ledger({"weight_decay": 1e5}), "step_size × weight_decay must be below 1"),
        (ledger({"sigma": 1e-200}), "sigma"),
        (ledger({"sigma": math.nan}), "NaN"),
        (ledger({"sigma": math.inf}), "Infinity"),
        (ledger({"sigma": -math.inf}), "-Infinity"),
        (ledger().replace("0.4", "1e999"), "sigma"),
        (ledger().replace("0.4", "1" * 400), "sigma"),
        (ledger().replace("0.4", "1" * 5000), "JSON"),
        (ledger().replace('"clip"', '"sigma": 9.0, "clip"'), "twice"),
        (ledger().replace('"blocks"', '"schema": "x", "blocks"'), "twice"),
        ("{}", "lacks schema, blocks"),
        ("[]", "object"),
        ("null", "object"),
        ("1", "object"),
        ('"expunge"', "object"),
        ("", "JSON"),
        ("{", "JSON"),
        (ledger() + "x", "JSON"),
        ("[" * 100_000, "JSON"),
        ('{"a":' * 100_000, "JSON"),
        (b"\xff\xfe\x00\x01\x9c", "JSON"),
        (bytes(range(256)), "JSON"),
        (ledger().encode("utf-16")[:-1], "JSON"),
    ],
)
def test_what_is_no_ledger_is_refused_with_a_reason(text, names):
    with pytest.raises(DataError, match=names):
        acc.from_json(text)


@pytest.mark.parametrize("name", list(STEP))
def test_a_missing_field_is_named(name):
    step = {key: value for key, value in STEP.items() if key != name}
    with pytest.raises(DataError, match=f"lacks {name}"):
        acc.from_json(ledger(block={"steps": [step]}))


@pytest.mark.parametrize("depth", [500, 900, 940, 960, *range(970, 1000), 2000])
@pytest.mark.parametrize("where", ['"schema": %s, "blocks": []', '"schema": "expunge.ledger/1", "blocks": [%s]'])
def test_deep_nesting_is_refused_at_every_depth(depth, where):
    with pytest.raises(DataError):
        acc.from_json("{" + where % ("[" * depth + "]" * depth) + "}")
