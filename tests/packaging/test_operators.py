"""An operator is in the places that CONTRIBUTING.md lists ("Add an operator"), and in no other source file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bobcat.build import Path as BuilderPath
from bobcat.language.operators import LOWERED_TO, OPERATORS, ROWS
from bobcat.language.paths import PATHS

ROOT = Path(__file__).parents[2]
ROWS_IN_PYTHON = ROOT / "python/bobcat/language/operators.py"
ROWS_IN_RUST = sorted((ROOT / "rust/core/src/clause/ops").glob("*.rs"))
PAGES = [ROOT / "docs/reference/policy-language.md", ROOT / "docs/reference/semantics.md"]
CASES = "".join(file.read_text() for file in sorted((ROOT / "tests/cases").glob("*.yaml")))

OTHER_LANGUAGES = (
    "python/bobcat/frontend/lynx/",  # lynx-agent's operators
    "python/bobcat/frontend/python/",  # Python's operators and methods, as below
    "python/bobcat/ir/code.py",
    "python/bobcat/ir/pretty_code.py",
    "python/bobcat/testing/mutation/functions.py",
    "rust/core/src/pyfn/",
    "rust/core/src/facets/shell/",  # words of the shell
    "rust/core/src/facets/sql/",  # words of SQL
    "python/bobcat/providers/database/",  # words of SQL
    "rust/core/src/ir/function.rs",
    "rust/core/src/ir/function_leaf.rs",
    "rust/core/src/ir/function_memory.rs",
    "rust/core/src/regex/",
    "python/bobcat/lint/pattern_syntax.py",
    "python/bobcat/tools/",  # JSON Schema and type annotations
)
ABOUT_OPERATORS = ("python/bobcat/lint/", "python/bobcat/analysis/sequences/", "rust/core/src/analysis/")
"""Lints about one operator, or one family, name it; of one that the analysis does not name, its answer is `unknown`."""
NAMED: dict[str, str] = {
    "python/bobcat/analysis/changed_call.py": "eq",  # a value that a changed call keeps
    "python/bobcat/analysis/dead_rules.py": "matches",  # a field of an answer
    "python/bobcat/analysis/tool_names.py": "eq in matches",  # tests that name tools, and globs
    "python/bobcat/proposals/extension.py": "lt",  # the end of a grant's time
    "python/bobcat/bounds/code_outcomes.py": "eq in not_in",  # tests of known tools, here and below
    "python/bobcat/bounds/outcomes.py": "eq in not_in",
    "python/bobcat/report/columns.py": "eq in not_in",
    "python/bobcat/text/prometheus.py": "le",  # a label of Prometheus
    "python/bobcat/ir/conjuncts.py": "eq in",  # the tools that a match names
    "python/bobcat/ir/schema.py": "first",  # a combiner of layers
    "python/bobcat/traffic/usage.py": "eq in",  # the literals that a clause names: tools and environments
    "python/bobcat/build/conditions.py": "length",  # an example in a message
    "python/bobcat/build/paths.py": "eq ge gt le lt",  # Python's signs
    "python/bobcat/diagnostics/catalogue.py": "glob",  # the name of a code
    "python/bobcat/facets/__init__.py": "occurs_in",  # a function for rules in Python
    "python/bobcat/frontend/strict/capabilities.py": "none",  # a value of `redirects`, here and in the next two
    "python/bobcat/frontend/strict/capability_limits.py": "first none",
    "python/bobcat/frontend/strict/capability_schema.py": "none",
    "python/bobcat/frontend/strict/comparisons.py": "eq",  # a number after `length`
    "python/bobcat/frontend/strict/facet_keys.py": "eq",  # a key without an operator
    "python/bobcat/frontend/strict/key_syntax.py": "in",  # an example in a message
    "python/bobcat/frontend/strict/keys.py": "eq",  # a key without an operator
    "python/bobcat/frontend/strict/memory.py": "eq",  # conditions that are true
    "python/bobcat/frontend/guard_rules.py": "exists le matches",  # the tests of guards
    "python/bobcat/frontend/strict/operands.py": "contains contains_any in",  # what to write in place of a list
    "python/bobcat/frontend/strict/references.py": "any eq",  # a class of values, and a mapping that is no reference
    "python/bobcat/frontend/strict/rules.py": "matches",  # a misspelt `match`
    "python/bobcat/frontend/strict/vocabulary.py": "all any",  # misspelt connectives
    "python/bobcat/ir/construct.py": "eq exists",  # normal forms
    "python/bobcat/proxy/visibility.py": "eq",  # the name of a tool, compared without the core
    "python/bobcat/language/facets.py": "first ge le",  # a part of a command, `gte` and `lte`
    "rust/core/src/clause/inline.rs": "between eq ge gt in le lt not_between not_in",  # its unit tests
    "rust/core/src/facets/describe.rs": "first",  # a part of a command
    "rust/core/src/facets/kind.rs": "first",  # a part of a command
    "rust/core/src/facets/value.rs": "first",  # a part of a command
    # Leaves of unit tests.
    "rust/core/src/compile/eager.rs": "eq matches",
    "rust/core/src/compile/index_build.rs": "between contains eq gt in lower matches not_in starts_with subset_of",
    "rust/core/src/compile/test_policies.rs": "matches",
}
CONNECTIVES = frozenset(("all", "any"))
"""Names of nodes of the IR and of a trace, too."""
ORDINARY = frozenset(("all", "any", "empty", "exists", "first", "from", "length", "none"))
"""Words that have other meanings outside of the compiler: the effect `none`, the status `all`."""
COMPILER = ("python/bobcat/build/", "python/bobcat/diagnostics/", "python/bobcat/frontend/", "python/bobcat/ir/")


def literals(file: Path) -> set[str]:
    text = file.read_text(encoding="utf-8")
    return {name for name in OPERATORS if f'"{name}"' in text}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_has_one_row_in_each_language(name: str) -> None:
    assert sum(row.name == name for row in ROWS) == 1
    row = re.compile(rf'^    "{name}" OperandType::', re.MULTILINE)
    rows = sum(len(row.findall(file.read_text(encoding="utf-8"))) for file in ROWS_IN_RUST)
    assert rows == (name not in LOWERED_TO)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_has_a_builder_method_or_a_sign(name: str) -> None:
    assert OPERATORS[name].sign or callable(getattr(BuilderPath, OPERATORS[name].method))


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_has_a_case_and_a_row_in_both_pages(name: str) -> None:
    written = LOWERED_TO.get(name, name)
    assert re.search(rf"\.{written}\b|\b{written}:", CASES)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert re.search(rf"^\|[^|]*`{written}`", text, re.MULTILINE), f"{page.name} has no row for `{written}`"


def test_no_other_source_file_names_an_operator() -> None:
    sources = [*(ROOT / "python/bobcat").rglob("*.py"), *(ROOT / "rust").glob("*/src/**/*.rs")]
    found = {}
    for file in sources:
        name = file.relative_to(ROOT).as_posix()
        if file == ROWS_IN_PYTHON or file in ROWS_IN_RUST or name.startswith((*OTHER_LANGUAGES, *ABOUT_OPERATORS)):
            continue
        allowed = CONNECTIVES | (frozenset() if name.startswith(COMPILER) else ORDINARY)
        others = literals(file) - allowed - set(NAMED.get(name, "").split())
        if others:
            found[name] = sorted(others)
    assert found == {}


def test_a_field_of_the_builder_is_a_path_with_a_row() -> None:
    from bobcat.build.paths import _Context, _Declared

    for group, fields in (("declared", _Declared.__annotations__), ("context", _Context.__annotations__)):
        assert {(group, name) for name in fields} <= PATHS.keys()


def test_both_languages_have_the_same_paths() -> None:
    text = (ROOT / "rust/core/src/lang/path.rs").read_text(encoding="utf-8")
    rows = re.findall(r"^    \w+ = (\w+) \[(.*)\],", text, re.MULTILINE)
    paths = {(head.lower(), *re.findall(r'"(\w+)"', keys)) for head, keys in rows}
    assert paths - {("result",), ("record",)} == PATHS.keys() - {("context", "principal")}
