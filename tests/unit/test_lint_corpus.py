"""The lints on policies of many domains: findings, false findings and missed ones.

The policies in `tests/lint_corpus` are annotated at each rule: `# finds W0122`; `# false W0129` for a false finding,
and `# misses W0102` for a hole without a finding. `BOBCAT_UPDATE_SNAPSHOTS=1 pytest tests/unit/test_lint_corpus.py`
updates the table in `docs/reference/lints.md` from these.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from bobcat.diagnostics.catalogue import CODES
from bobcat.lint.check import check_source

ROOT = Path(__file__).resolve().parents[2]
CORPUS = sorted((ROOT / "tests" / "lint_corpus").glob("*.yaml"))
SHIPPED = sorted(
    path
    for directory in ("examples/policies", "python/bobcat/cli/starter")
    for path in (ROOT / directory).glob("*.yaml")
    if not path.name.endswith(".policytest.yaml")
)
PAGE = ROOT / "docs" / "reference" / "lints.md"
UPDATE = os.environ.get("BOBCAT_UPDATE_SNAPSHOTS") == "1"

_RULE = re.compile(r"\{id: ([\w-]+),.*?(?:# (.*))?$")
_SAID = re.compile(r"(finds|false|misses) ([WN0-9 ]+)")
_HEAD = "| lint | findings | of these false | holes missed |"

Finding = tuple[str, str]


def labelled(path: Path, word: str) -> set[Finding]:
    """The findings that the comments of a policy name."""
    found: set[Finding] = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        rule = _RULE.search(line)
        if rule is not None and rule[2]:
            found |= {
                (rule[1], code) for said, codes in _SAID.findall(rule[2]) if said == word for code in codes.split()
            }
    return found


def made(path: Path) -> set[Finding]:
    """The findings about a policy, by the rule that they name first."""
    found: set[Finding] = set()
    for item in check_source(path.read_text(encoding="utf-8"), path.name):
        rule = re.search(r"the rules? `([^`]*)`", item.message)
        assert rule is not None, item
        if item.code != "N0104":  # a hint that the facets exist, which every policy about texts gets
            found.add((rule[1], item.code))
    return found


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_the_findings_about_a_policy_are_those_that_it_names(path: Path) -> None:
    assert made(path) == labelled(path, "finds") | labelled(path, "false")
    assert not made(path) & labelled(path, "misses")


def test_the_corpus_has_hundreds_of_rules_good_and_bad() -> None:
    rules = [line for path in CORPUS for line in path.read_text(encoding="utf-8").splitlines() if _RULE.search(line)]
    assert len(rules) >= 200
    assert 80 <= sum("# finds" in line for line in rules) <= len(rules) - 80


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_policies_that_are_shipped_have_no_finding(path: Path) -> None:
    assert made(path) == set()


def table() -> str:
    """The table of the documentation."""
    counts = {word: Counter[str]() for word in ("finds", "false", "misses")}
    for path in CORPUS:
        for word, counted in counts.items():
            counted.update(code for _, code in labelled(path, word))
    rules = sum(bool(_RULE.search(line)) for path in CORPUS for line in path.read_text(encoding="utf-8").splitlines())
    codes = sorted(set().union(*counts.values()))
    rows = [
        f"| {code} {CODES[code].name} | {counts['finds'][code] + counts['false'][code]} | {counts['false'][code]} "
        f"| {counts['misses'][code]} |"
        for code in codes
    ]
    total = {word: sum(counted.values()) for word, counted in counts.items()}
    rows.append(
        f"| all, over {rules} rules | {total['finds'] + total['false']} | {total['false']} | {total['misses']} |"
    )
    return "\n".join([_HEAD, "|---|---|---|---|", *rows]) + "\n"


def test_the_documentation_has_the_figures() -> None:
    page = PAGE.read_text(encoding="utf-8")
    start = page.index(_HEAD)
    end = page.index("\n\n", start) + 1
    if UPDATE:
        PAGE.write_text(page[:start] + table() + page[end:], encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
    assert page[start:].startswith(table())
