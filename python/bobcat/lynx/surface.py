"""Versions of lynx-agent that `bobcat.lynx` shows, one at a time.

The modules of `bobcat.lynx` are those of 2.5. For 2.11, those of `bobcat.lynx.v2_11` are laid over them: the names in
`__all__` of each replace or extend those of the module of the same path. `bobcat.lynx.installing` calls this.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Literal, TypeAlias, get_args

Version: TypeAlias = Literal["2.5", "2.11"]
VERSIONS: tuple[Version, ...] = get_args(Version)
HOME = "bobcat.lynx"
OVERLAY = f"{HOME}.v2_11"
CHANGED = (
    "", "cli.main", "core.mediator", "core.policy", "core.scheduler", "core.types", "decorators", "graph", "policy",
    "sinks",
)  # fmt: skip
"""Modules of 2.5 that 2.11 changed."""
ADDED = (
    "adapters.openai_compat", "compressors", "integrations", "integrations.core", "integrations.openai_agents", "proxy",
    "proxy.mcp_proxy",
)  # fmt: skip
"""Modules that 2.11 added."""
_MISSING = object()


def checked_version(version: object) -> Version:
    """Return the version. Raises `ValueError` for another one."""
    for known in VERSIONS:
        if version == known:
            return known
    raise ValueError(f"version must be one of {', '.join(map(repr, VERSIONS))}, got {version!r}")


class Surface:
    """The version that `bobcat.lynx` shows."""

    def __init__(self) -> None:
        self.version: Version = "2.5"
        self._replaced: list[tuple[Any, str, Any]] = []  # Any: modules, and values of their names
        """The module, the name and the value of each name of 2.5, in the order of replacement."""

    def show(self, version: Version) -> None:
        """Show the names of a version, and no others."""
        if version == self.version:
            return
        if version == "2.11":
            for path in CHANGED:
                self._lay(import_module(_joined(OVERLAY, path)), import_module(_joined(HOME, path)))
        else:
            self._uncover()
        self.version = version

    def home_of(self, name: str, root: str) -> str | None:
        """Return the module that `name`, which begins with `root`, stands for; None for one that this version lacks."""
        path = name.removeprefix(root).removeprefix(".")
        if path in ADDED:
            return _joined(OVERLAY, path) if self.version == "2.11" else None
        return _joined(HOME, path)

    def _lay(self, over: Any, module: Any) -> None:  # Any: modules
        for name in over.__all__:
            self._replace(module, name, getattr(over, name))
        public = {*getattr(module, "__all__", ()), *over.__all__}
        self._replace(module, "__all__", sorted(public))

    def _replace(self, module: Any, name: str, value: Any) -> None:  # Any: as above
        self._replaced.append((module, name, vars(module).get(name, _MISSING)))
        setattr(module, name, value)

    def _uncover(self) -> None:
        while self._replaced:
            module, name, value = self._replaced.pop()
            if value is _MISSING:
                delattr(module, name)
            else:
                setattr(module, name, value)
        for path in ADDED:
            name = _joined(HOME, path)
            sys.modules.pop(name, None)
            parent, _, attribute = name.rpartition(".")
            if attribute in vars(sys.modules.get(parent, object)):
                delattr(sys.modules[parent], attribute)


def _joined(root: str, path: str) -> str:
    return f"{root}.{path}" if path else root
