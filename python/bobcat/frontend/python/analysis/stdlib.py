"""Pure string functions of the standard library, reimplemented in Python that can be lowered.

Each has the result of the function of that name in `posixpath`; `tests/pyrules/test_stdlib.py` compares them. A rule
that calls the original is lowered as if it called the function here. `ntpath` is not covered: its semantics differ.
"""

from __future__ import annotations

import math
import posixpath
from typing import Any


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


def split(path: str) -> tuple[str, str]:
    """`posixpath.split`."""
    path = _text(path)
    at = path.rfind("/") + 1
    head = path[:at]
    return head.rstrip("/") if head and head != "/" * len(head) else head, path[at:]


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


def _float(x: float) -> float:
    if not isinstance(x, int | float):
        raise TypeError("a number is needed")
    return float(x)


def isnan(x: float) -> bool:
    """`math.isnan`."""
    number = _float(x)
    return number != number


def isinf(x: float) -> bool:
    """`math.isinf`."""
    return _float(x) in (_INFINITY, -_INFINITY)


def isfinite(x: float) -> bool:
    """`math.isfinite`."""
    number = _float(x)
    return number == number and number not in (_INFINITY, -_INFINITY)


def floor(x: float) -> int:
    """`math.floor`."""
    if not isinstance(x, int | float):
        raise TypeError("a number is needed")
    number = int(x)
    return number - 1 if number > x else number


def ceil(x: float) -> int:
    """`math.ceil`."""
    if not isinstance(x, int | float):
        raise TypeError("a number is needed")
    number = int(x)
    return number + 1 if number < x else number


_INFINITY = float("inf")

# Any below: any value that a rule compares.


def least(items: Any, key: Any) -> Any:
    """`min` with a key."""
    best = None
    best_key = None
    found = False
    for item in items:
        this = key(item)
        if not found or this < best_key:
            best = item
            best_key = this
        found = True
    if not found:
        raise ValueError("there is nothing")
    return best


def greatest(items: Any, key: Any) -> Any:
    """`max` with a key."""
    best = None
    best_key = None
    found = False
    for item in items:
        this = key(item)
        if not found or this > best_key:
            best = item
            best_key = this
        found = True
    if not found:
        raise ValueError("there is nothing")
    return best


def least_or(items: Any, key: Any, default: Any) -> Any:
    """`min` with a key and a default."""
    best = default
    best_key = None
    found = False
    for item in items:
        this = key(item)
        if not found or this < best_key:
            best = item
            best_key = this
        found = True
    return best


def greatest_or(items: Any, key: Any, default: Any) -> Any:
    """`max` with a key and a default."""
    best = default
    best_key = None
    found = False
    for item in items:
        this = key(item)
        if not found or this > best_key:
            best = item
            best_key = this
        found = True
    return best


EQUIVALENTS: dict[object, object] = {
    math.isnan: isnan,
    math.isinf: isinf,
    math.isfinite: isfinite,
    math.floor: floor,
    math.ceil: ceil,
    posixpath.normpath: normpath,
    posixpath.basename: basename,
    posixpath.dirname: dirname,
    posixpath.isabs: isabs,
    posixpath.join: join,
    posixpath.split: split,
    posixpath.splitext: splitext,
}
