import sys
from unittest.mock import patch

import pytest

from expunge.cli.main import main


class Command:
    """Runs `expunge …` in this process: exit code, standard output, standard error."""

    def __init__(self, capsys):
        self.capsys = capsys

    def __call__(self, *words):
        self.capsys.readouterr()
        with patch.object(sys, "argv", ["expunge", *map(str, words)]):
            try:
                code = main()
            except SystemExit as end:
                code = end.code
        captured = self.capsys.readouterr()
        return code, captured.out, captured.err


@pytest.fixture
def expunge(capsys):
    return Command(capsys)


@pytest.fixture
def refused(expunge):
    """Asserts a refusal as it should look, and gives back its one line."""

    def check(*words, code=2):
        got, out, err = expunge(*words)
        assert (got, out) == (code, ""), err
        assert err.startswith("expunge: ")
        assert err.count("\n") == 1, err
        assert "Traceback" not in err
        return err

    return check
