"""What the README, the examples and the notebooks show is what happens."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from with_torchvision import declare_operators

ROOT = Path(__file__).parents[1]
EXECUTE = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=120).execute()
nbformat.write(notebook, sys.argv[2])
"""
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def readme(title):
    section = (ROOT / "README.md").read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]


def test_ones_own_model_takes_twenty_lines(capsys):
    code = readme("Your own model and data")
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert re.match(r"epsilon (9\.99999|10), delta 1e-05, recomputed", capsys.readouterr().out)


def test_the_readme_shows_what_the_accountant_says(capsys):
    code = readme("An example")
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.strip() in (ROOT / "README.md").read_text(encoding="utf-8")


def accuracies(text):
    return [float(found) for found in re.findall(r"test accuracy (\d+\.\d) ?%", text)]


def test_a_transformers_model_with_dict_batches(capsys):
    pytest.importorskip("transformers")
    declare_operators()
    runpy.run_path(str(ROOT / "examples" / "hugging_face.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "guarantee: epsilon 20" in out
    before, after = accuracies(out)
    assert before > 90.0
    assert after > 75.0


def test_a_fabric_loop(capsys):
    pytest.importorskip("lightning_fabric")
    runpy.run_path(str(ROOT / "examples" / "fabric_loop.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert out.startswith("epsilon 20 at delta 1e-05")
    assert accuracies(out)[0] > 80.0


@pytest.mark.parametrize("library", ["lightning_fabric", "accelerate"])
def test_two_processes_of_a_framework(library):
    pytest.importorskip(library)
    script = ROOT / "examples" / f"{library.removeprefix('lightning_')}_processes.py"
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    accuracy = re.fullmatch(r"2 processes, epsilon 20, accuracy (\d+\.\d)%", done.stdout.strip())
    assert accuracy is not None, done.stdout
    assert float(accuracy[1]) > 90.0


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(notebook, tmp_path):
    """In a process of its own: what a kernel's packages warn about is not for this suite."""
    pytest.importorskip("nbclient")
    done = tmp_path / notebook.name
    words = [sys.executable, "-c", EXECUTE, str(notebook), str(done)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    found = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert found.returncode == 0, found.stderr[-2000:]
    cells = [cell for cell in json.loads(done.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(output["output_type"] == "stream" for cell in cells for output in cell["outputs"])
    assert any(cell["outputs"] for cell in cells)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_its_outputs(notebook):
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        assert cell["cell_type"] == "markdown" or (cell["outputs"], cell["execution_count"]) == ([], None)
