"""Alias the package name `lynx` to `bobcat.lynx`, in this process and optionally in its child processes.

Every module under `lynx` is the same object as the module under `bobcat.lynx`: a class is one class by
either import path.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

NAME = "lynx"
HOME = "bobcat.lynx"
CHILDREN = str(Path(__file__).with_name("children"))
"""A directory with a package `lynx` that only installs this one, for the import path of other processes."""


class _Finder(MetaPathFinder, Loader):
    """Finder and loader of `lynx` and its submodules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of this package; None for every other name."""
        if fullname != NAME and not fullname.startswith(f"{NAME}."):
            return None
        home = _home_of(fullname)
        found = find_spec(home)
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None
        return spec_from_loader(fullname, self, origin=found.origin, is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create an empty module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace the empty module by the module of `bobcat.lynx`."""
        sys.modules[module.__name__] = importlib.import_module(_home_of(module.__name__))

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module of `bobcat.lynx`, which `python -m` runs under the name `__main__`."""
        found = find_spec(_home_of(fullname))
        loader = None if found is None else found.loader
        return loader.get_code(_home_of(fullname)) if isinstance(loader, InspectLoader) else None


_FINDER = _Finder()


def install(*, children: bool = False) -> None:
    """Make `import lynx` import `bobcat.lynx`, and `lynx.x.y` import `bobcat.lynx.x.y`.

    Call it before any import of lynx-agent: modules already imported from it are kept, with a warning. With
    `children`, Python child processes (sandboxed tools, MCP servers) do the same: `PYTHONPATH` is
    extended in the environment and in `sys.path`. Calling it again changes nothing.
    """
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    loaded = [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]
    foreign = [name for name in loaded if not _is_ours(sys.modules[name])]
    for name in foreign:
        del sys.modules[name]
    if foreign:
        warnings.warn(
            f"imported before `bobcat.lynx.install()`, and still lynx-agent's: {', '.join(sorted(foreign))}",
            RuntimeWarning,
            stacklevel=2,
        )
    if children:
        inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if CHILDREN not in inherited:
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [CHILDREN, *inherited]))
        if CHILDREN not in sys.path:
            sys.path.insert(0, CHILDREN)


def uninstall() -> None:
    """Undo `install`: `import lynx` finds the previous package again, or fails."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    for name in [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]:
        if _is_ours(sys.modules[name]):
            del sys.modules[name]
    kept = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != CHILDREN]
    if CHILDREN in os.environ.get("PYTHONPATH", ""):
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)
    while CHILDREN in sys.path:
        sys.path.remove(CHILDREN)


def _home_of(name: str) -> str:
    return HOME + name.removeprefix(NAME)


def _is_ours(module: ModuleType) -> bool:
    """Return true for a module of this package, or the one in `children` during its installation."""
    path = getattr(module, "__file__", None) or ""
    return module.__name__ == HOME or module.__name__.startswith(f"{HOME}.") or path.startswith(CHILDREN)
