"""No two files of the package need each other: imports inside functions and for type checking count, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PYTHON = Path(__file__).resolve().parents[2] / "python"
TOP_LEVEL_MODULES = 8


def _modules() -> dict[str, Path]:
    paths = [path for path in (PYTHON / "bobcat").rglob("*.py") if "starter" not in path.parts]
    return {_name(path): path for path in paths}


def _name(path: Path) -> str:
    return ".".join(path.relative_to(PYTHON).with_suffix("").parts).removesuffix(".__init__")


def _imported(tree: ast.AST) -> Iterator[tuple[str, ...]]:
    """Candidates of each import, the most exact first."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name,) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((f"{node.module}.{alias.name}", node.module) for alias in node.names)


def _graph(sources: dict[str, str]) -> dict[str, set[str]]:
    known = {*sources, "bobcat._core"}
    graph: dict[str, set[str]] = {"bobcat._core": set()}
    for module, text in sources.items():
        found = (next((name for name in names if name in known), None) for names in _imported(ast.parse(text)))
        graph[module] = {name for name in found if name and name != module}
    return graph


def _circle(graph: dict[str, set[str]]) -> list[str]:
    """One circle of files, or nothing."""
    done: set[str] = set()
    for start in graph:
        path: list[str] = []
        stack = [(start, iter(sorted(graph[start])))]
        path.append(start)
        while stack:
            following = next(stack[-1][1], None)
            if following is None:
                stack.pop()
                done.add(path.pop())
            elif following in path:
                return [*path[path.index(following) :], following]
            elif following not in done:
                stack.append((following, iter(sorted(graph[following]))))
                path.append(following)
    return []


def test_no_circle_of_files_is_imported() -> None:
    sources = {name: path.read_text(encoding="utf-8") for name, path in _modules().items()}
    assert _circle(_graph(sources)) == []


@pytest.mark.parametrize(
    "back",
    [
        "def f():\n    from bobcat.a import x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import bobcat.a",
        "from bobcat import a",
    ],
)
def test_a_circle_is_found_in_functions_and_under_type_checking(back: str) -> None:
    sources = {"bobcat": "", "bobcat.a": "from bobcat.b import y", "bobcat.b": "import bobcat.c", "bobcat.c": back}
    assert _circle(_graph(sources)) == ["bobcat.a", "bobcat.b", "bobcat.c", "bobcat.a"]


def test_few_modules_stand_beside_the_packages() -> None:
    modules = {path.name.split(".")[0] for path in (PYTHON / "bobcat").iterdir() if path.suffix in {".py", ".pyi"}}
    assert len(modules) <= TOP_LEVEL_MODULES, sorted(modules)
