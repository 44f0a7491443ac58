"""Approvals that outlive the process: asked once, answered any time, executed once, and bound to what was asked."""

from __future__ import annotations

import asyncio
import logging
import math
import multiprocessing
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bobcat import MemoryStore, StepRecord, ToolSet, tool
from bobcat.approvals import Approval, Approvals, durable_approvals
from bobcat.errors import ApprovalError
from bobcat.journal.records import DuplicateRecord
from bobcat.stores import SQLiteStore
from bobcat.workers.job import Job
from kernel.scripted import Seen, Tools, call, run

POLICY = """
rules:
  - {id: ask, match: {tool: restart}, decision: approve_required, approvers: [alice, bob, carol], reason: R, MORE: N}
  - {id: forbidden, match: {args.targets.contains: db}, decision: deny, reason: not the database, priority: 5}
"""


def policy(more: str = "timeout_seconds", value: object = 3600, reason: str = "prod") -> str:
    return POLICY.replace("MORE", more).replace(": N", f": {value}").replace("R,", f"{reason},")


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


class Desk:
    """One run, its store, and the people who answer."""

    def __init__(self, store: Any, clock: Clock | None = None) -> None:
        self.store, self.clock, self.tools = store, clock, Tools()
        self.approvals = Approvals(store)

    async def run(self, *replies: object, policy: str = policy(), **options: Any) -> Seen:
        handler = options.pop("on_approval", None) or durable_approvals(self.store, **options.pop("durable", {}))
        every = {"store": self.store, "run_id": "r", "tools": self.tools, "policy": policy, "on_approval": handler}
        return await run(*replies, **{**every, **options})

    async def ask(self, **options: Any) -> str:
        """Start the run; the id of the approval it is suspended for."""
        first = await self.run(call("restart", targets=["a"]), **options)
        assert first.result.status == "suspended"
        assert self.tools.ran == []
        return first.result.approvals[0]

    async def refuses(self, code: str, answer: Any) -> str:
        with pytest.raises(ApprovalError) as refused:
            await answer
        assert refused.value.code == code
        return str(refused.value)


@pytest.fixture(params=["memory", "sqlite"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    if request.param == "memory":
        clock = Clock()
        yield Desk(MemoryStore(clock=clock), clock)
    else:
        yield Desk(SQLiteStore(tmp_path / "runs.db"))


@pytest.fixture
def timed() -> Desk:
    clock = Clock()
    return Desk(MemoryStore(clock=clock), clock)


def test_a_question_is_on_record_with_everything_an_approver_needs(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        (asked,) = await desk.approvals.list()
        assert asked == await desk.approvals.show(id)
        assert (asked.status, asked.run_id, asked.step, asked.round) == ("pending", "r", 0, 0)
        assert (asked.tool, asked.args, asked.reason, asked.rules) == ("restart", {"targets": ["a"]}, "prod", ("ask",))
        assert (asked.approvers, asked.needed, asked.answers) == (("alice", "bob", "carol"), 1, ())
        assert asked.expires == asked.created + timedelta(seconds=3600)
        assert asked.principal == "anonymous"

    asyncio.run(main())


def test_a_grant_is_executed_exactly_once(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        answered = await desk.approvals.grant(id, approver="bob", reason="fine")
        assert answered.changed
        assert answered.approval.status == "granted"
        second = await desk.run()
        assert second.tool_messages == ["[ok] restarted"]
        assert second.bodies("approval.granted")[0]["approver"] == "bob"
        third = await desk.run()
        assert third.result.final_answer == "done"
        assert desk.tools.ran == [("restart", {"targets": ["a"]})]
        assert (await desk.approvals.show(id)).used is not None

    asyncio.run(main())


def test_a_denial_is_shown_to_the_model(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        await desk.approvals.deny(id, approver="carol", reason="not today")
        second = await desk.run()
        assert second.tool_messages == ["[denied] approval refused by carol — not today"]
        assert desk.tools.ran == []

    asyncio.run(main())


def test_a_run_resumed_before_the_answer_waits_for_the_same_question(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        for _ in range(3):
            again = await desk.run()
            assert again.result.approvals == (id,)
        assert [approval.id for approval in await desk.approvals.list(status=None)] == [id]

    asyncio.run(main())


def test_a_double_click_is_one_answer(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        first, *others = await asyncio.gather(*(desk.approvals.grant(id, approver="alice") for _ in range(8)))
        assert sum(one.changed for one in (first, *others)) == 1
        assert len((await desk.approvals.show(id)).answers) == 1
        assert "granted by alice already" in await desk.refuses("granted", desk.approvals.grant(id, approver="bob"))

    asyncio.run(main())


def test_of_a_grant_and_a_denial_at_once_the_denial_stands_until_the_run_went_on(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        await desk.approvals.grant(id, approver="alice")
        taken_back = await desk.approvals.deny(id, approver="bob")
        assert taken_back.changed
        assert (await desk.run()).tool_messages == ["[denied] approval refused by bob"]
        await desk.refuses("run_over", desk.approvals.grant(id, approver="alice"))

    asyncio.run(main())


def test_a_grant_that_was_taken_up_cannot_be_taken_back(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        await desk.approvals.grant(id, approver="alice")
        await desk.run()
        await desk.refuses("run_over", desk.approvals.deny(id, approver="bob"))
        await desk.store.set_status("r", "failed")  # as after an attempt that failed behind the action
        assert "consumed the grant" in await desk.refuses("used", desk.approvals.deny(id, approver="bob"))
        assert (await desk.approvals.show(id)).status == "granted"
        assert len(desk.tools.ran) == 1

    asyncio.run(main())


def test_a_run_is_not_requeued_by_an_answer_that_it_consumed(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        await desk.approvals.grant(id, approver="alice")
        await desk.run()
        await desk.store.set_status("r", "suspended", detail={"approvals": ["another"]})
        again = await desk.approvals.grant(id, approver="alice")
        assert (again.changed, again.requeued) == (False, False)
        assert (await desk.store.run("r")).status == "suspended"

    asyncio.run(main())


def test_a_second_grant_with_other_arguments_is_not_the_same_answer(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        await desk.approvals.grant(id, approver="alice", args={"targets": ["b"]})
        assert not (await desk.approvals.grant(id, approver="alice", args={"targets": ["b"]})).changed
        await desk.refuses("granted", desk.approvals.grant(id, approver="alice", args={"targets": ["c"]}))
        assert (await desk.run()).ran == [("restart", {"targets": ["b"]})]

    asyncio.run(main())


def test_only_an_approver_of_the_rule_can_answer(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        assert "`mallory` is not among the approvers" in await desk.refuses(
            "not_entitled", desk.approvals.grant(id, approver="mallory")
        )
        await desk.refuses("not_entitled", desk.approvals.deny(id, approver="mallory"))
        await desk.refuses("not_entitled", desk.approvals.grant(id, approver=" "))
        await desk.refuses("unknown", desk.approvals.grant("nothing", approver="alice"))
        await desk.refuses("unknown", desk.approvals.show("nothing"))
        assert (await desk.approvals.show(id)).answers == ()

    asyncio.run(main())


def test_a_late_answer_counts_for_nothing(timed: Desk) -> None:
    async def main() -> None:
        id = await timed.ask()
        timed.clock.time += timedelta(seconds=3600)  # type: ignore[union-attr]
        assert (await timed.approvals.show(id)).status == "expired"
        assert await timed.approvals.list() == ()
        await timed.refuses("expired", timed.approvals.grant(id, approver="alice"))
        second = await timed.run()
        assert second.tool_messages[0].startswith("[denied] approval refused by system — no answer before 2030")
        assert timed.tools.ran == []

    asyncio.run(main())


def test_an_answer_in_time_counts_whenever_the_run_goes_on(timed: Desk) -> None:
    async def main() -> None:
        id = await timed.ask()
        timed.clock.time += timedelta(seconds=3599)  # type: ignore[union-attr]
        await timed.approvals.grant(id, approver="alice")
        timed.clock.time += timedelta(days=30)  # type: ignore[union-attr]
        assert (await timed.run()).tool_messages == ["[ok] restarted"]

    asyncio.run(main())


@pytest.mark.parametrize(("seconds", "end"), [(60.0, 60), (math.inf, None)])
def test_the_handler_gets_the_time_limit_of_a_rule_without_a_timeout(seconds: float, end: int | None) -> None:
    async def main() -> None:
        desk = Desk(MemoryStore())
        id = await desk.ask(policy=policy("priority", 1), durable={"seconds": seconds})
        asked = await desk.approvals.show(id)
        assert asked.expires == (None if end is None else asked.created + timedelta(seconds=end))

    asyncio.run(main())


def test_edited_arguments_are_what_runs_after_being_evaluated(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        await desk.approvals.grant(id, approver="alice", args={"targets": ["b"]})
        assert (await desk.run()).tool_messages == ["[ok] restarted"]
        assert desk.tools.ran == [("restart", {"targets": ["b"]})]

    asyncio.run(main())


def test_edited_arguments_that_the_policy_denies_do_not_run(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        await desk.approvals.grant(id, approver="alice", args={"targets": ["db"]})
        second = await desk.run()
        assert second.tool_messages == ["[denied] the arguments as edited by alice are decided deny — not the database"]
        assert desk.tools.ran == []
        await desk.refuses("not_editable", Desk(desk.store).approvals.grant(id, approver="bob", args={"x": math.nan}))

    asyncio.run(main())


def test_an_answer_under_another_policy_is_an_answer_to_another_question(desk: Desk) -> None:
    async def main() -> None:
        first = await desk.ask()
        await desk.approvals.grant(first, approver="alice")
        changed = await desk.run(policy=policy(reason="changed"))
        (second,) = changed.result.approvals
        assert second != first
        assert desk.tools.ran == []
        assert (await desk.approvals.show(first)).status == "withdrawn"
        reported = await desk.refuses("withdrawn", desk.approvals.grant(first, approver="bob"))
        assert f"it asks `{second}`" in reported
        back = await desk.run()
        assert back.result.approvals == (first,), "the first question again, and it needs a new answer"
        assert (await desk.approvals.show(first)).answers == ()
        assert (await desk.approvals.show(second)).status == "withdrawn"

    asyncio.run(main())


def test_a_step_that_may_have_run_needs_another_approval(desk: Desk) -> None:
    """The approved action may have happened: executing it again is another question."""

    async def main() -> None:
        id = await desk.ask()
        await desk.approvals.grant(id, approver="alice")
        append = type(desk.store).append
        append_fenced = type(desk.store).append_fenced
        append_group = getattr(type(desk.store), "append_group", None)

        def refuses(record: StepRecord) -> None:
            if record.kind == "action.result":
                raise OSError("no space left")

        async def plain(self: Any, record: StepRecord) -> None:
            refuses(record)
            await append(self, record)

        async def fenced(self: Any, record: StepRecord, lease: Any) -> None:
            refuses(record)
            await append_fenced(self, record, lease)

        async def grouped(self: Any, records: Sequence[StepRecord], lease: Any) -> None:
            for record in records:
                refuses(record)
            assert append_group is not None
            await append_group(self, records, lease)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(desk.store), "append", plain)
            patch.setattr(type(desk.store), "append_fenced", fenced)
            if append_group is not None:
                patch.setattr(type(desk.store), "append_group", grouped)
            assert (await desk.run()).result.error is not None
        assert len(desk.tools.ran) == 1
        third = await desk.run()
        assert third.result.status == "suspended"
        (asked,) = third.result.approvals
        assert asked != id
        assert (await desk.approvals.show(asked)).round == 1
        assert (await desk.approvals.show(asked)).uncertain
        assert "make it happen twice" in await desk.refuses("uncertain", desk.approvals.grant(asked, approver="alice"))
        await desk.approvals.grant(asked, approver="alice", uncertain=True)
        assert (await desk.run()).tool_messages == ["[ok] restarted"]
        assert len(desk.tools.ran) == 2

    asyncio.run(main())


def test_two_of_three_are_asked_for_and_counted(desk: Desk) -> None:
    async def main() -> None:
        two = policy("approvals_needed", 2)
        id = await desk.ask(policy=two)
        first = await desk.approvals.grant(id, approver="alice")
        assert (first.approval.status, first.approval.needed) == ("pending", 2)
        assert not (await desk.approvals.grant(id, approver="alice")).changed
        assert (await desk.run(policy=two)).result.approvals == (id,)
        await desk.refuses("not_editable", desk.approvals.grant(id, approver="bob", args={"targets": []}))
        second = await desk.approvals.grant(id, approver="carol")
        assert second.approval.status == "granted"
        done = await desk.run(policy=two)
        assert done.tool_messages == ["[ok] restarted"]
        assert done.bodies("approval.granted")[0]["approver"] == "alice, carol"

    asyncio.run(main())


def test_an_answer_puts_a_suspended_run_back_in_the_queue(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        await desk.store.set_status("r", "suspended", detail={"approvals": [id]})
        await desk.store.put("job", "r", Job("r", "restart", {}, datetime.now(UTC)).to_json(), expected=0)
        assert (await desk.approvals.grant(id, approver="alice")).requeued
        summary = await desk.store.run("r")
        assert summary.status == "queued"
        assert summary.detail["woken_by"] == id

    asyncio.run(main())


def test_a_run_that_no_worker_can_make_is_not_put_in_the_queue(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        assert not (await desk.approvals.grant(id, approver="alice")).requeued
        summary = await desk.store.run("r")
        assert summary.status == "suspended"
        assert (await desk.run()).tool_messages == ["[ok] restarted"]

    asyncio.run(main())


def test_a_run_that_is_over_takes_no_answer(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        await desk.store.set_status("r", "cancelled")
        assert "is over (cancelled)" in await desk.refuses("run_over", desk.approvals.grant(id, approver="alice"))

    asyncio.run(main())


def test_approvers_are_notified_of_a_question_once(desk: Desk) -> None:
    async def main() -> None:
        reported: list[Approval] = []

        async def notify(approval: Approval) -> None:
            reported.append(approval)

        id = await desk.ask(durable={"notify": notify})
        await desk.run(durable={"notify": notify})
        assert [approval.id for approval in reported] == [id]

    asyncio.run(main())


def test_a_notifier_that_fails_leaves_the_question_open_and_is_tried_again(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bobcat.approvals.durable.NOTIFY_WAITS", (0.0, 0.0))

    async def main() -> None:
        calls: list[str] = []

        async def notify(approval: Approval) -> None:
            calls.append(approval.id)
            if len(calls) <= 4:
                raise OSError("the chat is \x1b[2Jdown")

        first = await desk.run(call("restart", targets=["a"]), durable={"notify": notify})
        assert (first.result.status, first.tool_messages, len(calls)) == ("suspended", [], 3)
        (asked,) = await desk.approvals.list()
        assert (asked.status, asked.notified, asked.notify_error) == (
            "pending",
            False,
            "OSError: the chat is \x1b[2Jdown",
        )
        warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
        assert [record.name for record in warnings] == ["bobcat.approvals"]
        assert "OSError: the chat is \\x1b[2Jdown" in caplog.text
        await desk.run(durable={"notify": notify})
        (asked,) = await desk.approvals.list()
        assert (asked.notified, asked.notify_error, len(calls)) == (True, "", 5)
        await desk.approvals.grant(asked.id, approver="alice")
        assert (await desk.run(durable={"notify": notify})).tool_messages == ["[ok] restarted"]

    asyncio.run(main())


def test_a_notifier_that_does_not_end_leaves_the_question_open(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bobcat.approvals.durable.NOTIFY_SECONDS", 0.01)

    async def main() -> None:
        async def notify(_: Approval) -> None:
            await asyncio.Event().wait()

        first = await desk.run(call("restart", targets=["a"]), durable={"notify": notify})
        assert first.result.status == "suspended"
        (asked,) = await desk.approvals.list()
        assert asked.notify_error == "not finished after 0.01 s"

    asyncio.run(main())


@pytest.mark.parametrize(
    "change",
    [
        {"args": {"targets": ["db"]}},
        {"tool": "drop"},
        {"bundle_id": "0" * 64},
        {"uncertain": True},
        {"digest": "0" * 64},
        {"run_id": "another"},
        {"step": 7},
        {"edited": {"targets": ["db"]}},
    ],
)
def test_an_approval_that_was_changed_in_its_store_lets_nothing_happen(desk: Desk, change: dict[str, Any]) -> None:
    async def main() -> None:
        id = await desk.ask()
        await desk.approvals.grant(id, approver="alice")
        entry = await desk.store.get("approval", id)
        await desk.store.put("approval", id, {**entry.body, **change}, expected=entry.version)
        await desk.refuses("damaged", desk.approvals.show(id))
        await desk.refuses("damaged", desk.approvals.grant(id, approver="bob"))
        assert [item.id for item in (await desk.approvals.list_all(status=None)).unreadable] == [id]
        again = await desk.run()
        assert "ApprovalError" in again.tool_messages[0]
        assert desk.tools.ran == []

    asyncio.run(main())


def test_edited_arguments_are_bound_to_the_grant(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        await desk.approvals.grant(id, approver="alice", args={"targets": ["b"]})
        entry = await desk.store.get("approval", id)
        changed = {**entry.body, "edited": {"targets": ["c"]}}
        await desk.store.put("approval", id, changed, expected=entry.version)
        await desk.refuses("damaged", desk.approvals.show(id))
        await desk.run()
        assert desk.tools.ran == []

    asyncio.run(main())


def test_an_approval_under_the_id_of_another_one_is_damaged(desk: Desk) -> None:
    async def main() -> None:
        id = await desk.ask()
        entry = await desk.store.get("approval", id)
        await desk.store.put("approval", "other", dict(entry.body), expected=0)
        assert f"holds `{id}`" in await desk.refuses("damaged", desk.approvals.grant("other", approver="alice"))

    asyncio.run(main())


@pytest.mark.parametrize("value", [1.0, -0.0, 1e22, 1.5e300, 5e-324, 2**63, 2**200, "\u2028é", [], {}, None, True])
def test_the_arguments_of_a_stored_question_keep_their_digest(desk: Desk, value: Any) -> None:
    async def main() -> None:
        first = await desk.run(
            call("echo", text=value), policy="rules: [{id: ask, match: {tool: echo}, decision: approve_required}]",
            tools=AnyTool(),
        )  # fmt: skip
        assert first.result.status == "suspended"
        assert (await desk.approvals.show(first.result.approvals[0])).status == "pending"

    asyncio.run(main())


class AnyTool:
    """A tool that takes every value."""

    ran: tuple[()] = ()

    def toolset(self) -> ToolSet:
        @tool()
        async def echo(text: Any) -> str:
            return "x"

        return ToolSet.from_functions(echo)


def test_arguments_that_cannot_be_put_on_record_are_refused(desk: Desk) -> None:
    async def main() -> None:
        finished = await desk.run(call("restart", targets=["\ud800"]), policy=policy().split("  - {id: forbidden")[0])
        assert finished.tool_messages[0].startswith(
            "[denied] approval refused by system — the question cannot be recorded"
        )
        assert await desk.approvals.list(status=None) == ()

    asyncio.run(main())


def test_a_store_of_two_methods_is_refused() -> None:
    class Two:
        async def append(self, record: StepRecord) -> None:
            raise DuplicateRecord

        async def load(self, run_id: str) -> tuple[()]:
            return ()

    with pytest.raises(TypeError, match="need a DurableStore, such as SQLiteStore, got Two"):
        durable_approvals(Two())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a positive number"):
        durable_approvals(MemoryStore(), seconds=0)


def test_runs_are_distinguished_in_a_listing(desk: Desk) -> None:
    async def main() -> None:
        for number in range(3):
            await desk.run(call("restart", targets=["a"]), run_id=f"r{number}")
        assert {approval.run_id for approval in await desk.approvals.list()} == {"r0", "r1", "r2"}
        assert [approval.run_id for approval in await desk.approvals.list(run_id="r1")] == ["r1"]

    asyncio.run(main())


def _grant(path: str, id: str, approver: str, barrier: Any, results: Any) -> None:
    async def main() -> str:
        approvals = Approvals(SQLiteStore(path))
        barrier.wait(60)
        try:
            return f"{approver} {(await approvals.grant(id, approver=approver)).changed}"
        except ApprovalError as error:
            return f"{approver} {error.code}"

    results.put(asyncio.run(main()))


def test_of_the_answers_of_several_processes_one_counts(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    desk = Desk(SQLiteStore(path))
    id = asyncio.run(desk.ask())
    spawn = multiprocessing.get_context("spawn")
    barrier, results = spawn.Barrier(3), spawn.Queue()
    people = ("alice", "bob", "carol")
    processes = [spawn.Process(target=_grant, args=(str(path), id, name, barrier, results)) for name in people]
    for process in processes:
        process.start()
    found = sorted(results.get(timeout=60).split()[1] for _ in people)
    for process in processes:
        process.join(60)
    assert found == ["True", "granted", "granted"]
    assert len(asyncio.run(desk.approvals.show(id)).answers) == 1


def test_an_approval_that_cannot_be_read_hides_no_other(desk: Desk) -> None:
    async def main() -> None:
        await desk.run(call("restart", targets=["a"]), run_id="r0")
        await desk.store.put("approval", "broken", {"status": "pending"}, expected=0)
        found = await desk.approvals.list_all()
        assert [approval.run_id for approval in found.approvals] == ["r0"]
        assert [item.id for item in found.unreadable] == ["broken"]
        assert "cannot be read" in found.unreadable[0].problem
        with pytest.warns(RuntimeWarning, match="the approval `broken` is omitted"):
            assert await desk.approvals.list() == found.approvals
        with pytest.raises(ApprovalError, match="cannot be read"):
            await desk.approvals.show("broken")

    asyncio.run(main())
