"""Warnings point at the line of the program that called the package."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import bobcat
import bobcat.lynx
from bobcat.errors import PolicyWarning

LAX = "rules: [{id: a, match: {tool: [x, y]}, decision: allow}]\nruels: []\n"
OLDER = {"host": "refuse"}


def file_of(directory: Path, text: str = LAX) -> Path:
    path = directory / "policy.yaml"
    path.write_text(text)
    return path


LAX_POLICIES: dict[str, Callable[[Path], object]] = {
    "compile_policy": lambda _: bobcat.compile_policy(LAX, profile="lynx"),
    "Policy.compile": lambda _: bobcat.Policy.compile(LAX, profile="lynx"),
    "Policy.compile of a file": lambda path: bobcat.Policy.compile(file_of(path), profile="lynx"),
    "load_policy_file": lambda path: bobcat.load_policy_file(file_of(path), profile="lynx"),
    "lynx.compile_policy": lambda _: bobcat.lynx.compile_policy(LAX),
    "lynx.load_policy_file": lambda path: bobcat.lynx.load_policy_file(file_of(path)),
}
OLDER_WORDS: dict[str, Callable[[Path], object]] = {
    "compile_policy": lambda _: bobcat.compile_policy("rules: []", **OLDER),  # type: ignore[arg-type]
    "Policy.compile": lambda _: bobcat.Policy.compile("rules: []", **OLDER),
    "Policy.compile of a file": lambda path: bobcat.Policy.compile(file_of(path, "rules: []"), **OLDER),
    "load_policy_file": lambda path: bobcat.load_policy_file(file_of(path, "rules: []"), **OLDER),  # type: ignore[arg-type]
}


def files_of(compile_it: Callable[[Path], object], directory: Path, category: type[Warning]) -> set[tuple[str, int]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile_it(directory)
    assert caught
    assert all(issubclass(one.category, category) for one in caught)
    return {(one.filename, one.lineno) for one in caught}


@pytest.mark.parametrize("compile_it", LAX_POLICIES.values(), ids=LAX_POLICIES)
def test_a_lax_policy_warns_at_the_line_that_compiles_it(compile_it: Callable[[Path], object], tmp_path: Path) -> None:
    line = compile_it.__code__.co_firstlineno
    assert files_of(compile_it, tmp_path, PolicyWarning) == {(__file__, line)}


@pytest.mark.parametrize("compile_it", OLDER_WORDS.values(), ids=OLDER_WORDS)
def test_an_older_word_warns_at_the_line_that_uses_it(compile_it: Callable[[Path], object], tmp_path: Path) -> None:
    line = compile_it.__code__.co_firstlineno
    assert files_of(compile_it, tmp_path, DeprecationWarning) == {(__file__, line)}


def test_a_bundle_that_loads_warns_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "policy.bobcat"
    with pytest.warns(PolicyWarning):
        bobcat.Policy.compile(LAX, profile="lynx").save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bobcat.load_bundle(path, profile="lynx")
        bobcat.Policy.load(path, profile="lynx")
