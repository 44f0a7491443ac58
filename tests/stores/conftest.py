"""Shared by the tests of stores on servers: a schema of a database, or a prefix of keys, for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest


@pytest.fixture
def schema(postgres_url: str) -> Iterator[str]:
    """The name of a schema that is gone after the test."""
    import psycopg

    name = f"bobcat_test_{uuid.uuid4().hex[:12]}"
    yield name
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE'.encode())


@pytest.fixture
def prefix(redis_url: str) -> Iterator[str]:
    """A prefix of keys that are deleted after the test."""
    import redis

    name = f"bobcat-test-{uuid.uuid4().hex[:12]}:"
    yield name
    with redis.Redis.from_url(redis_url) as client:
        for key in client.scan_iter(f"{name}*", count=1000):
            client.delete(key)
