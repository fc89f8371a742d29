"""What every command says with --json is what its published schema says: docs/schemas, JSON Schema 2020-12."""

import json
from pathlib import Path
from string import Template

import jsonschema
import pytest
import referencing

from expunge.cli.main import COMMANDS, main
from expunge.project import demo

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
PLAN = ("--epsilon", "9", "--delta", "1e-5", "--proximity", "0.5", "--clip", "1", "--step-size", "0.1")
REGISTRY = referencing.Registry().with_resources(
    (found["$id"], referencing.Resource.from_contents(found))
    for found in (json.loads(file.read_text(encoding="utf-8")) for file in SCHEMAS.glob("*.json"))
)
TOY = ("--model", "toy:model", "--data")


def validated(text):
    """The answer, held against the schema that it names."""
    answer = json.loads(text)
    name = answer["schema"].removeprefix("expunge.").replace("/", "-")
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema, registry=REGISTRY).validate(answer)
    return answer


@pytest.fixture
def answers(place, monkeypatch):
    """Runs one command in the toy's folder, whose project has been carried out as far as is asked."""
    monkeypatch.chdir(place.folder)

    def run(*words, code=0):
        place.capsys.readouterr()
        assert main([*map(str, words), "--json"]) == code, place.capsys.readouterr().err
        return validated(place.capsys.readouterr().out)

    return run


def _plan(run, _):
    run("plan", *PLAN, "--weight-decay", "1", "--parameters", "90")
    run("plan", *PLAN[:-4], "--clip", "0", "--step-size", "0", "--weight-decay", "0", "--parameters", "90")


def _account(run, place):
    answer = run("plan", *PLAN, "--weight-decay", "1", "--parameters", "90")
    (place.folder / "ledger.json").write_text(json.dumps(answer["ledger"]))
    run("account", "ledger.json", "--proximity", "0.5", "--delta", "1e-5")


def _train(run, _):
    run("train", "--epochs", "1")


def _calibrate(run, _):
    run("calibrate", "--train", "toy:train", "--dataset", "toy:dataset", "--pairs", "2")


def _project(run, _):
    run("run", "--project", "expunge.toml", "report")


def _unlearn(run, _):
    run("run", "train")
    weights = ("--weights", "run/trained.safetensors", "--loss", "toy:loss")
    run("unlearn", *TOY, "toy:retained", *weights, *PLAN)


def _verify(run, _):
    run("run", "unlearn")
    run("verify", "run/certificate.json", "--weights", "run/unlearned.safetensors")


def _audit(run, _):
    run("run", "unlearn")
    run("audit", "run/unlearned.safetensors", *TOY, "toy:parts", "--certificate", "run/certificate.json")


def _recertify(run, _):
    run("run", "unlearn")
    run("recertify", "run/certificate.json", "--proximity", "0.9")


def _report(run, _):
    run("run")
    run("report", "run/results.json", "--figures", "figures")


def _init(run, _):
    run("init", "mine.toml")


def _demo(run, _):
    run("demo", "--output", "demo")


def _compare(run, _):
    run("compare", "--methods", "retrain,from_public", "--epochs", "1", "--proximity", "0.5")


def _choose(run, place):
    run("choose", "--project", str(place.file), "--budget", "12")


def _reproduce(run, _):
    run("reproduce", "--list")
    run("reproduce", "budget", "--scale", "smoke")


def _requests(run, place):
    run("requests", "shop", "--data", "toy:features", *PLAN[:4], "--l2", "0.1", "--gradient", "1e-3")
    (place.folder / "forget.txt").write_text("3 5")
    run("requests", "shop", "--data", "toy:features", "--forget", "forget.txt")
    run("requests", "shop")


EXAMPLES = {
    "init": _init, "run": _project, "demo": _demo, "plan": _plan, "account": _account, "train": _train,
    "calibrate": _calibrate, "unlearn": _unlearn, "verify": _verify, "audit": _audit, "compare": _compare,
    "requests": _requests,
    "recertify": _recertify, "report": _report, "reproduce": _reproduce, "choose": _choose,
}  # fmt: skip


def test_every_command_has_an_example():
    assert set(EXAMPLES) == set(COMMANDS)


@pytest.mark.parametrize("command", EXAMPLES)
def test_an_answer_is_what_its_schema_says(answers, place, monkeypatch, command):
    short = demo._FILE.template.replace("pairs = 10", "pairs = 1").replace("retrained = $retrained", "retrained = 1")
    monkeypatch.setattr(demo, "_FILE", Template(short))
    EXAMPLES[command](answers, place)


def test_a_refused_certificate_is_an_answer_too(place, monkeypatch):
    monkeypatch.chdir(place.folder)
    place.run("unlearn")
    with pytest.raises(SystemExit) as end:
        main(["verify", "run/certificate.json", "--weights", "run/trained.safetensors", "--json"])
    assert end.value.code == 1
    assert validated(place.capsys.readouterr().out)["valid"] is False


def test_the_files_of_a_project_have_schemas_too(place):
    place.run("report")
    files = (
        "certificate",
        "proximity",
        "plan",
        "comparison",
        "curve",
        "trained",
        "results",
        "verification",
        "stages/plan",
    )
    for name in files:
        validated((place.folder / "run" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", sorted(SCHEMAS.glob("*.json")), ids=lambda file: file.stem)
def test_a_schema_is_one(file):
    schema = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema"]["const"] == "expunge." + file.stem.replace("-", "/")
    assert schema["additionalProperties"] is False
    assert {"schema"} <= set(schema["required"])
