"""Words: plain technical English in code, comments and messages, and none of the names that were given up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXEMPT = ROOT / "python/bobcat/journal/legacy_names.py"
GIVEN_UP = (
    "tenure manner doubt glance misfit laxness woken gauge comparand deaf forgive foresee "
    "Cruised Express INCUMBENT Manner Tenure Doubt Overtaken GraphManner LoweredInVain Judged Sight Foresight Exotic "
    "Ruling Moment settle_doubt doubt_about doubt_stays investigate give_back procrastinated store_loop stand_ins "
    "lynx_laxness crew_exchange wire_names ask_loosely run_in_manner run_values plain_json python_rule quick.py"
).split()
PHRASES = ("is none", "are none", "nobody", "whoever", "is told", "are told", "what is no")
OPENINGS = re.compile(r"(What|Whether|Where|Who|Whose|How|Which|That)\b")


def _sources() -> Iterator[tuple[str, str]]:
    paths = [*(ROOT / "python/bobcat").rglob("*.py*"), *(ROOT / "rust").rglob("*.rs")]
    for path in sorted(paths):
        if path != EXEMPT and path.suffix in {".py", ".pyi", ".rs"} and "target" not in path.parts:
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def _lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()}"
        for name, text in _sources()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_names_that_were_given_up_stand_nowhere() -> None:
    assert _lines_with(re.compile(rf"\b(?:{'|'.join(map(re.escape, GIVEN_UP))})\b")) == []


@pytest.mark.parametrize("phrase", PHRASES)
def test_sentences_are_plain(phrase: str) -> None:
    assert _lines_with(re.compile(rf"\b{phrase}\b")) == []


def test_docstrings_open_with_an_imperative_or_a_noun_phrase() -> None:
    found, total = [], 0
    for name, text in _sources():
        if name.endswith(".rs"):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = ast.get_docstring(node)
                total += docstring is not None
                if docstring and OPENINGS.match(docstring):
                    found.append(f"{name}:{getattr(node, 'lineno', 1)}: {docstring.splitlines()[0]}")
    assert len(found) < total * 0.02, found
