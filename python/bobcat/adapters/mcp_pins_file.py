"""The pins file of a proxy or a provider: the accepted definition of each tool of each server.

    {"version": 1, "servers": {"SERVER": {"TOOL": {"digest": "...", "description": "...", "definition": "{...}"}}}}

A pin has the digests of `bobcat.adapters.mcp_pins`, which are compared, and the definition as JSON text, which a
difference is shown with. Definitions that were refused are kept beside it, in `FILE.refused`, until they are accepted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bobcat.adapters.mcp_pins import changed_parts, differs, pin_of, read_pins
from bobcat.bundle.file import write
from bobcat.text.display import safe_text
from bobcat.text.json_text import json_digest

DEFINITION = "definition"
VERSION = 1
OTHER = "other fields"
_PARTS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_ABSENT = {"description": None, **dict.fromkeys(("title", "inputSchema", "outputSchema", "annotations"))}

Definition = Mapping[str, Any]  # Any: JSON
Pin = Mapping[str, str]
Servers = dict[str, dict[str, Pin]]


def pin(definition: Definition) -> dict[str, str]:
    """The pin of a listed tool: digests of its parts, of the whole, and its text."""
    found = pin_of(SimpleNamespace(**{**_ABSENT, **definition}))
    others = {name: value for name, value in definition.items() if name not in _PARTS}
    if others:  # no part of a pin without them, so that it is the one of `mcp_pins`
        found[OTHER] = json_digest(others)
        found["digest"] = json_digest([found["digest"], found[OTHER]])
    return {**found, DEFINITION: json.dumps(definition, sort_keys=True, ensure_ascii=False)}


class PinsFile:
    """The pins of a file, read again when it has changed. Raises `ValueError` for another shape, and `OSError`.

    `pin_new`: tools without a pin are accepted at their first listing, and recorded. Tools whose definition has changed
    are refused in any case.
    """

    def __init__(self, path: str | os.PathLike[str], *, pin_new: bool = False) -> None:
        self.path = Path(path)
        self._pin_new = pin_new
        self._stamp: tuple[int, int, int] | None = None
        self._servers: Servers = {}
        if pin_new and not self.path.exists():
            write_servers(self.path, {})
        self._refresh()

    def tools(self, server: str) -> Mapping[str, Pin]:
        """The pins of a server's tools by name. Raises as the constructor does."""
        self._refresh()
        return self._servers.get(server, {})

    def problem(self, server: str, definition: Definition) -> str | None:
        """The reason why a definition is refused, or None. A definition that is refused is kept in the other file."""
        try:
            self._refresh()
        except (OSError, ValueError) as error:
            return f"the pins cannot be read: {error}"
        name, found = definition["name"], pin(definition)
        known = self._servers.get(server, {}).get(name)
        if known is None and self._pin_new:
            return self._recorded(server, name, found)
        if known is None:
            self._keep_refused(server, name, found)
            return f"`{safe_text(name)}` has no pin; accept it with `bobcat mcp accept`"
        changed = changed_parts(known, {part: each for part, each in found.items() if part != DEFINITION})
        if not changed:
            return None
        self._keep_refused(server, name, found)
        return f"{differs(name, changed)}; accept it with `bobcat mcp accept`"

    def _recorded(self, server: str, name: str, found: Pin) -> str | None:
        try:
            servers = read_servers(self.path)
            servers.setdefault(server, {})[name] = found
            write_servers(self.path, servers)
        except (OSError, ValueError) as error:
            return f"the pin of `{safe_text(name)}` cannot be recorded: {error}"
        self._servers.setdefault(server, {})[name] = found
        return None

    def _keep_refused(self, server: str, name: str, found: Pin) -> None:
        path = refused_path(self.path)
        try:
            servers = read_servers(path) if path.exists() else {}
            if servers.get(server, {}).get(name) != found:
                servers.setdefault(server, {})[name] = found
                write_servers(path, servers)
        except (OSError, ValueError):
            return  # it stays refused; the file only saves listing the server again

    def _refresh(self) -> None:
        found = self.path.stat()
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp != self._stamp:
            self._servers = read_servers(self.path)
            self._stamp = stamp


def refused_path(path: Path) -> Path:
    """The file with the definitions that were refused."""
    return path.with_name(f"{path.name}.refused")


def read_servers(path: Path) -> Servers:
    """The pins of every server. Raises `ValueError` for another shape, and `OSError`."""
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a pins file: {error}") from error
    servers = data.get("servers") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or data.get("version") != VERSION or not isinstance(servers, Mapping):
        raise ValueError(f"{path}: not a pins file: `version` {VERSION} and `servers` are required")
    try:
        return {
            str(name): {tool: _complete(found) for tool, found in read_pins(pins).items()}
            for name, pins in servers.items()
        }
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def write_servers(path: Path, servers: Mapping[str, Mapping[str, Pin]]) -> None:
    """Write the pins of every server, atomically. Raises `OSError`."""
    data = {"version": VERSION, "servers": servers}
    write(path, (json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode())


def _complete(found: str | Pin) -> Pin:
    return {"digest": found} if isinstance(found, str) else found
