"""`bobcat approvals`: what a shell sees of the questions of suspended runs, and what it can answer."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bobcat import durable_approvals
from bobcat.stores import SQLiteStore
from bobcat.workers.job import Job
from kernel.scripted import Seen, Tools, call
from kernel.scripted import run as run_scripted
from unit.cli_runner import Run, runner

POLICY = """
rules:
  - {id: ask, match: {tool: restart}, decision: approve_required, approvers: [alice, bob], timeout_seconds: 7200}
  - {id: both, match: {tool: deploy}, decision: approve_required, approvers: [alice, bob], approvals_needed: 2}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOBCAT_STORE", "sqlite:///runs.db")
    return runner(capsys, monkeypatch)


def agent(*replies: object, tools: Tools | None = None) -> Seen:
    async def main() -> Seen:
        store = SQLiteStore("runs.db")
        options: dict[str, Any] = {"store": store, "run_id": "r-1", "policy": POLICY, "tools": tools}
        return await run_scripted(*replies, on_approval=durable_approvals(store), **options)

    return asyncio.run(main())


@pytest.fixture
def id(run: Run) -> str:
    return agent(call("restart", targets=["a"])).result.approvals[0]


def test_pending_approvals_are_listed(run: Run, id: str) -> None:
    done = run("approvals", "list")
    assert done.code == 0
    assert done.out.startswith(f"{id}  pending  ")
    assert 'run r-1 step 0  restart {"targets": ["a"]}  [alice, bob]' in done.out
    (listed,) = run("approvals", "list", "--format", "json").json()
    assert (listed["id"], listed["tool"], listed["args"]) == (id, "restart", {"targets": ["a"]})
    assert run("approvals", "list", "--run-id", "other").out == ""
    assert run("approvals", "list", "--status", "denied").err == "no denied approvals\n"


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_damaged_approval_is_named_beside_the_others(run: Run, id: str, form: str) -> None:
    async def damage() -> None:
        await SQLiteStore("runs.db").put("approval", "broken", {"status": "pending"}, expected=0)

    asyncio.run(damage())
    done = run("approvals", "list", "--format", form)
    assert done.code == 3
    assert id in done.out
    assert done.err.startswith("error[damaged]: the approval `broken` is omitted: ")


def test_one_approval_is_shown_in_full(run: Run, id: str) -> None:
    done = run("approvals", "show", id)
    assert f"approval   {id}, pending" in done.out
    assert "approvers  alice, bob" in done.out
    assert run("approvals", "show", id, "--format", "json").json()["status"] == "pending"


def test_a_granted_run_goes_on(run: Run, id: str) -> None:
    done = run("approvals", "grant", id, "--approver", "bob", "--reason", "fine")
    assert done.code == 0
    assert done.out.startswith(f"{id} granted by bob\n")
    tools = Tools()
    assert agent(tools=tools).tool_messages == ["[ok] restarted"]
    assert tools.ran == [("restart", {"targets": ["a"]})]
    assert "granted    bob, " in run("approvals", "show", id).out
    assert run("approvals", "list", "--status", "all").out.startswith(f"{id}  granted")


def test_arguments_can_be_edited(run: Run, id: str) -> None:
    done = run("approvals", "grant", id, "--approver", "bob", "--args", '{"targets": ["b"]}', "--format", "json")
    assert done.json()["approval"]["edited"] == {"targets": ["b"]}
    tools = Tools()
    agent(tools=tools)
    assert tools.ran == [("restart", {"targets": ["b"]})]


def test_a_denied_run_gets_the_reason(run: Run, id: str) -> None:
    done = run("approvals", "deny", id, "--approver", "alice", "--reason", "no")
    assert done.out.startswith(f"{id} denied by alice\n")
    assert agent().tool_messages == ["[denied] approval refused by alice — no"]


def test_an_answer_says_how_the_run_goes_on(run: Run, id: str) -> None:
    unqueued = "run r-1 is suspended and was never queued: it resumes when its program calls `run_agent` for it again\n"
    assert run("approvals", "grant", id, "--approver", "bob").out == f"{id} granted by bob\n{unqueued}"
    assert run("runs", "list").out.startswith("r-1  suspended")
    assert "was not queued" in run("runs", "resume", "r-1").err


def test_an_answer_says_that_a_queued_run_is_queued(run: Run, id: str) -> None:
    async def as_a_worker_leaves_it() -> None:
        store = SQLiteStore("runs.db")
        await store.put("job", "r-1", Job("r-1", "restart", {}, datetime.now(UTC)).to_json(), expected=0)

    asyncio.run(as_a_worker_leaves_it())
    assert run("approvals", "grant", id, "--approver", "bob").out == f"{id} granted by bob\nrun r-1 is queued\n"
    assert run("runs", "list").out.startswith("r-1  queued")


def test_an_approval_of_what_may_have_happened_is_granted_with_another_word(run: Run, id: str) -> None:
    assert run("approvals", "grant", id, "--approver", "bob", "--uncertain").code == 4
    run("approvals", "grant", id, "--approver", "bob")

    class Died(BaseException):
        pass

    class Deadly(list[Any]):
        def append(self, _: object) -> None:
            raise Died

    with pytest.raises(Died):
        agent(tools=Tools(Deadly()))
    (second,) = agent().result.approvals
    assert "UNCERTAIN" in run("approvals", "list").out
    warning = "UNCERTAIN: an earlier attempt may have taken effect; approving can make it happen twice"
    assert warning in run("approvals", "show", second).out
    assert warning not in run("approvals", "show", id).out
    assert run("approvals", "show", second, "--format", "json").json()["uncertain"] is True
    refused = run("approvals", "grant", second, "--approver", "bob")
    assert (refused.code, "--uncertain" in refused.err) == (4, True)
    tools = Tools()
    assert agent(tools=tools).result.status == "suspended"
    assert run("approvals", "grant", second, "--approver", "bob", "--uncertain").code == 0
    agent(tools=tools)
    assert len(tools.ran) == 1


def test_an_approval_that_was_changed_is_named_as_damaged(run: Run, id: str) -> None:
    async def change() -> None:
        store = SQLiteStore("runs.db")
        entry = await store.get("approval", id)
        assert entry is not None
        await store.put("approval", id, {**entry.body, "args": {"targets": ["b"]}}, expected=entry.version)

    asyncio.run(change())
    for command in (("show", id), ("grant", id, "--approver", "bob"), ("deny", id, "--approver", "bob")):
        done = run("approvals", *command)
        assert (done.code, done.err.endswith("(damaged)\n")) == (3, True)


def test_several_approvals_are_counted(run: Run) -> None:
    id = agent(call("deploy", version="1")).result.approvals[0]
    assert "2 of alice, bob" in run("approvals", "show", id).out
    assert run("approvals", "grant", id, "--approver", "bob").out == f"{id} granted by bob: 1 of 2 approvals\n"
    assert run("approvals", "grant", id, "--approver", "bob").out == f"{id} already had this answer\n"
    assert run("approvals", "grant", id, "--approver", "alice").out.startswith(f"{id} granted by alice\n")


def test_an_answer_that_does_not_count_says_why(run: Run, id: str) -> None:
    refused = run("approvals", "grant", id, "--approver", "mallory")
    assert refused.code == 4
    assert refused.err == f"error: `mallory` is not among the approvers of `{id}` (alice, bob) (not_entitled)\n"
    unknown = run("approvals", "deny", "nothing", "--approver", "alice")
    assert unknown.code == 3
    assert unknown.err == "error: there is no approval `nothing` in this store (unknown)\n"


@pytest.mark.parametrize(
    ("url", "reported"),
    [
        (
            "runs.db",
            "`runs.db` does not name a store: a store's URL begins with `sqlite://`, `file:`, `postgres://`, "
            "`redis://`; write `sqlite:///runs.db` for a file",
        ),
        ("file:typo", "there is no store at `typo`"),
        ("typo/", "there is no store at `typo/`"),
        ("sqlite:///typo.db", "there is no store at `typo.db`"),
        ("sqlite://runs.db", "`sqlite://runs.db` has no file: write `sqlite:///runs.db`, with three slashes"),
        ("mysql://me:secret@host/x", "`mysql://…` does not name a store"),
    ],
)
def test_a_store_that_cannot_be_opened_is_named(run: Run, url: str, reported: str) -> None:
    done = run("approvals", "list", "--store", url)
    assert done.code == 3
    assert reported in done.err
    assert "secret" not in done.err
    assert not Path("typo.db").exists()


def test_arguments_that_are_no_json_object_are_a_usage_error(run: Run, id: str) -> None:
    for args in ("{", "[1]"):
        assert run("approvals", "grant", id, "--approver", "bob", "--args", args).code == 2


def test_a_file_that_is_no_store_is_refused(run: Run) -> None:
    Path("notes.txt").write_text("hello " * 1000)
    done = run("approvals", "list", "--store", "sqlite:///notes.txt")
    assert done.code == 3
    assert done.err.startswith("error: the store cannot be used (")
