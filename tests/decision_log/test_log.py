"""The log through its public names: appends, entries, records, modes of files, errors."""

from __future__ import annotations

import asyncio
import json
import math
import os
import pickle
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bobcat.decision_log import DecisionLogError, open_log, verify
from bobcat.decision_log.entry import Head, Row, entry_row
from bobcat.decision_log.target import shown_target

FORKS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
DECISION = {"tool": "fs.write", "args": {"path": "a"}, "verdict": "allow", "principal": {"kind": "user", "id": "ann"}}


def code_of(error: pytest.ExceptionInfo[DecisionLogError]) -> str:
    return error.value.code


def test_entries_are_chained_in_order_of_position(target: str) -> None:
    with open_log(target) as log:
        first = log.append("r1", "decision", DECISION)
        second = log.append("r1", "outcome", {"status": "ok", "value": 1})
        assert (first.seq, first.kind, first.record_id, first.previous) == (1, "decision", "r1", "0" * 64)
        assert (second.seq, second.previous) == (2, first.hash)
        assert dict(first.body) == DECISION
        assert abs(datetime.now(UTC) - first.at) < timedelta(minutes=1)
        assert list(log.entries()) == [first, second]
        assert list(log.entries(after=1)) == [second]
        assert list(log.entries(since=first.at - timedelta(hours=1))) == [first, second]
        assert list(log.entries(since=second.at + timedelta(hours=1))) == []
    with open_log(target) as log:
        third = log.append("r2", "decision", DECISION)
        assert (third.seq, third.previous) == (3, second.hash)
    assert verify(target).ok


def test_a_record_has_the_status_of_its_last_entry(target: str) -> None:
    with open_log(target) as log:
        log.append("a", "decision", DECISION)
        assert [record.status for record in log.records()] == ["uncertain"]
        log.append("a", "outcome", {"status": "waiting", "code": "x"})
        assert [record.status for record in log.records()] == ["waiting"]
        log.append("a", "resume", {"attempt": 1})
        assert [record.status for record in log.records()] == ["uncertain"]
        log.append("a", "outcome", {"status": "failed", "error": "boom"})
        log.append("b", "outcome", {"status": "invalid", **DECISION})
        found, other = log.records()
        assert (found.record_id, found.status, found.tool, found.resumes) == ("a", "failed", "fs.write", 1)
        assert found.body["error"] == "boom"
        assert "code" not in found.body
        assert (other.record_id, other.status) == ("b", "invalid")
        assert log.record("a") == found
        assert log.record("none") is None


def test_records_are_filtered_and_limited_to_the_newest(target: str) -> None:
    with open_log(target) as log:
        for number in range(6):
            name = "web.get" if number % 2 else "fs.write"
            log.append(f"r{number}", "decision", {**DECISION, "tool": name})
            log.append(f"r{number}", "outcome", {"status": "ok" if number % 3 else "denied"})

        def ids(**options: object) -> list[str]:
            return [record.record_id for record in log.records(**options)]  # type: ignore[arg-type]

        assert ids(status="denied") == ["r0", "r3"]
        assert ids(tool="web.get") == ["r1", "r3", "r5"]
        assert ids(principal="ann", limit=2) == ids(principal="user:ann")[-2:] == ["r4", "r5"]
        assert ids(principal="bob") == []
        assert ids(since=datetime.now(UTC) + timedelta(hours=1)) == []
        assert ids(since=datetime(2000, 1, 1)) == [f"r{number}" for number in range(6)]


def test_values_that_json_lacks_are_stored_as_text_and_verify(target: str) -> None:
    hostile = {"nan": math.nan, "half": "\ud800", "nul": "\0", "set": {1}, "big": 10**5000, 1: "key", "object": object}
    with open_log(target) as log:
        entry = log.append("r", "decision", {"args": hostile})
        assert list(log.entries()) == [entry]
        assert entry.body["args"]["nan"] == "NaN"
        assert entry.body["args"]["nul"] == "\0"
    assert verify(target).ok


@pytest.mark.parametrize(
    ("record_id", "kind", "body", "code"),
    [
        ("", "decision", {}, "bad_record"),
        ("a\n", "decision", {}, "bad_record"),
        ("a" * 513, "decision", {}, "bad_record"),
        (7, "decision", {}, "bad_record"),
        ("a", "checkpoint", {}, "bad_kind"),
        ("a", "decision", [], "bad_body"),
        ("a", "decision", {"args": "x" * (16 * 1024 * 1024)}, "too_large"),
    ],
)
def test_invalid_entries_are_rejected_and_leave_nothing(
    target: str, record_id: str, kind: str, body: dict[str, object], code: str
) -> None:
    with open_log(target) as log:
        with pytest.raises(DecisionLogError) as error:
            log.append(record_id, kind, body)
        assert code_of(error) == code
        assert list(log.entries()) == []
        assert log.append("r", "decision", {}).seq == 1


def test_an_error_is_an_oserror_with_a_code_and_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(DecisionLogError("full", "no space")))
    assert isinstance(error, OSError)
    assert (error.code, str(error)) == ("full", "no space")


def test_new_files_are_readable_by_their_owner_only(file_target: str) -> None:
    before = os.umask(0)
    try:
        with open_log(file_target) as log:
            log.append("r", "decision", {})
            files = list(Path(file_target).parent.iterdir())
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in files}
    finally:
        os.umask(before)
    assert len(modes) >= 2
    assert set(modes.values()) == {0o600}


def test_a_closed_log_is_not_written(target: str) -> None:
    log = open_log(target)
    log.close()
    log.close()
    with pytest.raises(DecisionLogError) as error:
        log.append("r", "decision", {})
    assert code_of(error) == "closed"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("redis://localhost", "bad_target"),
        ("sqlite://relative.db", "bad_target"),
        ("sqlite:///", "bad_target"),
        ("", "bad_target"),
        ("/", "bad_target"),
        ("/nowhere/at/all.db", "unavailable"),
        ("/nowhere/at/all.jsonl", "unavailable"),
        ("postgresql://nobody@127.0.0.1:1/none", "unavailable"),
    ],
)
def test_a_target_that_cannot_be_opened_has_a_code(name: str, code: str) -> None:
    with pytest.raises(DecisionLogError) as error:
        open_log(name)
    assert code_of(error) == code


def test_a_url_names_a_sqlite_file(tmp_path: Path) -> None:
    with open_log(f"sqlite:///{tmp_path}/x.log") as log:
        log.append("r", "decision", {})
    assert verify(tmp_path / "x.log").entries == 1


def test_a_log_that_must_exist_is_not_created(target: str) -> None:
    with pytest.raises(DecisionLogError) as error:
        open_log(target, must_exist=True)
    assert code_of(error) == "not_there"
    with pytest.raises(DecisionLogError) as error:
        verify(target)
    assert code_of(error) == "not_there"


def test_files_of_other_kinds_are_refused_and_stay(tmp_path: Path) -> None:
    store, text = tmp_path / "store.db", tmp_path / "text"
    with sqlite3.connect(store) as connection:
        connection.execute("CREATE TABLE other (a)")
    connection.close()
    text.write_text("no database, and long enough to have a header of one, so that SQLite reads it and refuses it " * 9)
    for path in (store, text):
        for read_only in (False, True):
            with pytest.raises(DecisionLogError) as error:
                open_log(path, must_exist=True, read_only=read_only)
            assert code_of(error) == "not_a_log"
    lines = tmp_path / "audit.jsonl"
    lines.write_text('{"correlation_id": "a"}\n')
    with pytest.raises(DecisionLogError) as error:
        open_log(lines)
    assert code_of(error) == "damaged"
    assert lines.read_text() == '{"correlation_id": "a"}\n'


def test_lines_of_a_file_are_canonical_json_with_the_fields_of_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with open_log(path) as log:
        entry = log.append("r", "decision", {"b": "é", "a": 1.5})
    data = json.loads(path.read_text())
    assert data == entry.to_json()
    assert path.read_text() == json.dumps(data, sort_keys=True, separators=(",", ":")) + "\n"


@FORKS
def test_a_log_that_cannot_be_written_raises_and_can_be_read(file_target: str) -> None:
    folder = Path(tempfile.mkdtemp())
    path = folder / Path(file_target).name
    with open_log(path) as log:
        log.append("r", "decision", {})
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    try:
        assert as_unprivileged(lambda: code_of_append(path)) == "read_only"
        assert as_unprivileged(lambda: str(verify(path).ok)) == "True"
        assert as_unprivileged(lambda: str(len(open_log(path, read_only=True).records()))) == "1"
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def code_of_append(path: Path) -> str:
    try:
        with open_log(path) as log:
            log.append("r", "outcome", {"status": "ok"})
    except DecisionLogError as error:
        return error.code
    return "appended"


def as_unprivileged(work: Callable[[], str]) -> str:
    """The result of `work` in a fork that is not root, whom no mode stops."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - measured in the parent only
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            os.write(writing, work().encode())
        except BaseException as error:
            os.write(writing, repr(error).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as file:
        found = file.read()
    os.waitpid(child, 0)
    return found


@FORKS
def test_a_fork_appends_with_its_own_connection(target: str) -> None:
    with open_log(target) as log:
        log.append("parent", "decision", {})
        child = os.fork()
        if child == 0:  # pragma: no cover - measured in the parent only
            try:
                log.append("child", "decision", {})
                os._exit(0)
            except BaseException:
                os._exit(1)
        log.append("parent", "outcome", {"status": "ok"})
        assert os.waitpid(child, 0)[1] == 0
        log.append("last", "decision", {})
        assert [entry.seq for entry in log.entries()] == [1, 2, 3, 4]
    assert verify(target).ok


def test_the_newest_records_are_those_that_changed_last(target: str) -> None:
    with open_log(target) as log:
        for number in range(450):
            log.append(f"r{number}", "outcome", {"status": "ok" if number % 9 else "denied"})
        log.append("r0", "outcome", {"status": "waiting"})
        assert [record.record_id for record in log.records(limit=3)] == ["r0", "r448", "r449"]
        assert [record.record_id for record in log.records("denied", limit=2)] == ["r432", "r441"]
        assert len(log.records("denied", limit=100)) == 49
        assert len(log.records(["denied", "waiting"])) == 50
        log.prune(datetime(2200, 1, 1))
        assert [record.record_id for record in log.records(limit=3)] == ["r0"]


@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
def test_a_log_and_a_store_share_a_database(database: str) -> None:
    from bobcat.stores import PostgresStore

    async def put(key: str) -> None:
        store = PostgresStore(database, durability="warn")
        await store.put("kind", key, {}, expected=0)
        await store.aclose()

    with open_log(database) as log:
        log.append("r", "decision", {})
        asyncio.run(put("a"))
    with open_log(database) as log:
        log.append("r", "outcome", {"status": "ok"})
        asyncio.run(put("b"))
    assert verify(database).ok


def test_a_writer_that_waits_too_long_gives_up(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sqlite", "head_file", "postgres"):
        monkeypatch.setattr(f"bobcat.decision_log.{module}.BUSY_SECONDS", 1.0)
    with open_log(target) as holder, open_log(target) as log:

        def hold(head: Head) -> Row:
            with pytest.raises(DecisionLogError) as error:
                log.append("r", "decision", {})
            assert code_of(error) == "busy"
            return entry_row(head, "r", "decision", at="2026-01-01T00:00:00.000000Z", body="{}")

        holder.medium.append(hold)
        assert log.append("r", "outcome", {"status": "ok"}).seq == 2
    assert verify(target).ok


def test_a_password_in_a_url_is_not_shown() -> None:
    assert shown_target("postgresql://ann:a:b@c@host:5432/name") == "postgresql://ann:…@host:5432/name"
    assert shown_target("postgresql://ann@host/name") == "postgresql://ann@host/name"
    assert shown_target("a:b@c.db") == "a:b@c.db"


FINAL = [("ok", "", True), ("denied", "", True), ("failed", "", True), ("previewed", "", True), ("unknown", "u", True),
         ("permitted", "", True), ("asked", "", True), ("waiting", "", False), ("uncertain", "", False),
         ("denied", "cancelled", False), ("failed", "store_failed", False)]  # fmt: skip


@pytest.mark.parametrize(("status", "code", "final"), FINAL)
def test_an_append_of_an_overtaken_process_leaves_a_final_record(
    target: str, status: str, code: str, final: bool
) -> None:
    with open_log(target) as log:
        assert log.append_open("r", "decision", {"tool": "t"}, when=lambda: True) is not None
        log.append("r", "outcome", {"status": status, **({"code": code} if code else {})})
        assert (log.append_open("r", "decision", {"tool": "t"}, when=lambda: True) is None) == final
        assert log.append_open("other", "decision", {}, when=lambda: True) is not None
        record = log.record("r")
        assert record is not None
        assert record.status == (status if final else "uncertain")
        assert log.append_open("r", "decision", {"tool": "t"}, when=lambda: False) is not None
    assert verify(target).ok
