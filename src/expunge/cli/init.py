"""`expunge init`: a commented project file to begin with."""

from pathlib import Path

from ..errors import ConfigError
from ..project import settings, template
from .output import print_facts, print_json


def init(
    file: Path = Path(settings.FILE), *, workload: str | None = None, name: str | None = None, json: bool = False
) -> None:
    """Write a commented project file. One that is there is never overwritten.

    Parameters
    ----------
    file
        Where it goes.
    workload
        One of ours (digits-mlp, mnist-mlp, …); without it the file names functions of your own.
    name
        The project's name; default: the folder's.
    json
        Print one JSON object.
    """
    named = name or file.absolute().parent.name or "project"
    text = template.text(name=named.replace("\\", "/").replace('"', "'"), workload=workload)
    try:
        with file.open("x", encoding="utf-8") as place:
            place.write(text)
    except FileExistsError as error:
        raise ConfigError(
            f"{file} is there already, and is not overwritten. Name another file, or delete it."
        ) from error
    except OSError as error:
        raise ConfigError(f"cannot write {file}: {error.strerror or error}. Check the path.") from error
    if json:
        print_json({"schema": "expunge.init/1", "file": str(file), "workload": workload})
        return
    then = "name your functions in [model] and [data], then: " if workload is None else ""
    print_facts([("wrote", str(file)), ("next", f"{then}expunge run --project {file}")])
