"""A hook remembers the calls of a session between processes: counts, sources, sequences and the user's words."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bobcat import Approvals, Policy
from bobcat.stores import SQLiteStore
from hooks.hosts import NATIVE, Ended, call, native, prompt, python, result

HOOKS = (native, python)
hooks = pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.__name__)

POLICY = """
defaults: {on_missing_shadow: deny, on_no_match: deny}
sources:
  directory: {tool: search, fields: [email], asked_with: task}
rules:
  - id: cap
    match: {tool: pay, run.count.pay.lt: 3, run.sum.pay.amount.with_this.le: 100, args.amount.gt: 0}
    decision: allow
  - {id: search, match: {tool: search}, decision: allow}
  - {id: mail, match: {tool: mail, args.to.from: directory}, decision: allow}
  - {id: own, match: {tool: write, args.to.occurs_in: {ref: context.task}}, decision: allow}
  - {id: tests, match: {tool: run_tests}, decision: allow}
  - {id: edits, match: {tool: edit}, decision: allow}
  - id: deploy
    match:
      tool: deploy
      run.never: {event: {call: {tool: edit}}, since: {result: {tool: run_tests, result.exit_code: 0}}}
    decision: allow
  - {id: ask, match: {tool: ask, run.count.ask.lt: 1}, decision: approve_required}
  - id: small
    match: {tool: moved, run.sum.moved.amount.lt: 10}
    decision: transform
    transform: {jsonpath: $.args.amount, set: 10}
"""
FORGETS = "defaults: {on_missing_shadow: deny, on_no_match: deny}\nrules: [{match: {tool: pay}, decision: allow}]\n"


class Kept:
    """Hooks with one policy and one directory of sessions."""

    def __init__(self, directory: Path, text: str = POLICY) -> None:
        self.policy, self.state = directory / "policy.bobcat", directory / "state"
        self.write(text)

    def write(self, text: str) -> None:
        Policy.compile(text).save(self.policy)

    def give(self, hook: Any, host: str, text: bytes, *flags: str, **options: Any) -> Ended:
        ended: Ended = hook(host, self.policy, text, "--state", str(self.state), *flags, **options)
        return ended

    def ask(self, hook: Any, tool: str, args: Any, host: str = "claude-code", **more: Any) -> str:
        """The decision on a call, whose hook must not fail."""
        return decision(self.give(hook, host, call(host, tool, args, **more)))

    def tell(self, hook: Any, host: str, text: bytes) -> None:
        """Give an input that has no answer."""
        ended = self.give(hook, host, text)
        assert (ended.code, ended.out, ended.err) == (0, b"", b"")

    @property
    def record(self) -> Path:
        """The file of the one session."""
        (path,) = self.state.glob("*.session")
        return path


def decision(ended: Ended) -> str:
    assert (ended.code, ended.err) == (0, b""), ended
    answer = ended.answer
    if answer is None:
        return "allow"
    answer = answer.get("hookSpecificOutput", answer)
    if "updatedInput" in answer or "tool_input" in answer:
        return "rewrite"
    found = answer.get("permissionDecision") or answer.get("decision") or answer.get("permission")
    return str(found)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


@hooks
def test_a_count_holds_between_processes_and_sessions_are_apart(kept: Kept, hook: Any) -> None:
    answers = [kept.ask(hook, "pay", {"amount": 1}) for _ in range(4)]
    assert answers == ["allow", "allow", "allow", "deny"]
    assert kept.ask(hook, "pay", {"amount": 1}, session_id="s2") == "allow"
    assert kept.ask(hook, "pay", {"amount": 1}, "codex") == "allow"


def test_both_hooks_continue_one_record(kept: Kept) -> None:
    answers = [kept.ask(HOOKS[number % 2], "pay", {"amount": 30}) for number in range(4)]
    assert answers == ["allow", "allow", "allow", "deny"]


@hooks
def test_a_refused_call_is_not_counted_and_an_asked_one_is(kept: Kept, hook: Any) -> None:
    assert [kept.ask(hook, "pay", {"amount": 101}) for _ in range(4)] == ["deny"] * 4
    assert kept.ask(hook, "pay", {"amount": 100}) == "allow"
    assert [kept.ask(hook, "ask", {}) for _ in range(2)] == ["ask", "deny"]
    # Codex cannot ask: nothing runs, and nothing is counted.
    ended = [kept.give(hook, "codex", call("codex", "ask", {})).answer for _ in range(2)]
    assert all("cannot ask" in json.dumps(answer) for answer in ended)


@hooks
def test_the_arguments_that_run_are_counted(kept: Kept, hook: Any) -> None:
    assert [kept.ask(hook, "moved", {"amount": 1}) for _ in range(2)] == ["rewrite", "deny"]


EMAIL = json.dumps({"items": [], "email": "a@b.example"})
RESPONSES: dict[str, tuple[str, Any]] = {
    "claude structured": ("claude-code", EMAIL),
    "claude content": ("claude-code", [{"type": "text", "text": EMAIL}]),
    "claude object": ("claude-code", json.loads(EMAIL)),
    "codex text": ("codex", EMAIL + "\n"),
    "codex content": ("codex", {"content": [{"type": "text", "text": EMAIL}]}),
    "codex structured": ("codex", {"content": [], "structuredContent": [json.loads(EMAIL)], "isError": False}),
    "gemini marked": (
        "gemini",
        {"llmContent": [{"text": f"<untrusted_context>\n{EMAIL}\n</untrusted_context>"}], "returnDisplay": "x"},
    ),
    "gemini text": ("gemini", {"llmContent": EMAIL, "returnDisplay": "x"}),
}
NO_RESPONSES: dict[str, tuple[str, Any]] = {
    "an error of Gemini CLI": ("gemini", {"llmContent": EMAIL, "error": {"message": "x"}}),
    "an error of an MCP server": ("codex", {"content": [{"type": "text", "text": EMAIL}], "isError": True}),
    "free text": ("claude-code", "the address is a@b.example"),
    "null": ("claude-code", None),
    "two texts": ("claude-code", [{"type": "text", "text": EMAIL}] * 2),
    "a key twice": ("claude-code", '{"email": "a@b.example", "email": "a@b.example"}'),
}


def _search(kept: Kept, hook: Any, host: str, response: Any, **more: Any) -> str:
    """Search as the user asked, give the response, and mail."""
    kept.tell(hook, host, prompt(host, "mail the words of x"))
    assert kept.ask(hook, "mail", {"to": "a@b.example"}, host) == "deny"
    assert kept.ask(hook, "search", {"q": "x"}, host, tool_use_id="t1") == "allow"
    given = {"tool_use_id": "t1", **more}
    args = given.pop("args", {"q": "x"})
    kept.tell(hook, host, result(host, given.pop("tool", "search"), args, response, **given))
    return kept.ask(hook, "mail", {"to": "a@b.example"}, host)


@pytest.mark.parametrize("name", RESPONSES)
def test_a_result_is_a_source(kept: Kept, name: str) -> None:
    host, response = RESPONSES[name]
    assert _search(kept, native, host, response) == "allow"


@pytest.mark.parametrize("name", NO_RESPONSES)
def test_an_unusable_response_is_no_source(kept: Kept, name: str) -> None:
    host, response = NO_RESPONSES[name]
    assert _search(kept, native, host, response) == "deny"


@pytest.mark.parametrize("more", [{"tool_use_id": "t2"}, {"args": {"q": "y"}}, {"tool": "other"}, {"session_id": "s2"}])
def test_the_result_of_another_call_is_no_source(kept: Kept, more: dict[str, Any]) -> None:
    assert _search(kept, native, "claude-code", EMAIL, **more) == "deny"


def test_a_result_of_a_refused_call_is_no_source(kept: Kept) -> None:
    kept.tell(native, "claude-code", prompt("claude-code", "look"))
    # Not asked with the user's words: the call runs, and is no source.
    assert kept.ask(native, "search", {"q": "x"}, tool_use_id="t1") == "allow"
    kept.tell(native, "claude-code", result("claude-code", "search", {"q": "x"}, EMAIL, tool_use_id="t1"))
    kept.tell(native, "claude-code", result("claude-code", "search", {"q": "look"}, EMAIL, tool_use_id="t2"))
    assert kept.ask(native, "mail", {"to": "a@b.example"}) == "deny"


@hooks
def test_the_last_words_of_the_user_are_the_task(kept: Kept, hook: Any) -> None:
    host = "codex"
    assert kept.ask(hook, "write", {"to": "notes.txt"}, host) == "deny"
    kept.tell(hook, host, prompt(host, "write it to notes.txt, \u00fc\U0001f600"))
    assert kept.ask(hook, "write", {"to": "notes.txt"}, host) == "allow"
    assert kept.ask(hook, "write", {"to": "notes.txt"}, host, session_id="s2") == "deny"
    kept.tell(hook, host, prompt(host, "another file"))
    assert kept.ask(hook, "write", {"to": "notes.txt"}, host) == "deny"


@hooks
def test_a_sequence_spans_processes(kept: Kept, hook: Any) -> None:
    host = "claude-code"
    assert kept.ask(hook, "deploy", {}) == "deny"
    kept.ask(hook, "run_tests", {}, tool_use_id="t1")
    kept.tell(hook, host, result(host, "run_tests", {}, {"exit_code": 0}, tool_use_id="t1"))
    assert kept.ask(hook, "deploy", {}) == "allow"
    kept.ask(hook, "edit", {})
    assert kept.ask(hook, "deploy", {}) == "deny"


@hooks
def test_a_policy_that_remembers_nothing_touches_no_file(tmp_path: Path, hook: Any) -> None:
    kept = Kept(tmp_path, FORGETS)
    assert kept.ask(hook, "pay", {}) == "allow"
    for text in (result("gemini", "pay", {}, {"llmContent": "x"}), prompt("gemini", "go")):
        kept.tell(hook, "gemini", text)
    assert not kept.state.exists()


def test_an_edit_of_the_policy_forgets_no_call(kept: Kept) -> None:
    for _ in range(2):
        kept.ask(native, "pay", {"amount": 1})
    match = "{run.count: {of: {tool: pay, args.amount: 1}, lt: 2}}"
    edited = f"defaults: {{on_missing_shadow: deny}}\nrules: [{{match: {match}, decision: allow}}]\n"
    kept.write(edited)
    assert kept.ask(native, "other", {}) == "deny"
    kept.write(edited.replace("lt: 2", "lt: 3"))
    assert kept.ask(native, "other", {}) == "allow"


@hooks
@pytest.mark.parametrize("damage", ["cut", "byte", "foreign", "empty", "directory"])
def test_a_damaged_record_permits_nothing(kept: Kept, hook: Any, damage: str) -> None:
    kept.ask(native, "pay", {"amount": 1})
    path = kept.record
    data = path.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(data[:-5])
        case "byte":
            path.write_bytes(data.replace(b'"amount":1', b'"amount":0'))
        case "foreign":
            path.write_text("hello\n" * 100)
        case "empty":
            path.write_bytes(b"")
        case "directory":
            path.unlink()
            path.mkdir()
    for text in (call("claude-code", "edit", {}), prompt("claude-code", "go")):
        ended = kept.give(hook, "claude-code", text)
        assert (ended.code, ended.out, ended.err.count(b"\n")) == (2, b"", 1)
        assert str(path).encode() in ended.err
    # Another session is not affected.
    assert kept.ask(hook, "pay", {"amount": 1}, session_id="s2") == "allow"


def test_a_directory_that_others_can_write_permits_nothing(kept: Kept) -> None:
    kept.state.mkdir(mode=0o700)
    kept.state.chmod(0o777)
    ended = kept.give(native, "claude-code", call("claude-code", "edit", {}))
    assert (ended.code, ended.out) == (2, b"")
    assert b"others can write there" in ended.err


@hooks
def test_a_host_without_a_session_has_no_state(kept: Kept, hook: Any) -> None:
    assert kept.ask(hook, "pay", {"amount": 1}, "cursor", conversation_id=None) == "deny"
    assert kept.ask(hook, "pay", {"amount": 1}, "cursor", conversation_id="") == "deny"
    assert kept.ask(hook, "search", {"amount": 1}, "cursor", conversation_id=None) == "allow"
    assert not kept.state.exists()
    assert kept.ask(hook, "pay", {"amount": 1}, "cursor") == "allow"


@hooks
def test_the_environment_names_the_directory(kept: Kept, tmp_path: Path, hook: Any) -> None:
    clean = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    home, state = str(tmp_path / "home"), str(tmp_path / "xdg")
    for more, place in (
        ({"HOME": home}, "home/.local/state/bobcat/hooks"),
        ({"HOME": home, "XDG_STATE_HOME": "relative"}, "home/.local/state/bobcat/hooks"),
        ({"HOME": home, "XDG_STATE_HOME": state}, "xdg/bobcat/hooks"),
        ({"BOBCAT_HOOK_STATE": str(tmp_path / "own"), "XDG_STATE_HOME": state}, "own"),
    ):
        ended = hook("codex", kept.policy, call("codex", "pay", {"amount": 1}), env={**clean, **more})
        assert decision(ended) == "allow"
        assert len(list((tmp_path / place).glob("*.session"))) == 1
    for more in ({}, {"HOME": ""}, {"BOBCAT_HOOK_STATE": "relative", "HOME": home}):
        ended = hook("codex", kept.policy, call("codex", "pay", {"amount": 1}), env={**clean, **more})
        assert (ended.code, ended.out) == (2, b"")
        assert b"BOBCAT_HOOK_STATE" in ended.err


def _together(work: Callable[[int], Ended], count: int) -> list[str]:
    with ThreadPoolExecutor(count) as pool:
        return sorted(decision(ended) for ended in pool.map(work, range(count)))


def test_of_twenty_processes_those_pass_that_fit_under_the_cap(kept: Kept) -> None:
    def pay(number: int) -> Ended:
        text = call("claude-code", "pay", {"amount": 40}, tool_use_id="same")
        return kept.give(HOOKS[number % 10 == 0], "claude-code", text)

    assert _together(pay, 20) == ["allow"] * 2 + ["deny"] * 18


def test_twenty_processes_begin_one_session(kept: Kept) -> None:
    def edit(_: int) -> Ended:
        return kept.give(native, "claude-code", call("claude-code", "edit", {}))

    assert _together(edit, 20) == ["allow"] * 20
    assert kept.record.read_bytes().count(b"\tcall\t") == 20
    assert not list(kept.state.glob("*.part"))


def test_a_hook_that_is_killed_loses_no_call_and_leaves_a_whole_record(kept: Kept) -> None:
    command = [str(NATIVE), "claude-code", "--policy", str(kept.policy), "--state", str(kept.state), "--grant"]
    answered = 0
    for number in range(80):
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(call("claude-code", "edit", {"text": "x" * 9_000}))
            process.stdin.close()
            time.sleep(number / 2_000)
            process.kill()
            answered += b'"allow"' in process.stdout.read()
    assert kept.ask(native, "edit", {}) == "allow"
    recorded = kept.record.read_bytes().count(b"\tcall\t") - 1
    assert answered <= recorded <= 80
    assert recorded > 0


def test_an_approval_is_counted_when_it_is_granted(kept: Kept, tmp_path: Path) -> None:
    flags = ("--approvals", f"sqlite:///{tmp_path}/approvals.db")

    def ask() -> Ended:
        return kept.give(native, "codex", call("codex", "ask", {}), *flags)

    async def grant(id: str) -> None:
        store = SQLiteStore(tmp_path / "approvals.db")
        try:
            await Approvals(store).grant(id, approver="alice")
        finally:
            await store.aclose()

    for _ in range(2):  # a question that waits is no call
        waiting = ask()
        assert decision(waiting) == "deny"
    found = re.search(rb"waits as ([0-9a-f]+)\.", waiting.out)
    assert found is not None
    asyncio.run(grant(found[1].decode()))
    assert decision(ask()) == "allow"
    assert b"waits as" not in ask().out  # the rule permits one: no question is asked again
