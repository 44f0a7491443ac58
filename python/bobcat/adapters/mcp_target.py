"""The servers that `mcp_tools` connects to: commands, and URLs of streamable HTTP endpoints."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SEPARATOR = "__"
"""Between the name of a server and that of its tool, where there are several: models' APIs accept no dots."""

Command = str | Sequence[str] | Any
"""A command, a URL, or the SDK's `StdioServerParameters`. Any: the SDK is optional."""


@dataclass(frozen=True)
class Target:
    """One server: a command with its arguments, or a URL. `prefix` stands before the names of its tools."""

    words: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: str | Path | None = None
    prefix: str = ""

    @property
    def label(self) -> str:
        """The server in messages."""
        return self.url or self.words[0]


def prefix_of(server: str) -> str:
    """Return the prefix of a server's tools. Raises `ValueError` for a name that another one could imitate."""
    if not server or SEPARATOR in server or server.startswith("_") or server.endswith("_"):
        raise ValueError(
            f"the name of a server cannot be {server!r}: it must not be empty, contain `__`, or begin or end with `_`"
        )
    return f"{server}{SEPARATOR}"


def targets_of(
    command: Command | Mapping[str, Command], env: Mapping[str, str] | None, cwd: str | Path | None
) -> list[Target]:
    """The servers that a caller names. Raises `TypeError` and `ValueError`."""
    if not isinstance(command, Mapping):
        return [_target(command, env, cwd, "")]
    if not command:
        raise ValueError("mcp_tools: the mapping of servers cannot be empty")
    return [_target(each, env, cwd, prefix_of(str(name))) for name, each in command.items()]


def _target(given: Command, env: Mapping[str, str] | None, cwd: str | Path | None, prefix: str) -> Target:
    if isinstance(given, str) and given.startswith(("http://", "https://")):
        return Target(url=given, prefix=prefix)
    parameters: Any = given
    if isinstance(getattr(given, "command", None), str):
        own = None if env is None and parameters.env is None else {**(env or {}), **(parameters.env or {})}
        return Target((parameters.command, *parameters.args), "", own, parameters.cwd or cwd, prefix)
    words = shlex.split(given) if isinstance(given, str) else list(given) if isinstance(given, Sequence) else None
    if words is None or not all(isinstance(each, (str, os.PathLike)) for each in words):
        raise TypeError(f"mcp_tools: a server is a command, a URL or StdioServerParameters, got {type(given).__name__}")
    if not words:
        kind = "string" if isinstance(given, str) else "list"
        raise ValueError(f"mcp_tools: command {kind} cannot be empty")
    return Target(tuple(map(os.fspath, words)), "", env, cwd, prefix)
