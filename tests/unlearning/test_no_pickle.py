"""A file is data, never a program: nothing in the package opens a pickle."""

import ast
from pathlib import Path

import expunge

SOURCE = Path(expunge.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
FORBIDDEN = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}


def dotted(node):
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def problems(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import) and FORBIDDEN & {alias.name.split(".")[0] for alias in node.names}:
            yield "import"
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in FORBIDDEN:
            yield from ("import" for alias in node.names if alias.name != "PicklingError")  # an error opens nothing
        if isinstance(node, ast.Call):
            name, words = dotted(node.func), {word.arg: word.value for word in node.keywords}
            if name == "torch.load" and getattr(words.get("weights_only"), "value", False) is not True:
                yield name
            if name in {"torch.save", "eval", "exec", "__import__"} or name.endswith(".save_pretrained"):
                yield name
            if name in {"np.load", "numpy.load"} and getattr(words.get("allow_pickle"), "value", False):
                yield name
    if "pickle_module" in text:
        yield "pickle_module"


def test_nothing_in_the_package_opens_a_pickle():
    assert len(FILES) > 40
    assert {str(file.relative_to(SOURCE)): found for file in FILES if (found := list(problems(file.read_text())))} == {}


def test_the_search_finds_what_it_looks_for():
    for text in ("import pickle", "from pickle import loads", "torch.load(path)", "torch.load(p, weights_only=False)"):
        assert list(problems(text))
    for text in ("torch.load(path, weights_only=True)", "from pickle import PicklingError"):
        assert not list(problems(text))
    assert list(problems("from pickle import PicklingError, loads"))
