"""Marks of nodes that do not stand in the policy's own text: those of included files, and values of variables."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any

from bobcat._core import Node
from bobcat.diagnostics.model import Related
from bobcat.frontend.yaml.nodes import copied


@dataclass(frozen=True, slots=True)
class FileMark:
    """A position in a file. `file` is None for the policy's own text, and `prefix` begins the file's names.

    `origin` is the definition of the variable whose value stands here; `path` is the position in a policy without text.
    """

    line: int
    column: int
    file: str | None = None
    prefix: str = ""
    origin: Related | None = None
    path: str = ""


# Any: the marks of the two parsers, of plain data and of files have no common type.
def marked(mark: Any, **changes: Any) -> Any:
    """Return a mark at the same position, with other properties."""
    if isinstance(mark, FileMark):
        return replace(mark, **changes)
    return FileMark(mark.line, mark.column, path=getattr(mark, "path", ""), **changes)


def in_file(root: Node, file: str, prefix: str) -> Node:
    """Return the nodes of an included file, each with the name of the file and the prefix of its names."""
    return copied(root, lambda node: node.value, lambda mark: marked(mark, file=file, prefix=prefix))


def file_of(node: Node) -> str | None:
    """Return the file of a node; None for the policy's own text."""
    mark = node.start_mark
    return mark.file if isinstance(mark, FileMark) else None


def is_substituted(node: Node) -> bool:
    """Return true if the text of a node has the value of a variable in it."""
    return isinstance(node.start_mark, FileMark) and node.start_mark.origin is not None


def qualified(name: str, node: Node) -> str:
    """Return the name that a definition at `node` has in the policy: with the prefix of its file."""
    mark = node.start_mark
    return f"{mark.prefix}.{name}" if isinstance(mark, FileMark) and mark.prefix else name


def unqualified(name: str, node: Node) -> str:
    """Return the name of a definition as its file has it: `qualified`, reversed."""
    return name.removeprefix(qualified("", node))


def resolved(name: str, node: Node, known: Container[str]) -> str:
    """Return the definition that a name at `node` means: that of its own file if there is one, or else the name."""
    own = qualified(name, node)
    return own if own in known else name
