"""Undo stores: a SQLite file, and a PostgreSQL database of each test's own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """The URL of a new database."""
    name = f"undo_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    parts = conninfo_to_dict(postgres_url)
    user = f"{parts['user']}:{parts['password']}" if parts.get("password") else parts.get("user", "postgres")
    yield f"postgresql://{user}@{parts['host']}:{parts.get('port', 5432)}/{name}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for an undo store."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("database")
        return url
    return str(tmp_path / "undo.db")
