"""The tutorial's two files do what the page says; two pairs instead of ten."""

import json
import re
import sys
from pathlib import Path

from expunge.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_tutorial_is_worth_it_and_verifies(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mail.py").write_text(block("python"))
    (tmp_path / "expunge.toml").write_text(block("toml").replace("pairs = 10", "pairs = 2"))
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        assert main(["run", "--quiet"]) == 0
    finally:
        sys.modules.pop("mail", None)
    shown = re.findall(r"^(\w+) {2,}\S", block("console"), re.MULTILINE)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == shown
    assert main(["verify", "run/certificate.json", "--weights", "run/unlearned.safetensors"]) == 0
    assert "if the proximity 0." in capsys.readouterr().out
    rows = json.loads((tmp_path / "run" / "comparison.json").read_text())["rows"]
    accuracy = {row["method"]: row["audit"]["accuracy"]["test"] for row in rows}
    assert accuracy["blockwise_nft"] > 0.8
    assert accuracy["from_public"] < 0.7
    assert main(["recertify", "--project", "expunge.toml", "--proximity", "0.2"]) == 0
