import json
import subprocess
import sys
from pathlib import Path

import pytest

from expunge.cli.main import main

EXAMPLE = Path(__file__).parents[1] / "report" / "example.json"


def test_it_writes_the_page_and_says_what_is_on_it(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["report", str(EXAMPLE), "--output", str(page)]) == 0
    said = capsys.readouterr().out
    assert "Valid certificate" in said
    assert "worth it?" in said
    assert page.read_text(encoding="utf-8").lstrip().startswith("<!doctype html>")


def test_for_machines_it_is_one_object(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="pip install 'expunge[report]'")
    values = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    few, page, figures = tmp_path / "few.json", tmp_path / "page.html", tmp_path / "figures"
    few.write_text(json.dumps({name: values[name] for name in ("schema", "created", "asked", "curves")}))
    assert main(["report", str(few), "--output", str(page), "--figures", str(figures), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "expunge.report/1"
    assert answer["state"] == "none"
    assert answer["bytes"] == page.stat().st_size
    assert sorted(answer["figures"]) == sorted(str(path) for path in figures.iterdir())


@pytest.mark.parametrize(
    ("content", "told"),
    [("{}", "schema must be 'expunge.results/1'"), ("{", "not valid JSON"), (None, "cannot read")],
)
def test_wrong_results_are_wrong_use(tmp_path, capsys, content, told):
    file = tmp_path / "results.json"
    if content is not None:
        file.write_text(content)
    assert main(["report", str(file), "--output", str(tmp_path / "page.html")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_places_that_cannot_be_written_are_refused(tmp_path, capsys):
    assert main(["report", str(EXAMPLE), "--output", str(tmp_path / "no" / "page.html")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    page = str(tmp_path / "page.html")
    assert main(["report", str(EXAMPLE), "--output", page, "--figures", str(tmp_path / "file")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_the_page_must_not_take_the_place_of_the_results(tmp_path, capsys):
    results = tmp_path / "results.json"
    results.write_bytes(EXAMPLE.read_bytes())
    assert main(["report", str(results), "--output", str(results)]) == 2
    assert "would overwrite" in capsys.readouterr().err
    assert results.read_bytes() == EXAMPLE.read_bytes()


def test_it_loads_neither_torch_nor_numpy(tmp_path):
    code = (
        "import sys; from expunge.cli.main import main; "
        f"code = main(['report', {str(EXAMPLE)!r}, '--output', {str(tmp_path / 'page.html')!r}]); "
        "print(sorted({'torch', 'numpy', 'scipy', 'matplotlib'} & set(sys.modules)), code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[] 0"
