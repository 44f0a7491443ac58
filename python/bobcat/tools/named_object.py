"""Tools in the user's code, by `file.py`, `file.py:NAME` or `package.module:NAME`."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bobcat.errors import UserCodeError
from bobcat.logs.python_output import safe_python_output

if TYPE_CHECKING:
    from bobcat.tools.toolset import ToolSet

T = TypeVar("T")


def load_tools(text: str) -> ToolSet:
    """Load the `ToolSet` for the evaluation of calls, `tools` by default; importing its module runs its code.

    Raises `UserCodeError`.
    """
    from bobcat.tools.toolset import ToolSet

    hint = "define `tools = ToolSet.from_functions(...)` there"
    return load_object(text, ToolSet, what="the tools", name="tools", hint=hint)


def load_tool_functions(text: str) -> ToolSet | Sequence[Callable[..., Any]]:  # Any: functions of any signature
    """Load a `ToolSet` or a list of functions, `tools` by default; importing its module runs its code.

    Raises `UserCodeError`.
    """
    from bobcat.tools.toolset import ToolSet

    hint = "define `tools = [a_function, ...]` there"
    found: Any = load_object(
        text, (ToolSet, list, tuple), what="the tools", name="tools", hint=hint
    )  # Any: one of these
    return cast("ToolSet | Sequence[Callable[..., Any]]", found)


def load_object(text: str, kind: type[T] | tuple[type[T], ...], *, what: str, name: str, hint: str) -> T:
    """Load an object of a kind, `name` where `text` has none; importing its module runs its code.

    Raises `UserCodeError`.
    """
    place, _, given = text.partition(":")
    name = given or name
    found = _names_of(place, f"{what} `{text}`").get(name)
    if not isinstance(found, kind):
        problem = "is missing" if found is None else f"is a {type(found).__name__}"
        raise UserCodeError(f"`{name}` {problem} in `{place}`; {hint}")
    return found


@safe_python_output()
def _names_of(place: str, subject: str) -> dict[str, object]:
    """Return the names of the module or file `place`. Its directory and the current one become importable.

    Raises `UserCodeError`, starting with `subject`.
    """
    try:
        if not place.endswith(".py"):
            sys.path.insert(0, "")
            return vars(import_module(place))
        path = Path(place).resolve()
        if not path.is_file():
            raise UserCodeError(f"{subject} cannot be loaded: no file at `{place}`")
        sys.path.insert(0, str(path.parent))
        return vars(_from_file(path))
    except UserCodeError:
        raise
    except (Exception, SystemExit) as error:  # user code may raise anything
        lines = traceback.format_exception_only(error)
        raise UserCodeError(f"{subject} cannot be loaded: {''.join(lines).strip()}") from error


def _from_file(path: Path) -> ModuleType:
    """Import a file as a module of that name: a tool in another process finds it by this name."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module
