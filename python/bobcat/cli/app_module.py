"""The app that a worker runs: `app.py`, `app.py:NAME` or `package.module:NAME`, holding a `Workers`."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from bobcat.cli.failures import InputError
from bobcat.cli.python_output import safe_python_output

if TYPE_CHECKING:
    from bobcat.workers import Workers

DEFAULT_NAME = "workers"


def load_app(text: str) -> Workers:
    """The `Workers` that `text` names. The directory of a file, and the current one, are importable."""
    from bobcat.workers import Workers

    place, _, name = text.partition(":")
    found = names_of(place, f"the app `{text}`").get(name or DEFAULT_NAME)
    if not isinstance(found, Workers):
        kind = "is not there" if found is None else f"is a {type(found).__name__}"
        raise InputError(f"`{name or DEFAULT_NAME}` {kind} in `{place}`; an app holds `workers = Workers()`")
    return found


@safe_python_output()
def names_of(place: str, subject: str) -> dict[str, object]:
    """The names of the module or file `place`, whose code runs. Raises `InputError`, which begins with `subject`."""
    try:
        if not place.endswith(".py"):
            sys.path.insert(0, "")
            return vars(import_module(place))
        path = Path(place).resolve()
        if not path.is_file():
            raise InputError(f"{subject} cannot be loaded: no file at `{place}`")
        sys.path.insert(0, str(path.parent))
        return vars(_from_file(path))
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # user code may raise anything
        lines = traceback.format_exception_only(error)
        raise InputError(f"{subject} cannot be loaded: {''.join(lines).strip()}") from error


def _from_file(path: Path) -> ModuleType:
    """The module of a file, under the file's own name: a tool that runs in another process is found by it there."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module
