"""No unsafe row of the incumbent goes untested: evaluation, schema, patterns, identity, runs, approvals, budgets,
durability, graphs."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_every_row_from_u1_to_u72_has_a_test_named_after_it() -> None:
    tested: set[int] = set()
    places = (
        (TESTS / "unit").glob("test_unsafe_rows_*.py"),
        (TESTS / "kernel").glob("*.py"),
        (TESTS / "graph").glob("*.py"),
    )
    for path in chain(*places):
        for name in re.findall(r"^def (test_u\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            tested.update(int(row) for row in re.findall(r"u(\d\d)_", name))
    assert tested == set(range(1, 73))
