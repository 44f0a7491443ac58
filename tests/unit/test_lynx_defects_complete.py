"""Every recorded defect of lynx-agent has a test: evaluation, schema, patterns, identity, runs, approvals, budgets,
durability, graphs, sandboxes, shadows."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_every_known_defect_of_lynx_agent_has_a_test() -> None:
    tested: set[int] = set()
    for path in TESTS.rglob("*.py"):
        for rows in re.findall(r"^# lynx-agent defect ([\d, ]+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            tested.update(int(row) for row in rows.split(", "))
    assert tested == set(range(1, 85))
