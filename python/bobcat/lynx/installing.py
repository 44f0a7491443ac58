"""Alias the package name `lynx` to `bobcat.lynx`, in this process and optionally in its child processes.

It selects the version of lynx-agent whose names the package has. Every module under `lynx` is the same object as the
module under `bobcat.lynx`: a class is one class by either import path.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from pathlib import Path
from threading import RLock
from types import CodeType, ModuleType

from bobcat.lynx.surface import ADDED, HOME, VERSIONS, Surface, Version, checked_version

NAME = "lynx"
CHILDREN: Mapping[Version, str] = {
    "2.5": str(Path(__file__).with_name("children")),
    "2.11": str(Path(__file__).with_name("children_2_11")),
}
"""Directories with a package `lynx` that only installs this one, for the import path of other processes."""
VERSION_VARIABLE = "BOBCAT_LYNX_VERSION"
"""The variable that selects the version of the commands `lynx` and `python -m bobcat.lynx`."""


class _Finder(MetaPathFinder, Loader):
    """Finder and loader of `lynx` and its submodules, and of the modules of `bobcat.lynx` that a version adds."""

    def __init__(self) -> None:
        self.surface = Surface()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of this package; None for every other name."""
        home = self._home_of(fullname)
        found = None if home is None else find_spec(home)
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None
        return spec_from_loader(fullname, self, origin=found.origin, is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create an empty module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace the empty module by the module of `bobcat.lynx`."""
        home = self._home_of(module.__name__)
        if home is None:
            raise ModuleNotFoundError(f"No module named {module.__name__!r}", name=module.__name__)
        sys.modules[module.__name__] = importlib.import_module(home)

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module of `bobcat.lynx`, which `python -m` runs under the name `__main__`."""
        home = self._home_of(fullname)
        found = None if home is None else find_spec(home)
        loader = None if found is None else found.loader
        return loader.get_code(home) if home and isinstance(loader, InspectLoader) else None

    def _home_of(self, name: str) -> str | None:
        """Return the module that a name stands for, None for a name that is not this finder's."""
        if name == NAME or name.startswith(f"{NAME}."):
            return self.surface.home_of(name, NAME)
        if not name.startswith(f"{HOME}."):
            return None
        home = self.surface.home_of(name, HOME)
        return home if home != name else None


_FINDER = _Finder()
_LOCK = RLock()
"""Held while the version changes: threads see one version at a time."""


def install(*, children: bool = False, version: Version = "2.5") -> None:
    """Make `import lynx` import `bobcat.lynx`, and `lynx.x.y` import `bobcat.lynx.x.y`.

    `version` is the version of lynx-agent whose names both have: `2.5`, or `2.11`, which adds gates of frameworks and
    MCP servers and chained audit lines, and has other defaults; the last call counts. Call it before any import of
    lynx-agent: modules already imported from it are kept, with a warning, and so are values imported from another
    version. With `children`, Python child processes (sandboxed tools, MCP servers) do the same: `PYTHONPATH` is
    extended in the environment and in `sys.path`.

    Raises `ValueError` for another version.
    """
    selected = checked_version(version)
    with _LOCK:
        _install(selected, children=children)


def _install(selected: Version, *, children: bool) -> None:
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    loaded = _loaded()
    foreign = [name for name in loaded if not _is_ours(sys.modules[name])]
    for name in foreign:
        del sys.modules[name]
    if foreign:
        warnings.warn(
            f"imported before `bobcat.lynx.install()`, and still lynx-agent's: {', '.join(sorted(foreign))}",
            RuntimeWarning,
            stacklevel=3,
        )
    _show(selected)
    if children:
        _remove_children(but=selected)
        path = CHILDREN[selected]
        inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if path not in inherited:
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [path, *inherited]))
        if path not in sys.path:
            sys.path.insert(0, path)


def uninstall() -> None:
    """Undo `install`: `import lynx` finds the previous package again, or fails; `bobcat.lynx` is that of 2.5."""
    with _LOCK:
        _show("2.5")
        if _FINDER in sys.meta_path:
            sys.meta_path.remove(_FINDER)
        for name in _loaded():
            if _is_ours(sys.modules[name]):
                del sys.modules[name]
        _remove_children()


def version_of_environment() -> Version:
    """Return the version that `BOBCAT_LYNX_VERSION` selects, by default 2.5. Raises `ValueError` for another one."""
    given = os.environ.get(VERSION_VARIABLE) or VERSIONS[0]
    try:
        return checked_version(given)
    except ValueError as error:
        raise ValueError(f"{VERSION_VARIABLE}: {error}") from None


def _loaded() -> list[str]:
    """Return the imported modules with the package's name. Other threads may import at the same time."""
    return [name for name in list(sys.modules) if name == NAME or name.startswith(f"{NAME}.")]


def _show(version: Version) -> None:
    """Show a version; the modules under `lynx` that another one added are forgotten."""
    if _FINDER.surface.version != version:
        _FINDER.surface.show(version)
        for path in ADDED:
            sys.modules.pop(f"{NAME}.{path}", None)


def _remove_children(but: Version | None = None) -> None:
    """Remove the directories for other processes from the import paths, but that of one version."""
    removed = {path for version, path in CHILDREN.items() if version != but}
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if removed.intersection(inherited):
        os.environ["PYTHONPATH"] = os.pathsep.join(path for path in inherited if path and path not in removed)
    sys.path[:] = [path for path in sys.path if path not in removed]


def _is_ours(module: ModuleType) -> bool:
    """Return true for a module of this package, or the one in `children` during its installation."""
    path = getattr(module, "__file__", None) or ""
    return (
        module.__name__ == HOME or module.__name__.startswith(f"{HOME}.") or path.startswith(tuple(CHILDREN.values()))
    )
