"""Stores named by a URL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bobcat import PostgresStore, RedisStore, SQLiteStore
from bobcat.stores.urls import open_store


@pytest.mark.parametrize(
    "url, kind",
    [
        ("sqlite:///runs.db", SQLiteStore),
        ("postgres://user@host/name", PostgresStore),
        ("postgresql://user@host/name", PostgresStore),
        ("redis://host:6379/0", RedisStore),
        ("rediss://host", RedisStore),
    ],
)
def test_a_url_names_a_store(url: str, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert type(open_store(url)) is kind


@pytest.mark.parametrize(
    "url, package, extra", [("postgres://x", "psycopg", "postgres"), ("redis://x", "redis", "redis")]
)
def test_a_store_whose_driver_is_missing_names_what_installs_it(url: str, package: str, extra: str) -> None:
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from bobcat.stores.urls import open_store\n"
        f"try: open_store({url!r})\n"
        "except Exception as error: print(error.code, error)"
    )
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert output.strip() == f"missing_extra `{url.partition(':')[0]}://` needs `pip install bobcat[{extra}]`"
