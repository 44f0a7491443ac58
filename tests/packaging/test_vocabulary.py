"""Words: plain technical English in code, comments, messages and tests, and none of the names that were given up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXEMPT = ROOT / "python/bobcat/journal/legacy_names.py"
GIVEN_UP = (
    "tenure manner doubt glance misfit laxness woken comparand deaf forgive foresee not_kept let_count "
    "Cruised Express INCUMBENT Manner Tenure Doubt Overtaken GraphManner LoweredInVain Judge Judged Sight Foresight "
    "Exotic Ruling Moment settle_doubt doubt_about doubt_stays investigate give_back procrastinated store_loop "
    "stand_ins lynx_laxness crew_exchange wire_names ask_loosely run_in_manner run_values plain_json python_rule "
    "incumbent judging check_sense sifted gave_up PATIENCE honest_key CLUMSY quick.py begun.py cheap.rs inert.rs"
).split()
PHRASES = ("is none", "are none", "[Nn]obody", "[Ww]hoever", "is told", "are told", "[Ww]hat is no")
OPENINGS = re.compile(r"(What|Whether|Where|Who|Whose|How|Which|That)\b")
GIVEN_UP_IN_TESTS = re.compile(
    r"(?:^|_)(?:nobody|nobodys|anybody|whoever|told|judged?|judges|judging|doubts?|manners?|incumbents?|glances?|woken|mortal"
    r"|both_ways|unsafe_rows|odd|u\d+|what_is_no|that_is_none|that_are_none)(?:_|$)"
)
"""Parts of the names of tests and of their modules: house words, and rows of a list that only its author has."""


def _sources() -> Iterator[tuple[str, str]]:
    paths = [
        *(ROOT / "python/bobcat").rglob("*.py*"),
        *(ROOT / "rust").rglob("*.rs"),
        *(ROOT / "rust/profile").glob("*.py"),
    ]
    for path in sorted(paths):
        if path != EXEMPT and path.suffix in {".py", ".pyi", ".rs"} and "target" not in path.parts:
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def _tests() -> Iterator[tuple[str, str]]:
    for path in sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "benches").rglob("*.py")]):
        if "released" not in path.parts:
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


def _docstrings(sources: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, text in sources:
        if name.endswith(".rs"):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = ast.get_docstring(node)
                if docstring:
                    yield f"{name}:{getattr(node, 'lineno', 1)}", docstring


@pytest.mark.parametrize("sources", [_sources, _tests], ids=["package", "tests"])
def test_docstrings_open_with_an_imperative_or_a_noun_phrase(sources: object) -> None:
    assert callable(sources)
    docstrings = list(_docstrings(sources()))
    found = [f"{place}: {text.splitlines()[0]}" for place, text in docstrings if OPENINGS.match(text)]
    assert len(found) < len(docstrings) * 0.02, found


def test_names_of_tests_are_plain() -> None:
    found = []
    for name, text in _tests():
        if GIVEN_UP_IN_TESTS.search(Path(name).stem):
            found.append(name)
        for node in ast.walk(ast.parse(text)):
            is_test = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
            if is_test and GIVEN_UP_IN_TESTS.search(node.name.removeprefix("test")):
                found.append(f"{name}:{node.lineno}: {node.name}")
    assert found == []


def test_docstrings_and_comments_of_tests_are_plain() -> None:
    banned = re.compile(rf"\b(?:{'|'.join(PHRASES)}|incumbent|judged|manner)\b")
    found = [f"{place}: {text.splitlines()[0]}" for place, text in _docstrings(_tests()) if banned.search(text)]
    found += [
        f"{name}:{number}: {line.strip()}"
        for name, text in _tests()
        for number, line in enumerate(text.splitlines(), 1)
        if line.lstrip().startswith("# ") and banned.search(line)
    ]
    assert found == []
