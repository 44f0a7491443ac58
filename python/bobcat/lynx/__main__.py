"""`python -m bobcat.lynx script.py [args]`: run a program written for lynx-agent, unchanged, on Bobcat.

`python -m bobcat.lynx -m package.module [args]` runs a module. The script sees its own `sys.argv` and `__main__`.
`--version 2.11` before them, or `BOBCAT_LYNX_VERSION`, selects the version of lynx-agent.
"""

from __future__ import annotations

import builtins
import os
import runpy
import sys
import zipfile
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from io import open_code
from types import ModuleType

from bobcat.lynx.installing import install, version_of_environment
from bobcat.lynx.surface import Version, checked_version

USAGE = "usage: python -m bobcat.lynx [--version 2.5|2.11] (SCRIPT | -m MODULE) [ARGUMENT ...]"


def main(arguments: list[str]) -> int:
    """Run the program; its exceptions, including `SystemExit`, propagate."""
    try:
        version, arguments = _version(arguments)
    except ValueError as error:
        print(f"python -m bobcat.lynx: {error}\n{USAGE}", file=sys.stderr)
        return 2
    as_module = arguments[:1] == ["-m"]
    rest = arguments[1:] if as_module else arguments
    if not rest or (rest[0].startswith("-") and not as_module):
        print(USAGE, file=sys.stdout if rest and rest[0] in ("-h", "--help") else sys.stderr)
        return 0 if rest and rest[0] in ("-h", "--help") else 2
    if not as_module and not os.path.exists(rest[0]):
        print(f"python -m bobcat.lynx: cannot open {rest[0]!r}: no such file\n{USAGE}", file=sys.stderr)
        return 2
    install(children=True, version=version)
    sys.argv = rest
    if as_module:
        missing = _missing(rest[0])
        if missing is not None:
            print(f"python -m bobcat.lynx: {missing}", file=sys.stderr)
            return 1
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        # Like `python script.py`: the script's directory replaces the current one.
        directory = os.path.dirname(os.path.realpath(rest[0]))
        sys.path[:] = [directory, *(path for path in sys.path if path not in ("", os.getcwd()) or path == directory)]
        _run(rest[0])
    return 0


def _version(arguments: list[str]) -> tuple[Version, list[str]]:
    """Split the option `--version` off the arguments. Raises `ValueError` for another version."""
    name, given, value = (arguments[0] if arguments else "").partition("=")
    if name != "--version":
        return version_of_environment(), arguments
    if given:
        return checked_version(value), arguments[1:]
    return checked_version(arguments[1] if len(arguments) > 1 else ""), arguments[2:]


def _missing(module: str) -> str | None:
    """Return the reason that a module cannot be run, in the words of `python -m`; None if it can."""
    try:
        found = find_spec(module)
        package = found is not None and found.submodule_search_locations is not None
        if package and find_spec(f"{module}.__main__") is None:
            return f"No module named {module}.__main__; {module!r} is a package and cannot be directly executed"
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        return f"Error while finding module specification for {module!r} ({type(error).__name__}: {error})"
    return f"No module named {module}" if found is None else None


def _run(path: str) -> None:
    """Run a path like `python path`: the script is `__main__` to its end, under its absolute path."""
    if not os.path.isfile(path) or zipfile.is_zipfile(path):  # a directory or an archive with a `__main__` in it
        runpy.run_path(path, run_name="__main__")
        return
    where = path if os.path.isabs(path) else os.path.join(os.getcwd(), path)  # like Python: without normalisation
    script = ModuleType("__main__")
    vars(script).update(
        __file__=where, __loader__=SourceFileLoader("__main__", where), __cached__=None, __builtins__=builtins
    )
    with open_code(where) as file:
        code = compile(file.read(), where, "exec", dont_inherit=True)
    sys.modules["__main__"] = script
    exec(code, vars(script))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
