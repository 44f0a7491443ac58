"""The functions that stand for those of `posixpath` do what those do."""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Callable
from typing import Any

import pytest

from bobcat.frontend.python.analysis import stdlib

PIECES = ["", "/", "//", "///", ".", "..", "a", "b.c", ".x", "...", "a..b", "a.", "é"]
PATHS = {"".join(pieces) for count in range(1, 4) for pieces in itertools.product(PIECES, repeat=count)}
ODD: list[Any] = [None, 5, [], {}, 1.5]


def answer(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("name", ["normpath", "basename", "dirname", "isabs", "split", "splitext"])
def test_a_function_of_one_path_is_its_namesake(name: str) -> None:
    for path in [*PATHS, *ODD]:
        assert answer(getattr(stdlib, name), path) == answer(getattr(posixpath, name), path), path


def test_paths_are_joined_as_posixpath_joins_two() -> None:
    for one, other in itertools.product([*PIECES, "a/b/", *ODD], repeat=2):
        assert answer(stdlib.join, one, other) == answer(posixpath.join, one, other), (one, other)
