"""Outcomes are values: no code decides by the text of a message, a reason or an error."""

from __future__ import annotations

import ast
from pathlib import Path

import bobcat

ROOT = Path(bobcat.__file__).parent
READS_MESSAGES = {Path("journal/legacy_names.py")}
OPENINGS = ("[ok]", "[error]", "[denied]", "[dry_run]", "denied:", "cancelled:", "superseded", "suspended:")
METHODS = {"startswith", "endswith", "find", "index", "count", "partition", "match", "search", "fullmatch"}


def texts(node: ast.AST) -> list[str]:
    return [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def lookups(tree: ast.Module) -> list[tuple[int, str]]:
    """The lines that look for an opening of a message, and the text that they look for."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            looked_for = [text for argument in node.args for text in texts(argument)]
        elif isinstance(node, ast.Compare) and any(isinstance(operator, ast.In | ast.NotIn) for operator in node.ops):
            looked_for = texts(node.left)
        else:
            continue
        found += [(node.lineno, text) for text in looked_for if text.startswith(OPENINGS)]
    return found


def test_no_module_looks_into_messages() -> None:
    found = {
        (str(path.relative_to(ROOT)), *line)
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT) not in READS_MESSAGES
        for line in lookups(ast.parse(path.read_text()))
    }
    assert not found


def test_the_search_finds_such_tests() -> None:
    source = 'a = text.startswith(("[denied]", "[ok]"))\nb = "superseded" in error\nc = status in ("superseded",)\n'
    assert lookups(ast.parse(source)) == [(1, "[denied]"), (1, "[ok]"), (2, "superseded")]
