"""Shared by the tests of decision logs: a log on every medium."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """The URL of a database that is gone after the test."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    name = f"bobcat_test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    parts = conninfo_to_dict(postgres_url)
    user = parts["user"] if "password" not in parts else f"{parts['user']}:{parts['password']}"
    yield f"postgresql://{user}@{parts['host']}:{parts.get('port', 5432)}/{name}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())


@pytest.fixture(params=["sqlite", "jsonl", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The path or the URL of a log that does not exist yet."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("database")
        return url
    return str(tmp_path / ("log.jsonl" if request.param == "jsonl" else "log.db"))


@pytest.fixture(params=["sqlite", "jsonl"])
def file_target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The path of a log that does not exist yet."""
    return str(tmp_path / ("log.jsonl" if request.param == "jsonl" else "log.db"))
