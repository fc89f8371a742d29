"""`expunge …`: finds the command, and turns what goes wrong into one line and an exit code.

0 success · 1 a check failed, so there is no certificate · 2 wrong use
"""

import sys

from cyclopts import App, CycloptsError, Parameter

from .. import __version__
from ..errors import CertificationError, ExpungeError

app = App(
    name="expunge",
    help="Certified machine unlearning for PyTorch.",
    version=__version__,
    version_flags=["--version"],
    default_parameter=Parameter(negative=()),
)

COMMANDS = {
    "init": "A commented project file to begin with.",
    "run": "A project from training to the report; each stage only when something changed.",
    "demo": "All of it on a small data set, in under two minutes.",
    "plan": "The noise that a privacy target asks for, beside its alternatives.",
    "account": "What a ledger of blocks and steps costs.",
    "train": "A model of one of the workloads, from data to weights.",
    "calibrate": "How far apart trained and retrained models lie, from coupled training pairs.",
    "unlearn": "Plan, run and certify.",
    "verify": "Check a certificate, alone or against weights.",
    "audit": "What an attacker or a critic sees in an unlearned model.",
    "compare": "Many ways to unlearn, held against retraining.",
    "reproduce": "The paper's tables and figures, measured again.",
    "recertify": "What a finished run is worth under another proximity.",
    "report": "Results as one page, and the same figures as files.",
}
STAGES = ("train", "calibrate", "plan", "unlearn", "verify", "audit", "report")
for name, summary in COMMANDS.items():
    app.command(f"expunge.cli.{name}:{name}", name=name, help=summary)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code."""
    try:
        app(
            _of_a_project(sys.argv[1:] if arguments is None else arguments),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except CycloptsError as error:
        return _fail(2, f"{' '.join(str(error).split())} See: expunge {_command(arguments)}--help")
    except CertificationError as error:
        return _fail(1, str(error))
    except ExpungeError as error:
        return _fail(2, str(error))
    except KeyboardInterrupt:
        return _fail(130, "interrupted.")
    except BrokenPipeError:
        sys.stderr.close()
    return 0


def _of_a_project(words: list[str]) -> list[str]:
    """`expunge STAGE --project FILE …` is `expunge run STAGE --project FILE …`."""
    named = any(word == "--project" or word.startswith("--project=") for word in words)
    return ["run", *words] if named and words[0] in STAGES else words


def _fail(code: int, message: str) -> int:
    print(f"expunge: {message}", file=sys.stderr)
    return code


def _command(arguments: list[str] | None) -> str:
    words = sys.argv[1:] if arguments is None else arguments
    return f"{words[0]} " if words and not words[0].startswith("-") else ""
