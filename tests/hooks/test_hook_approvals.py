"""`--approvals`: questions in a store, and answers that count for one proposal of the same call."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bobcat import Approvals, Policy
from bobcat.decision_log import open_log, verify
from bobcat.errors import ApprovalError
from bobcat.stores import SQLiteStore
from hooks.hosts import HOSTS, Ended, call, native, python

HOOKS = (native, python)  # the native one leaves approvals to the one in Python, so that it covers both
hooks = pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.__name__)

POLICY = """
defaults: {on_missing_shadow: deny, on_no_match: deny}
rules:
  - {id: person, match: {tool: person}, decision: approve_required, reason: a person looks}
  - {id: pair, match: {tool: pair}, decision: approve_required, approvers: [alice, bob, carol], approvals_needed: 2}
  - {id: soon, match: {tool: soon}, decision: approve_required, timeout_seconds: 1}
  - {id: never, priority: 30, match: {tool: person, args.path.starts_with: /root}, decision: deny, reason: never}
  - {id: moves, priority: -1, match: {tool: moved}, decision: transform, transform: {jsonpath: $.args.path, set: /safe}}
  - {id: raises, match: {tool: moved, args.path.starts_with: /safe}, decision: approve_required}
  - {id: allowed, match: {tool: allowed}, decision: allow}
"""
ID = re.compile(r"waits as ([0-9a-f]{20})\.")


@pytest.fixture
def gated(tmp_path: Path) -> Gated:
    path = tmp_path / "policy.bobcat"
    Policy.compile(POLICY).save(path)
    return Gated(path, tmp_path)


class Gated:
    """Hooks with one policy, store and log."""

    def __init__(self, policy: Path, directory: Path) -> None:
        self.policy, self.log = policy, directory / "log.jsonl"
        self.store, self.url = directory / "approvals.db", f"sqlite:///{directory}/approvals.db"

    def ask(self, hook: Any, host: str = "codex", tool: str = "person", *flags: str, **fields: Any) -> Any:
        """The answer to a call, whose hook must not fail."""
        text = call(host, tool, **fields)
        ended: Ended = hook(host, self.policy, text, "--approvals", self.url, "--log", str(self.log), *flags)
        assert (ended.code, ended.err) == (0, b""), ended
        return ended.answer

    def waiting(self, hook: Any, *given: Any, **fields: Any) -> str:
        """The id of the approval that a denied call waits for."""
        found = ID.search(reason(self.ask(hook, *given, **fields)))
        assert found is not None
        return found[1]

    def answered(self, id: str, granted: bool = True, **given: Any) -> Any:
        async def main() -> Any:
            store = SQLiteStore(self.store)
            try:
                given.setdefault("approver", "alice")
                return await (Approvals(store).grant if granted else Approvals(store).deny)(id, **given)
            finally:
                await store.aclose()

        return asyncio.run(main())

    def records(self) -> list[Mapping[str, Any]]:
        assert verify(self.log).ok
        with open_log(self.log) as log:
            return [{**record.body, "status": record.status} for record in log.records()]


def reason(answer: Any) -> str:
    """The reason of a deny."""
    output = answer.get("hookSpecificOutput", answer)
    decision = output.get("permissionDecision") or output.get("decision") or output.get("permission")
    assert decision == "deny", answer
    return str(output.get("permissionDecisionReason") or output.get("reason") or output.get("agent_message"))


@hooks
@pytest.mark.parametrize("host", HOSTS)
def test_a_granted_call_is_permitted_once(gated: Gated, hook: Any, host: str) -> None:
    id = gated.waiting(hook, host)
    assert gated.waiting(hook, host, session_id="s2", conversation_id="s2") == id
    gated.answered(id)
    assert gated.ask(hook, host, session_id="s3") is None
    again = gated.waiting(hook, host)
    assert again != id
    records = gated.records()
    assert [(each["status"], each.get("approvals"), each.get("approver")) for each in records] == [
        ("denied", [id], None), ("denied", [id], None), ("permitted", None, "alice"), ("denied", [again], None),
    ]  # fmt: skip
    assert {each["verdict"] for each in records} == {"approve_required"}
    assert [each.get("code") for each in records] == ["approval_pending"] * 2 + [None, "approval_pending"]


def test_the_reason_names_a_command_that_grants(gated: Gated) -> None:
    text = reason(gated.ask(native))
    found = re.search(r"`bobcat (approvals grant .*)`", text)
    assert found is not None
    assert text.startswith("approval required (a person looks): ")
    command = [sys.executable, "-m", "bobcat", *found[1].replace("NAME", "alice").split()]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "the next proposal of the same call is permitted, once" in ran.stdout
    assert gated.ask(native) is None


def test_an_approver_sees_the_call_and_its_directory(gated: Gated) -> None:
    id = gated.waiting(native, args={"path": "/etc", "force": True}, cwd="/home/me/project")
    command = [sys.executable, "-m", "bobcat", "approvals", "show", id, "--store", gated.url]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for text in ("person", "/etc", "/home/me/project", "codex", "a person looks"):
        assert text in shown


@pytest.mark.parametrize(
    "other",
    [
        {"args": {"path": "/etc", "force": False}}, {"args": {"path": "/etc"}}, {"tool": "pair"}, {"cwd": "/other"},
        {"host": "claude-code"},
    ],
    ids=str,
)  # fmt: skip
def test_a_grant_is_for_the_same_call_only(gated: Gated, other: dict[str, Any]) -> None:
    id = gated.waiting(native)
    gated.answered(id)
    fields = {key: value for key, value in other.items() if key not in ("host", "tool")}
    assert gated.waiting(native, other.get("host", "codex"), other.get("tool", "person"), **fields) != id
    assert gated.ask(native) is None


def test_a_grant_is_for_one_policy(gated: Gated) -> None:
    id = gated.waiting(native)
    gated.answered(id)
    Policy.compile(POLICY.replace("never}", "never ever}")).save(gated.policy)
    assert gated.waiting(native) != id


def test_a_refusal_is_answered_once_with_its_reason(gated: Gated) -> None:
    id = gated.waiting(native)
    gated.answered(id, granted=False, reason="not on a Friday")
    assert reason(gated.ask(native)) == "approval refused by alice — not on a Friday"
    assert gated.waiting(native) != id
    assert [each["status"] for each in gated.records()] == ["denied"] * 3


def test_a_grant_that_is_taken_back_permits_nothing(gated: Gated) -> None:
    id = gated.waiting(native)
    gated.answered(id)
    gated.answered(id, granted=False)
    assert "approval refused by alice" in reason(gated.ask(native))


def test_several_approvers_are_needed_where_the_rule_says_so(gated: Gated) -> None:
    id = gated.waiting(native, "codex", "pair")
    with pytest.raises(ApprovalError, match="not among the approvers"):
        gated.answered(id, approver="mallory")
    gated.answered(id, approver="alice")
    assert gated.waiting(native, "codex", "pair") == id
    gated.answered(id, approver="alice")
    assert gated.waiting(native, "codex", "pair") == id
    gated.answered(id, approver="carol")
    assert gated.ask(native, "codex", "pair") is None
    assert gated.records()[-1]["approver"] == "alice, carol"


def test_a_question_expires(gated: Gated) -> None:
    import time

    id = gated.waiting(native, "codex", "soon")
    time.sleep(1.1)
    with pytest.raises(ApprovalError, match="ended"):
        gated.answered(id)
    assert "no answer before" in reason(gated.ask(native, "codex", "soon"))
    assert gated.waiting(native, "codex", "soon") != id


def test_of_many_proposals_one_uses_the_grant(gated: Gated) -> None:
    gated.answered(gated.waiting(native))

    def propose(number: int) -> Ended:
        hook = (native, python)[number % 2]
        return hook("codex", gated.policy, call("codex", "person"), "--approvals", gated.url, "--log", str(gated.log))

    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(propose, range(4)))
    late = sum(each.code == 2 for each in ended)  # on a slow machine
    permitted = sum((each.code, each.out) == (0, b"") for each in ended)
    assert permitted == 1 or (late and not permitted)
    ids = {ID.search(reason(each.answer))[1] for each in ended if each.out}  # type: ignore[index]
    assert len(ids) <= 1
    assert [each["status"] for each in gated.records()].count("permitted") <= 1


EDITS = [
    ("codex", {"path": "/tmp", "force": False}, {"path": "/tmp", "force": False}),
    ("codex", {"path": "/tmp"}, {"path": "/tmp"}),
    ("gemini", {"path": "/tmp", "force": True}, {"path": "/tmp", "force": True}),
    ("gemini", {"path": "/tmp"}, "the arguments would be rewritten (a person looks); gemini cannot take this rewrite"),
    ("codex", {"path": "/root/x"}, "the arguments as edited by alice are decided deny: never"),
]


@pytest.mark.parametrize(("host", "edited", "expected"), EDITS)
def test_edited_arguments_are_decided_again(gated: Gated, host: str, edited: dict[str, Any], expected: Any) -> None:
    gated.answered(gated.waiting(native, host), args=edited)
    answer = gated.ask(native, host)
    if isinstance(expected, str):
        assert reason(answer) == expected
        assert gated.records()[-1]["status"] == "denied"
        return
    output = answer["hookSpecificOutput"]
    assert (output.get("updatedInput") or output.get("tool_input")) == expected
    assert gated.records()[-1]["args"] == expected
    assert gated.records()[-1]["status"] == "permitted"


def test_a_transform_is_approved_and_then_made(gated: Gated) -> None:
    id = gated.waiting(native, "claude-code", "moved")
    gated.answered(id)
    new = {"path": "/safe", "force": True}
    assert gated.ask(native, "claude-code", "moved")["hookSpecificOutput"]["updatedInput"] == new
    # The effective arguments are what was approved: another spelling of the same call uses them too.
    assert gated.waiting(native, "claude-code", "moved", args={"path": "/x", "force": True}) != id
    removed = gated.ask(native, "cursor", "moved", hook_event_name="beforeMCPExecution")
    assert "cursor cannot take this rewrite" in reason(removed)


@hooks
def test_other_verdicts_need_no_store(gated: Gated, hook: Any) -> None:
    for tool, answer in (("allowed", None), ("other", "irreversible action with no shadow; default policy")):
        found = gated.ask(hook, "codex", tool)
        assert (found if found is None else reason(found)) == answer
    assert not gated.store.exists()
    assert gated.ask(hook, "claude-code", "allowed", "--grant")["hookSpecificOutput"]["permissionDecision"] == "allow"


@hooks
@pytest.mark.parametrize(
    "url",
    ["approvals.db", "sqlite:////does/not/exist/a.db", "sqlite:////dev/full", "redis://127.0.0.1:1/0", "", "x://y",
     "postgres://alice:secret@127.0.0.1:1/none"],
)  # fmt: skip
def test_a_store_that_cannot_be_opened_is_a_refusal(gated: Gated, hook: Any, url: str, tmp_path: Path) -> None:
    text = call("codex", "person")
    ended = hook("codex", gated.policy, text, f"--approvals={url}", "--log", str(gated.log), cwd=tmp_path)
    assert (ended.code, ended.out, ended.err.count(b"\n")) == (2, b"", 1), ended
    assert b"secret" not in ended.err
    assert b"Traceback" not in ended.err
    assert not gated.log.exists()


def test_a_changed_question_is_a_refusal(gated: Gated) -> None:
    import sqlite3

    id = gated.waiting(native)
    gated.answered(id)
    with sqlite3.connect(gated.store) as connection:
        [(table,)] = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%document%'"
        ).fetchall()
        changed = connection.execute(f"UPDATE {table} SET body = replace(body, '/etc', '/root') WHERE key = ?", (id,))
        assert changed.rowcount == 1
    connection.close()
    ended = native("codex", gated.policy, call("codex", "person"), "--approvals", gated.url)
    assert (ended.code, ended.out, ended.err.count(b"\n")) == (2, b"", 1), ended
    assert b"damaged" in ended.err


def test_a_person_is_asked_in_the_store_where_the_host_could_ask(gated: Gated) -> None:
    gated.waiting(native, "claude-code")
    text = json.dumps({"hook_event_name": "beforeMCPExecution", "tool_name": "person", "tool_input": {}, "cwd": "/w"})
    ended = native("cursor", gated.policy, text.encode(), "--approvals", gated.url)
    assert ended.answer["permission"] == "deny"
