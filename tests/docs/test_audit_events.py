"""The page of audit events has a row for every kind of event."""

from __future__ import annotations

import re
from pathlib import Path

from bobcat.cli.log import KINDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "audit-events.md").read_text(encoding="utf-8")


def test_every_kind_of_event_has_one_row() -> None:
    tables = PAGE.partition("## `policy.evaluated`")[0]
    cells = re.findall(r"^\| (`[^|]*`) \|", tables, flags=re.MULTILINE)
    assert sorted(kind for cell in cells for kind in re.findall(r"`([\w.]+)`", cell)) == sorted(KINDS)
