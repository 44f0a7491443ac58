"""Undo stores: a SQLite file, and a PostgreSQL database of each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for an undo store."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("database")
        return url
    return str(tmp_path / "undo.db")
