"""Content of a store or a file may differ from what was written: it is read as it is, or refused with a code."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
from bobcat import (
    ActionRequest,
    ApprovalDecision,
    ApprovalError,
    ApprovalRequest,
    Decision,
    ExecutionContext,
    FileStore,
    MemoryStore,
    Principal,
    SQLiteStore,
    StoreError,
    ToolMetadata,
    Verdict,
    durable_approvals,
)
from bobcat.approvals import Approvals, Pending, StoredConfirmationGate
from bobcat.approvals.record import approval_from_json
from bobcat.cli.failures import InputError
from bobcat.cli.journal_file import read_journals
from bobcat.cli.json_option import json_object
from bobcat.cli.trace import trace
from bobcat.errors import JobError
from bobcat.journal.records import StepRecord, step_record_to_json
from bobcat.runtime.timeline import timeline
from bobcat.stores.protocol import RunSummary
from bobcat.workers.job import Job, job_from_json
from documents import Documents
from hostile_json import hostile_json, hostile_text

MOMENT = "2026-01-31T12:00:00+00:00"
APPROVAL: dict[str, Any] = {
    "id": "a1", "status": "pending", "run_id": "r", "step": 1, "round": 0, "tool": "t", "args": {"n": [1]},
    "reason": "x", "rules": ["r1"], "bundle_id": "b", "digest": "d", "principal": "p", "environment": "prod",
    "approvers": ["alice"], "needed": 2, "created": MOMENT, "expires": MOMENT, "edited": {"n": 2}, "used": None,
    "answers": [{"approver": "alice", "granted": True, "at": MOMENT, "reason": ""}], "told": True,
}  # fmt: skip
JOB = Job("r", "hello", {"n": 1}, datetime(2026, 1, 31, tzinfo=UTC), error="x").to_json()
GRANTS: dict[str, Any] = {
    "target": "t", "args": None, "scope": None,
    "grants": [{"approver": "alice", "expires": None}, {"approver": "bob", "expires": "2999-01-01T00:00:00+00:00"}],
    "spent": [{"approver": "eve", "by": "x", "at": MOMENT}],
}  # fmt: skip
RECORDS = [
    StepRecord("r", seq, kind, "", {"step": seq, "x": "x"}, datetime(2026, 1, 31, tzinfo=UTC) + timedelta(seconds=seq))
    for seq, kind in enumerate(["run.started", "model.output", "action.intent", "action.result", "final"])
]
LINES = [json.loads(step_record_to_json(record)) for record in RECORDS]
STATE = {
    "run_id": "r",
    "status": "running",
    "created": 1,
    "updated": 2,
    "detail": {},
    "fence": 1,
    "owner": "x",
    "expires": 3,
}
DOCUMENT = {"kind": "k", "key": "d", "version": 1, "updated": 5, "body": {"x": "x"}}
SETTINGS = settings(max_examples=campaign.examples(60), deadline=None)


@settings(max_examples=campaign.examples(200))
@given(hostile_json(APPROVAL))
def test_a_hostile_approval_is_refused_or_valid(body: Any) -> None:
    try:
        read = approval_from_json(body)
    except ApprovalError as error:
        assert error.code == "damaged"  # noqa: PT017  # both are right
        return
    assert approval_from_json(read.to_json()) == read
    assert read.as_of(datetime(2030, 1, 1, tzinfo=UTC)).status in {"expired", read.status}
    assert read.needed >= 1


@settings(max_examples=campaign.examples(200))
@given(hostile_json(APPROVAL), st.sampled_from(["alice", "bob"]))
def test_a_hostile_approval_is_answered_or_refused(body: Any, approver: str) -> None:
    async def answer() -> None:
        store = MemoryStore(clock=lambda: datetime(2026, 1, 31, tzinfo=UTC))
        approvals = Approvals(store)
        await store.put("approval", "a1", body, expected=0)
        before = await settled(approvals.show("a1"))
        listed = await approvals.list_all(status=None)
        assert listed.approvals == (() if before is None else (before,))
        assert [item.id for item in listed.unreadable] == (["a1"] if before is None else [])
        try:
            answered = await approvals.grant("a1", approver=approver)
        except ApprovalError:
            return
        assert before is not None
        assert before.status == "pending" or not answered.changed
        assert approver in before.approvers or not before.approvers
        assert approver in answered.approval.granted_by

    asyncio.run(answer())


async def settled(call: Awaitable[Any]) -> Any:
    """The result of a call, which may be refused as damaged."""
    try:
        return await call
    except ApprovalError as error:
        assert error.code == "damaged"  # noqa: PT017  # both are right
        return None


@settings(max_examples=campaign.examples(200))
@given(hostile_json(GRANTS))
def test_hostile_grants_are_refused_or_count(body: Any) -> None:
    async def consume() -> None:
        store = Documents()
        gate = StoredConfirmationGate(store)
        await gate.grant("t")
        [(kind, key)] = store.kept
        await store.put(kind, key, body, expected=1)
        grant = await settled(gate.consume("t", by="x"))
        assert grant is None or isinstance(grant.approver, str)
        await settled(gate.grant("t"))

    asyncio.run(consume())


@settings(max_examples=campaign.examples(200))
@given(hostile_json(JOB))
def test_a_hostile_job_is_refused_or_valid(body: Any) -> None:
    try:
        read = job_from_json(body)
    except JobError as error:
        assert error.code == "damaged"  # noqa: PT017  # both are right
        return
    assert job_from_json(json.loads(json.dumps(read.to_json()))) == read
    assert read.run_at < datetime.max.replace(tzinfo=UTC)
    assert read.attempts + read.priority is not None


async def read_everything(store: Any) -> None:
    """Damaged values are reported, and all others have the documented types."""
    calls: list[Callable[[], Awaitable[Any]]] = [
        lambda: store.load("r"), lambda: store.run("r"), lambda: store.runs(), lambda: store.get("k", "d"),
        lambda: store.scan("k"),
    ]  # fmt: skip
    for call in calls:
        try:
            found = await call()
        except StoreError as error:
            assert error.code == "damaged", error  # noqa: PT017  # both are right
            continue
        for each in found if isinstance(found, tuple) else () if found is None else (found,):
            assert isinstance(each.detail if isinstance(each, RunSummary) else each.body, Mapping)
            if isinstance(each, StepRecord):
                assert isinstance(each.kind, str)
                assert isinstance(each.timestamp, datetime)


@SETTINGS
@given(st.data())
def test_a_hostile_directory_of_journals_is_refused_or_read(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place:

        async def use() -> None:
            async with aclosing(FileStore(place)) as store:
                await store.append(RECORDS[0])
                await store.set_status("r", "running")
                await store.put("k", "d", {"x": 1}, expected=0)
            for path, written in ((Path("runs/r.json"), STATE), (Path("documents/k/d.json"), DOCUMENT)):
                (Path(place) / path).write_bytes(data.draw(hostile_text(written)))
            lines = [data.draw(hostile_text(line)) for line in LINES[:3]]
            (Path(place) / "runs/r.jsonl").write_bytes(b"\n".join(lines) + b"\n")
            async with aclosing(FileStore(place)) as store:
                await read_everything(store)

        asyncio.run(use())


CELLS = st.sampled_from(
    [None, -1, 2**62, 1.5, "", "x", "{", "[]", '{"a": NaN}', "[" * 3000, b"\xff", b"{}", "2026-13-45", "running"]
)
COLUMNS = {
    "bobcat_records": ["seq", "kind", "idempotency_key", "body", "timestamp"],
    "bobcat_runs": ["status", "detail", "fence", "created", "updated"],
    "bobcat_documents": ["version", "body", "updated"],
}


@SETTINGS
@given(st.data())
def test_a_hostile_database_is_refused_or_read(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "runs.db"

        async def use() -> None:
            async with aclosing(SQLiteStore(path)) as store:
                await store.append(RECORDS[0])
                await store.append(RECORDS[1])
                await store.put("k", "d", {"x": 1}, expected=0)
            with closing(sqlite3.connect(path)) as connection:
                for table in data.draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3)):
                    column = data.draw(st.sampled_from(COLUMNS[table]))
                    try:
                        connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (data.draw(CELLS),))
                    except sqlite3.IntegrityError:
                        continue  # the schema forbids it
                connection.commit()
            async with aclosing(SQLiteStore(path)) as store:
                await read_everything(store)

        asyncio.run(use())


@settings(max_examples=campaign.examples(200), deadline=None)
@given(st.data())
def test_a_hostile_journal_in_a_file_is_refused_or_shown(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "journal.jsonl"
        path.write_bytes(b"\n".join(data.draw(hostile_text(line)) for line in LINES))
        try:
            runs = read_journals(str(path))
        except InputError as error:
            assert str(path) in error.message  # noqa: PT017  # both are right
            return
        for records in runs.values():
            assert timeline(records).records == len(records)
        for form in ("text", "json"):
            shown = CliRunner().invoke(trace, [str(path), "--full", "--format", form], standalone_mode=False)
            assert shown.exception is None, shown.exception


@given(hostile_text({"a": 1, "x": ["x", {"b": None}]}))
def test_a_hostile_json_option_is_refused_or_an_object(text: bytes) -> None:
    try:
        found = json_object("--args", text.decode("utf-8", "surrogateescape"))
    except click.BadParameter as error:
        assert "--args" in str(error.param_hint)  # noqa: PT017  # both are right
        return
    assert isinstance(found, dict)


def asked() -> ApprovalRequest:
    context = ExecutionContext(Principal("user", "u"), "dev", ".", "c", 0, datetime(2026, 1, 31, tzinfo=UTC))
    request = ActionRequest("t", {"n": 1}, ToolMetadata("low", True, ()), context)
    return ApprovalRequest(request, Decision(Verdict.APPROVE_REQUIRED, "x"), "c", run_id="r", bundle_id="b")


@pytest.mark.parametrize(
    "change", [{"status": "bogus"}, {"needed": 0}, {"needed": None}, {"answers": [{}]}, {"args": 5}]
)
def test_a_run_is_refused_what_a_damaged_approval_would_grant(change: dict[str, Any]) -> None:
    async def ask() -> ApprovalDecision | Pending:
        store = MemoryStore()
        handler = durable_approvals(store)
        pending = await handler(asked())
        assert isinstance(pending, Pending)
        entry = await store.get("approval", pending.approval)
        assert entry is not None
        await store.put("approval", pending.approval, {**entry.body, **change}, expected=entry.version)
        return await handler(asked())

    with pytest.raises(ApprovalError) as caught:
        asyncio.run(ask())
    assert caught.value.code == "damaged"
