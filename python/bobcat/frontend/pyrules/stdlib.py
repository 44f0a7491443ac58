"""Functions of the standard library that are text and nothing else, in words that can be lowered.

Each does what its namesake in `posixpath` does to strings; `tests/pyrules/test_stdlib.py` compares them. A rule that
calls the namesake is lowered as if it called the function here. Paths of Windows have none: their rules are others.
"""

from __future__ import annotations

import posixpath


def _text(path: str) -> str:
    if not isinstance(path, str):
        raise TypeError("a path is a string")
    return path


def normpath(path: str) -> str:
    """`posixpath.normpath`."""
    path = _text(path)
    if path == "":
        return "."
    slashes = ""
    if path.startswith("/"):
        slashes = "//" if path.startswith("//") and not path.startswith("///") else "/"
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != ".." or (not slashes and not parts) or (parts and parts[-1] == ".."):
            parts.append(part)
        elif parts:
            parts = parts[:-1]
    return slashes + "/".join(parts) or "."


def basename(path: str) -> str:
    """`posixpath.basename`."""
    path = _text(path)
    return path[path.rfind("/") + 1 :]


def dirname(path: str) -> str:
    """`posixpath.dirname`."""
    path = _text(path)
    head = path[: path.rfind("/") + 1]
    return head.rstrip("/") if head and head != "/" * len(head) else head


def isabs(path: str) -> bool:
    """`posixpath.isabs`."""
    return _text(path).startswith("/")


def join(first: str, second: str) -> str:
    """`posixpath.join` of two parts."""
    first = _text(first)
    if second.startswith("/") if isinstance(second, str) else _text(second):
        return second
    if not first or first.endswith("/"):
        return first + second
    return first + "/" + second


def splitext(path: str) -> tuple[str, str]:
    """`posixpath.splitext`."""
    path = _text(path)
    start = path.rfind("/") + 1
    dot = path.rfind(".")
    if dot >= start and path[start:dot].strip(".") != "":
        return path[:dot], path[dot:]
    return path, ""


EQUIVALENTS: dict[object, object] = {
    posixpath.normpath: normpath,
    posixpath.basename: basename,
    posixpath.dirname: dirname,
    posixpath.isabs: isabs,
    posixpath.join: join,
    posixpath.splitext: splitext,
}
