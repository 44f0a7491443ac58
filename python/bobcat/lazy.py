"""Lazy packages: a name is imported when it is first used.

A package lists its public names once, as `from module import Name as Name` in its stub `__init__.pyi`. Type
checkers read that file, and so does the package itself:

    __getattr__, __dir__, __all__ = attach(__name__, __file__)
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # PERF: a worker that loads a bundle imports neither `typing` nor what it needs (8 ms)
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make `__getattr__`, `__dir__` and `__all__` of a package from the stub beside `file`, its `__init__.py`.

    Any: module attributes are of any type.
    """
    origins = _origins(file + "i")

    def find(name: str) -> Any:
        module = sys.modules[package]
        if name not in origins:
            # With the name and the object, Python itself suggests the closest name.
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)
        value = resolve(origins[name], name)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *origins})

    return find, names, sorted(origins)


def resolve(module: str, name: str) -> Any:
    """Import `name` of a module by its path: for methods that use a module of a higher layer."""
    __import__(module)
    return getattr(sys.modules[module], name)


def _origins(stub: str) -> dict[str, str]:
    """The module of each name. PERF: lines of one fixed form; a syntax tree takes 4 ms."""
    origins: dict[str, str] = {}
    module = ""
    with open(stub, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("from "):
                module, _, line = line[5:].partition(" import ")
            name, alias, _ = line.strip().partition(" as ")
            if alias and module:
                origins[name] = module
    return origins
