"""Wrong use: exit code 2, one line that names the value, nothing on standard output."""

import pytest

from expunge import accounting as acc
from expunge.cli.main import main

GOOD = {
    "--epsilon": "30",
    "--delta": "1e-5",
    "--proximity": "0.5",
    "--clip": "5000",
    "--step-size": "1e-4",
    "--weight-decay": "100",
    "--parameters": "4364554",
}


def plan(**changes):
    options = GOOD | {f"--{name.replace('_', '-')}": value for name, value in changes.items()}
    return ["plan", *(word for name, value in options.items() for word in ((name, value) if value is not None else ()))]


def test_the_good_plan_is_good(capsys):
    assert main(plan()) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "-inf", "abc", "", "1e999", "0x10", "true"])
@pytest.mark.parametrize("name", ["epsilon", "delta", "proximity", "clip", "step_size", "weight_decay", "failure"])
@pytest.mark.parametrize("json", [(), ("--json",)])
def test_what_is_no_number_is_refused(refused, name, value, json):
    line = refused(*plan(**{name: value}), *json)
    assert name.replace("_", "-") in line.replace("_", "-") or (name == "proximity" and "gap" in line)


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "2.7", "nan", "inf", "abc", "", "worst", "1e400", "true"])
@pytest.mark.parametrize("name", ["steps", "blocks", "parameters"])
def test_what_is_no_whole_number_is_refused(refused, name, value):
    assert name in refused(*plan(**{name: value}))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"delta": "1"}, "delta"),
        ({"delta": "0"}, "delta"),
        ({"epsilon": "0"}, "epsilon"),
        ({"failure": "1.5"}, "failure"),
        ({"weight_decay": "1e4"}, "step_size × weight_decay"),
        ({"blocks": "11", "parameters": "10"}, "blocks"),
        ({"blocks": "1000000"}, "blocks"),
        ({"accountant": "moments"}, "accountant"),
        ({"epsilon": None}, "epsilon"),
        ({"parameters": None}, "parameters"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_makes_no_sense_is_named(refused, changes, named):
    assert named in refused(*plan(**changes))


@pytest.mark.parametrize(
    "words", [["unknown"], ["--unknown"], ["plan", "extra", *plan()[1:]], ["plan"], ["account"], ["account", "x"]]
)
def test_what_is_no_command_is_refused(refused, words):
    assert refused(*words)


def account(path, **changes):
    options = {"proximity": "0.5", "delta": "1e-5"} | changes
    return ["account", str(path), *(word for name, value in options.items() for word in (f"--{name}", value))]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "JSON"),
        (b"[" * 100_000, "JSON"),
        (bytes(range(256)), "JSON"),
        (b'{"schema": "expunge.ledger/9", "blocks": []}', "schema"),
        (b'{"schema": "expunge.ledger/1"}', "blocks"),
        (b'{"schema": "expunge.ledger/1", "blocks": [], "x\\ny": 1}', "unknown"),
        (b'{"schema": "line\\nbreak", "blocks": []}', "schema"),
        (b'{"schema": "expunge.ledger/1", "blocks": NaN}', "NaN"),
    ],
)
def test_what_is_no_ledger_is_refused(refused, tmp_path, content, named):
    path = tmp_path / "ledger.json"
    path.write_bytes(content)
    assert named in refused(*account(path))


def test_paths_that_lead_nowhere_are_refused(refused, tmp_path):
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(100 * 2**20)
    for path in (tmp_path, tmp_path / "missing.json", tmp_path / "two\nlines.json", large):
        refused(*account(path))


@pytest.mark.parametrize("option", ["proximity", "delta", "failure"])
@pytest.mark.parametrize("value", ["-1", "nan", "inf", "abc"])
def test_account_refuses_what_is_no_number(refused, tmp_path, option, value):
    path = tmp_path / "ledger.json"
    path.write_text(acc.to_json(acc.Block((acc.Step(0.0, 0.0, 0.0, 1.0),))))
    line = refused(*account(path, **{option: value}))
    assert option in line or (option == "proximity" and "gap" in line)


def test_no_best_number_of_steps_is_said_in_one_line(expunge):
    code, out, err = expunge(*plan(clip="0", steps="best"))
    assert (code in (1, 2), out, err.count("\n")) == (True, "", 1)
    assert "Give steps" in err
