"""`expunge …`: finds the command, and turns what goes wrong into one line and an exit code.

0 success · 1 a check failed, so there is no certificate · 2 wrong use
"""

import sys

from cyclopts import App, CycloptsError, Parameter

from .. import __version__
from ..errors import CertificationError, ExpungeError
from . import of_project
from .commands import COMMANDS, says

app = App(
    name="expunge",
    help="Certified machine unlearning for PyTorch.",
    version=__version__,
    version_flags=["--version"],
    default_parameter=Parameter(negative=()),
)

for name in COMMANDS:
    app.command(f"expunge.cli.{name}:{name}", name=name, help=says(name))


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code."""
    try:
        app(
            of_project.words(sys.argv[1:] if arguments is None else arguments),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except CycloptsError as error:
        return _fail(2, f"{' '.join(str(error).split())} {_hint(arguments)}")
    except CertificationError as error:
        return _fail(1, str(error))
    except ExpungeError as error:
        return _fail(2, str(error))
    except KeyboardInterrupt:
        return _fail(130, "interrupted.")
    except BrokenPipeError:
        sys.stderr.close()
    return 0


def _fail(code: int, message: str) -> int:
    print(f"expunge: {message}", file=sys.stderr)
    return code


def _hint(arguments: list[str] | None) -> str:
    words = sys.argv[1:] if arguments is None else arguments
    command = f"{words[0]} " if words and words[0] in COMMANDS else ""
    settings = (
        "With --project, settings are those of the file: change them there. " if of_project.is_stage(words) else ""
    )
    return f"{settings}See: expunge {command}--help"
