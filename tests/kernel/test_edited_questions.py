"""A question that was edited in its store after it was asked: no answer to it lets anything happen.

The writer of the store comes in three strengths: one who edits a field, one who also takes the fingerprint away or
writes the form of an older release, and one who computes every unkeyed digest again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bobcat import MemoryStore
from bobcat.approvals import Approval, Approvals, GivenAnswer, durable_approvals
from bobcat.approvals.record import approval_from_json, fingerprint, first_form, granted_digest
from bobcat.errors import ApprovalError
from kernel.scripted import Seen, Tools, call, run

POLICY = """
rules:
  - {id: ask, match: {tool: restart}, decision: approve_required, approvers: [alice, bob], approvals_needed: NEEDED,
     reason: prod, timeout_seconds: 3600}
"""
NOW = datetime(2030, 1, 1, tzinfo=UTC)
QUESTION: list[dict[str, Any]] = [
    {"approvers": ["alice", "bob", "mallory"]},
    {"approvers": []},
    {"needed": 1},
    {"reason": "a harmless test"},
    {"rules": ["another"]},
    {"principal": "root"},
    {"environment": "test"},
    {"created": "2029-01-01T00:00:00+00:00"},
    {"expires": "2040-01-01T00:00:00+00:00"},
    {"expires": None},
    {"definition": "another"},
]
"""Edits of what a person is shown, or of what decides who may answer and until when."""


class Desk:
    """One run with one question, and a writer of its store."""

    def __init__(self, needed: int = 2) -> None:
        self.store, self.tools = MemoryStore(clock=lambda: NOW), Tools()
        self.approvals, self.policy = Approvals(self.store), POLICY.replace("NEEDED", str(needed))

    async def run(self, *replies: object) -> Seen:
        return await run(
            *replies,
            store=self.store,
            run_id="r",
            tools=self.tools,
            policy=self.policy,
            on_approval=durable_approvals(self.store),
        )

    async def ask(self) -> str:
        first = await self.run(call("restart", targets=["a"]))
        assert first.result.status == "suspended"
        (id,) = first.result.approvals
        return str(id)

    async def body(self, id: str) -> dict[str, Any]:
        entry = await self.store.get("approval", id)
        assert entry is not None
        return dict(entry.body)

    async def write(self, id: str, body: Mapping[str, Any]) -> None:
        entry = await self.store.get("approval", id)
        await self.store.put("approval", id, body, expected=0 if entry is None else entry.version)

    async def grant(self, id: str, *names: str) -> None:
        for name in names:
            await self.approvals.grant(id, approver=name)


@pytest.mark.parametrize("edit", QUESTION)
@pytest.mark.parametrize("answered", [True, False])
def test_an_edited_question_is_damaged_at_the_inbox_and_refused_in_the_run(
    edit: dict[str, Any], answered: bool
) -> None:
    async def main() -> None:
        desk = Desk()
        id = await desk.ask()
        if answered:
            await desk.grant(id, "alice", "bob")
        await desk.write(id, {**await desk.body(id), **edit})
        for answer in (desk.approvals.show(id), desk.approvals.grant(id, approver="mallory")):
            with pytest.raises(ApprovalError) as refused:
                await answer
            assert refused.value.code == "damaged"
        assert [item.id for item in (await desk.approvals.list_all()).unreadable] == [id]
        assert "ApprovalError" in (await desk.run()).tool_messages[0]
        assert desk.tools.ran == []

    asyncio.run(main())


@pytest.mark.parametrize("edit", [{}, *QUESTION])
def test_a_question_without_its_fingerprint_is_not_taken_for_one_of_an_older_release(edit: dict[str, Any]) -> None:
    async def main() -> None:
        desk = Desk()
        id = await desk.ask()
        body = {name: value for name, value in (await desk.body(id)).items() if name != "fingerprint"}
        await desk.write(id, {**body, **edit})
        with pytest.raises(ApprovalError, match="the question was changed: it does not match its") as refused:
            await desk.approvals.show(id)
        assert refused.value.code == "damaged"
        assert "ApprovalError" in (await desk.run()).tool_messages[0]

    asyncio.run(main())


def forged(body: Mapping[str, Any], edit: Mapping[str, Any], *, names: tuple[str, ...]) -> Approval:
    """The granted approval that a writer makes who computes every digest of it again, but not its id."""
    approval = approval_from_json(body)
    changed = {**edit}
    for name in ("created", "expires"):
        if isinstance(changed.get(name), str):
            changed[name] = datetime.fromisoformat(changed[name])
    for name in ("approvers", "rules"):
        if name in changed:
            changed[name] = tuple(changed[name])
    approval = replace(approval, status="granted", **changed)
    approval = replace(approval, fingerprint=fingerprint(approval))
    digest = granted_digest(approval)
    return replace(approval, answers=tuple(GivenAnswer(name, True, NOW, digest=digest) for name in names))


@pytest.mark.parametrize("edit", [edit for edit in QUESTION if not {"reason", "created", "expires"} & edit.keys()])
def test_who_may_answer_is_in_the_id_whatever_is_computed_again(edit: dict[str, Any]) -> None:
    async def main() -> None:
        desk = Desk()
        id = await desk.ask()
        await desk.write(id, forged(await desk.body(id), edit, names=("alice", "bob")).to_json())
        with pytest.raises(ApprovalError) as refused:
            await desk.approvals.show(id)
        assert refused.value.code == "damaged"
        assert "ApprovalError" in (await desk.run()).tool_messages[0]
        assert desk.tools.ran == []

    asyncio.run(main())


@pytest.mark.parametrize("edit", [edit for edit in QUESTION if {"reason", "created", "expires"} & edit.keys()])
def test_a_run_asks_again_what_is_not_the_question_that_its_journal_has(edit: dict[str, Any]) -> None:
    async def main() -> None:
        desk = Desk()
        id = await desk.ask()
        genuine = await desk.body(id)
        await desk.write(id, forged(genuine, edit, names=("alice", "bob")).to_json())
        assert (await desk.approvals.show(id)).status == "granted", "the store alone does not show this edit"
        again = await desk.run()
        assert again.result.approvals == (id,)
        assert desk.tools.ran == []
        assert await desk.body(id) == genuine
        await desk.grant(id, "alice", "bob")
        assert (await desk.run()).tool_messages == ["[ok] restarted"]

    asyncio.run(main())


@pytest.mark.parametrize(
    "edit",
    [
        {"status": "granted"},
        {"answers": [{"approver": "mallory", "granted": True, "at": NOW.isoformat(), "reason": "", "digest": ""}]},
        {"answers": [{"approver": "alice", "granted": True, "at": NOW.isoformat(), "reason": "", "digest": ""}]},
        {"status": "denied", "answers": [{"approver": "mallory", "granted": False, "at": NOW.isoformat()}]},
    ],
)
def test_answers_that_the_inbox_never_gives_are_damaged(edit: dict[str, Any]) -> None:
    async def main() -> None:
        desk = Desk()
        id = await desk.ask()
        await desk.write(id, {**await desk.body(id), **edit})
        with pytest.raises(ApprovalError) as refused:
            await desk.approvals.show(id)
        assert refused.value.code == "damaged"

    asyncio.run(main())


def test_one_approver_does_not_count_twice() -> None:
    async def main() -> None:
        desk = Desk()
        id = await desk.ask()
        await desk.grant(id, "alice")
        body = await desk.body(id)
        await desk.write(id, {**body, "status": "granted", "answers": [*body["answers"], *body["answers"]]})
        with pytest.raises(ApprovalError) as refused:
            await desk.approvals.show(id)
        assert refused.value.code == "damaged"

    asyncio.run(main())


async def moved(desk: Desk, body: Mapping[str, Any], *, without: tuple[str, ...] = ()) -> None:
    """Give a desk a store with the journal of the run and one approval, but nothing else."""
    records = await desk.store.load("r")
    desk.store = MemoryStore(clock=lambda: NOW)
    desk.approvals = Approvals(desk.store)
    for record in records:
        left = {name: value for name, value in record.body.items() if name not in without}
        await desk.store.append(replace(record, body=left))
    await desk.store.put("approval", body["id"], body, expected=0)


async def first_asked_by_an_older_release(desk: Desk, edit: Mapping[str, Any] | None = None) -> str:
    """A suspended run as an older release left it: its question in the older form, its journal without one."""
    old = first_form(approval_from_json(await desk.body(await desk.ask())))
    await moved(desk, {**old.to_json(), **(edit or {})}, without=("fingerprints", "chain"))
    return old.id


@pytest.mark.parametrize("added", [(), ("uncertain", "notify_error")])
def test_a_question_of_an_older_release_is_answered_and_the_run_goes_on(added: tuple[str, ...]) -> None:
    async def main() -> None:
        desk = Desk(needed=1)
        id = await first_asked_by_an_older_release(desk)
        assert "fingerprint" not in await desk.body(id)
        assert (await desk.run()).result.approvals == (id,)
        await desk.grant(id, "alice")
        granted = await desk.body(id)
        for name in added:
            del granted[name]
        if added:
            del granted["answers"][0]["digest"]
        await desk.write(id, granted)
        assert not (await desk.approvals.show(id)).uncertain
        assert (await desk.run()).tool_messages == ["[ok] restarted"]

    asyncio.run(main())


def test_a_question_of_an_older_release_for_other_approvers_is_another_question() -> None:
    async def main() -> None:
        desk = Desk(needed=1)
        id = await first_asked_by_an_older_release(desk, {"approvers": ["mallory"]})
        await desk.grant(id, "mallory")
        again = await desk.run()
        assert again.result.status == "suspended"
        assert again.result.approvals != (id,)
        assert desk.tools.ran == []

    asyncio.run(main())


def test_a_question_in_the_older_form_does_not_replace_one_that_the_journal_has_in_the_newer() -> None:
    async def main() -> None:
        desk = Desk(needed=1)
        id = await desk.ask()
        genuine = approval_from_json(await desk.body(id))
        old = first_form(replace(genuine, reason="a harmless test"))
        await moved(desk, old.to_json())
        await desk.grant(old.id, "alice")
        again = await desk.run()
        assert again.result.approvals == (id,)
        assert desk.tools.ran == []

    asyncio.run(main())
