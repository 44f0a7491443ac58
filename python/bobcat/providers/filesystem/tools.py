"""`files`: the tools that read and write beneath given directories."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from bobcat.providers.filesystem.limits import FileLimits
from bobcat.providers.filesystem.paths import Roots
from bobcat.providers.filesystem.reading_tools import reading_tools
from bobcat.providers.filesystem.root import MOUNTS, RESOLVERS, SYMLINKS, Mounts, Resolver, Root, Symlinks
from bobcat.providers.filesystem.writing_tools import writing_tools
from bobcat.tools.toolset import ToolSet

Directory: TypeAlias = str | os.PathLike[str]
HardLinks: TypeAlias = Literal["refuse", "read"]


def files(
    roots: Directory | Mapping[str, Directory],
    *,
    base: Directory | None = None,
    symlinks: Symlinks = "refuse",
    hard_links: HardLinks = "refuse",
    mounts: Mounts = "refuse",
    read_only: bool = False,
    private: bool = True,
    limits: FileLimits | None = None,
    resolver: Resolver | None = None,
) -> ToolSet:
    """Make the tools `fs.read`, `fs.list`, `fs.stat`, `fs.write`, `fs.append`, `fs.delete`, `fs.move`, `fs.mkdir`.

    `roots` is a directory, or a mapping of names to directories; each is opened now, and everything else beneath it. A
    path is absolute or relative to `base`, by default the present current directory, and must lie within a root.
    `symlinks`: "refuse", or "beneath" to read through links that stay below the root. `hard_links`: "refuse" files with
    other names, which may belong to another place, or "read" them; they are never written. `mounts`: "refuse" or
    "allow" other file systems below a root. `read_only` leaves out the tools that write. `private`: new files and
    directories are for this user only; otherwise the umask decides. `resolver` forces a way to open beneath a root.

    Raises `ValueError` for other values, `OSError` for a root that cannot be opened, and `NotImplementedError` on
    systems that cannot open a file relative to a directory.
    """
    _check("symlinks", symlinks, SYMLINKS)
    _check("hard_links", hard_links, get_args(HardLinks))
    _check("mounts", mounts, MOUNTS)
    _check("resolver", resolver, (None, *RESOLVERS))
    if os.name != "posix" or os.open not in os.supports_dir_fd:
        raise NotImplementedError(f"files are contained on Linux and macOS only, not on {sys.platform}")
    given: Mapping[str, Directory] = roots if isinstance(roots, Mapping) else {os.fspath(roots): roots}
    if not given:
        raise ValueError("roots must name at least one directory")
    start = os.path.abspath(os.getcwd() if base is None else base)
    opened = [
        Root(name, _absolute(start, directory), symlinks=symlinks, mounts=mounts, resolver=resolver)
        for name, directory in given.items()
    ]
    maxima = limits or FileLimits()
    known = Roots(opened, start, maxima.depth)
    tools = reading_tools(known, maxima, hard_links=hard_links == "read")
    return tools if read_only else tools.union(writing_tools(known, maxima, private=private))


def _absolute(start: str, directory: Directory) -> str:
    path = os.path.normpath(os.path.join(start, os.fspath(directory)))
    return "/" + path.lstrip("/")  # POSIX lets two slashes at the start stand


def _check(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
