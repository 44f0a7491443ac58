"""Stores named by a URL."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from bobcat import FileStore, PostgresStore, RedisStore, SQLiteStore, StoreError
from bobcat.stores.urls import open_store


@pytest.mark.parametrize(
    "url, kind",
    [
        ("sqlite:///runs.db", SQLiteStore),
        ("file:journals", FileStore),
        ("file:./journals", FileStore),
        ("file:///journals", FileStore),
        ("journals/", FileStore),
        (".", FileStore),
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
    assert output.strip() == f"missing_extra `{url.partition(':')[0]}://` needs `pip install 'bobcat[{extra}]'`"


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("file:some%20runs", "some runs"),
        ("file:{here}/journals", "journals"),
        ("file://{here}/journals", "journals"),
        ("file://localhost{here}/journals", "journals"),
        ("journals/", "journals"),
    ],
)
def test_a_directory_of_journals_is_where_the_url_says(
    url: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def use(must_exist: bool) -> None:
        async with aclosing(open_store(url.format(here=tmp_path), must_exist=must_exist)) as store:
            await store.set_status("r", "queued")

    with pytest.raises(StoreError) as refused:
        asyncio.run(use(must_exist=True))
    assert refused.value.code == "not_there"
    assert list(tmp_path.iterdir()) == []
    asyncio.run(use(must_exist=False))
    assert (tmp_path / place / "runs" / "r.json").is_file()
    asyncio.run(use(must_exist=True))


@pytest.mark.parametrize(
    ("url", "reported"),
    [
        ("sqllite:///runs.db", "did you mean `sqlite:///runs.db`?"),
        ("sqlite3:///runs.db", "did you mean `sqlite:///runs.db`?"),
        ("SQLITE:///runs.db", "did you mean `sqlite:///runs.db`?"),
        ("sqlite+aiosqlite:///runs.db", "did you mean `sqlite:///runs.db`?"),
        ("sqlite:runs.db", "did you mean `sqlite:///runs.db`?"),
        ("postgre://x", "did you mean `postgres://user@host/name`?"),
        ("postgresql+psycopg://me:secret@x/y", "did you mean `postgresql://user@host/name`?"),
        ("reddis://x", "did you mean `redis://host:6379/0`?"),
        ("files:journals", "did you mean `file:journals`?"),
        ("mysql://x", "a store's URL begins with `sqlite://`, `file:`, `postgres://`, `redis://`"),
        ("", "a store's URL begins with"),
        ("runs.db", "write `sqlite:///runs.db` for a file"),
        (
            "file://journals/a",
            "`file://journals/a` names a directory on `journals`: write `file:journals/a` for one here",
        ),
        ("file:", "`file:` has no directory: write `file:journals`"),
        ("file:///", "has no directory"),
        ("sqlite:///taken", "`taken` is a directory: write `file:taken` for a store of files"),
        ("file:notes.txt", "`notes.txt` is a file: a store of files is a directory; `sqlite:///notes.txt`?"),
    ],
)
def test_a_text_that_names_no_store_gets_a_suggestion(
    url: str, reported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(StoreError) as refused:
        open_store(url)
    assert refused.value.code == "bad_url"
    assert reported in str(refused.value)
    assert "secret" not in str(refused.value)
