"""No unsafe row of the incumbent goes untested: evaluation, schema, patterns, identity, runs, approvals, budgets."""

from __future__ import annotations

import re
from pathlib import Path


def test_every_row_from_u1_to_u60_has_a_test_named_after_it() -> None:
    tested: set[int] = set()
    for path in Path(__file__).parent.glob("test_unsafe_rows_*.py"):
        for name in re.findall(r"^def (test_u\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            tested.update(int(row) for row in re.findall(r"u(\d\d)_", name))
    assert tested == set(range(1, 61))
