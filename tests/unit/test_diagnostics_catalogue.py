"""Every diagnostic code is in the catalogue, documented, raised by its example, and has a snapshot of its text.

`BOBCAT_UPDATE_SNAPSHOTS=1 pytest tests/unit/test_diagnostics_catalogue.py` rewrites the snapshots.
"""

from __future__ import annotations

import os
import string

import pytest

from bobcat.diagnostics.catalogue import CODES
from bobcat.diagnostics.model import Severity
from diagnostic_examples import ROOT, Section, check, raised, rendered, sections

SNAPSHOTS = ROOT / "tests" / "snapshots"
SECTIONS = list(sections())
UPDATE = os.environ.get("BOBCAT_UPDATE_SNAPSHOTS") == "1"


def by_code(section: Section) -> str:
    return section.code


def test_every_code_has_one_section_and_every_section_a_code() -> None:
    assert sorted(section.code for section in SECTIONS) == sorted(CODES)
    assert {section.code: section.name for section in SECTIONS} == {code.id: code.name for code in CODES.values()}


def test_no_two_codes_share_a_name() -> None:
    assert len({code.name for code in CODES.values()}) == len(CODES)


def test_every_snapshot_belongs_to_a_code() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*.txt")} == set(CODES)


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.id)
def test_the_wording_follows_the_house_style(code: object) -> None:
    entry = CODES[code.id]  # type: ignore[attr-defined]
    for text in filter(None, (entry.message, entry.help)):
        assert not text.endswith(".")
        first = next((char for char in text if char.isalpha()), "a")
        assert first.islower() or text.startswith(("`", "{", "YAML")) or text.split()[0].isupper()
    names = {name for _, name, _, _ in string.Formatter().parse(entry.message + (entry.help or "")) if name}
    assert all(name.isidentifier() for name in names)


@pytest.mark.parametrize("section", SECTIONS, ids=by_code)
def test_the_documentation_says_what_the_code_is_about(section: Section) -> None:
    assert len(section.prose) > 20
    assert "```" not in section.prose


@pytest.mark.parametrize("section", SECTIONS, ids=by_code)
def test_the_example_raises_the_code_and_reads_like_the_snapshot(section: Section) -> None:
    found = raised(section)
    assert found, f"the example of {section.code} does not raise it"
    expected = {"W": Severity.WARNING, "N": Severity.NOTE}.get(section.code[0], Severity.ERROR)
    assert {item.severity for item in found} == {expected}
    path = SNAPSHOTS / f"{section.code}.txt"
    text = rendered(section)
    if UPDATE:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("section", [item for item in SECTIONS if item.example is not None], ids=by_code)
def test_a_finding_in_a_text_has_a_place_in_it(section: Section) -> None:
    assert section.example is not None
    lines = section.example.splitlines()
    for item in raised(section):
        assert item.span is not None
        assert 1 <= item.span.line <= len(lines) + 1


@pytest.mark.parametrize("section", [item for item in SECTIONS if item.instead is not None], ids=by_code)
def test_what_to_use_instead_is_free_of_the_code_and_of_errors(section: Section) -> None:
    found = check(section.instead, section.code)
    assert not [item for item in found if item.severity is Severity.ERROR or item.code == section.code]
