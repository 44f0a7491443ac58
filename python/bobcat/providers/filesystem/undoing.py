"""Undo of the tools that write: what `Undo` reads before an effect, and writes back, through the same roots."""

from __future__ import annotations

import dataclasses
from contextlib import AbstractContextManager
from typing import Any

from bobcat.model.snapshot import Args
from bobcat.providers.filesystem.limits import FileLimits
from bobcat.providers.filesystem.paths import Roots
from bobcat.providers.filesystem.reading import encoded
from bobcat.tools.toolset import ToolSet
from bobcat.undo.files import FileSnapshotter


class UndoRoot:
    """The names beneath the roots of a provider, as `FileSnapshotter` opens them."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    def parent(self, path: str) -> AbstractContextManager[tuple[int, str]]:
        """Open the directory of a path. Raises `ToolError` for a path outside of the roots."""
        return self._roots.find(path, directory=True).parent()

    def canonical(self, path: str) -> str:
        """Return the absolute path."""
        place = self._roots.find(path, directory=True)
        return "/" + "/".join((*place.root.components, *place.components))


def undoable(tools: ToolSet, roots: Roots, limits: FileLimits) -> ToolSet:
    """Give each tool that writes its snapshotter."""
    root = UndoRoot(roots)

    def data(args: Args) -> bytes:
        return encoded(args["content"], args.get("encoding", "utf-8"), limits.write_bytes, args["path"])

    found: dict[str, FileSnapshotter] = {
        "fs.write": FileSnapshotter(root, content=lambda args, before: data(args)),
        "fs.append": FileSnapshotter(root, content=lambda args, before: (before or b"") + data(args), appends=True),
        "fs.delete": FileSnapshotter(root, becomes="absent"),
        "fs.move": FileSnapshotter(root, names=("path", "to"), becomes="moved"),
        "fs.mkdir": FileSnapshotter(root, becomes="directory"),
    }
    changed: dict[str, Any] = {
        name: dataclasses.replace(tool, snapshotter=found.get(name)) for name, tool in tools.tools.items()
    }
    return ToolSet(changed)
