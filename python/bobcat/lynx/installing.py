"""Let the name `lynx` mean `bobcat.lynx`, in this process and, when asked, in those it starts.

Every module under `lynx` is the module of that name under `bobcat.lynx`, the same object: a class is one class by
whichever name it is imported.
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
"""A directory with a package `lynx` that does nothing but install this one; for the import path of other processes."""


class _Finder(MetaPathFinder, Loader):
    """Answers for `lynx` and what is under it. Serves as its own loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of ours; None for every other name."""
        if fullname != NAME and not fullname.startswith(f"{NAME}."):
            return None
        home = _home_of(fullname)
        found = find_spec(home)
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None
        return spec_from_loader(fullname, self, origin=found.origin, is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> None:
        """Python makes an empty one, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of `bobcat.lynx` in the place of the empty one."""
        sys.modules[module.__name__] = importlib.import_module(_home_of(module.__name__))

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the module of `bobcat.lynx`, which `python -m` runs under the name `__main__`."""
        found = find_spec(_home_of(fullname))
        loader = None if found is None else found.loader
        return loader.get_code(_home_of(fullname)) if isinstance(loader, InspectLoader) else None


_FINDER = _Finder()


def install(*, children: bool = False) -> None:
    """From here on, `import lynx` gives `bobcat.lynx`, and `lynx.x.y` gives `bobcat.lynx.x.y`.

    Call it before anything imports lynx-agent: what was imported from it stays what it was, and a warning says so. With
    `children`, Python processes that this one starts (sandboxed tools, MCP servers) do the same: `PYTHONPATH` is
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
    """Undo `install`: `import lynx` gives again what it gave before, or nothing."""
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
    """A module of this package, or the one in `children` that is just installing it."""
    path = getattr(module, "__file__", None) or ""
    return module.__name__ == HOME or module.__name__.startswith(f"{HOME}.") or path.startswith(CHILDREN)
