"""The codes of `BundleError`: each that the source raises is documented, and each that is documented is raised."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def documented() -> set[str]:
    text = (ROOT / "docs" / "reference" / "bundle-format.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `(\w+)` \|", text.partition("## Codes")[2], re.MULTILINE))


def raised() -> set[str]:
    python = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "python/bobcat/bundle").glob("*.py"))
    core = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "rust/core/src/ir").glob("*.rs"))
    binding = (ROOT / "rust/py/src/program.rs").read_text(encoding="utf-8")
    return {
        *re.findall(r'BundleError\(\s*"(\w+)"', python),
        *re.findall(r'DecodeError::new\(\s*"(\w+)"', core),
        *re.findall(r'=> "(ir_\w+)"', core),
        *re.findall(r'core_error\(py, "(\w+)"', binding),
    }


def test_the_documentation_lists_exactly_the_codes_that_are_raised() -> None:
    assert raised() == documented()
