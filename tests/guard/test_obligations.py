"""Obligations in guards and runs: what is performed, when, and what a failure does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    AuditEvent,
    FinalAnswer,
    Guard,
    MemoryStore,
    Message,
    ObligationCall,
    Policy,
    SQLiteStore,
    ToolCall,
    ToolSet,
    auto_approve,
    auto_deny,
    callback_sink,
    current_action,
    decide_again,
    run_agent,
    shadow,
    tool,
    uses_action,
)
from bobcat.errors import AuditError
from bobcat.runtime import obligations as runtime

POLICY = Policy.compile(
    """
    rules:
      - id: pay
        match: {tool: pay, args.amount.le: 50}
        decision: allow
        obligations:
          - redact: [args.card, 'args.notes.*.secret']
          - tag: {team: pay}
          - reserve: {fund: main}
          - notify: treasury
      - id: ask
        match: {tool: pay, args.amount.le: 500}
        decision: approve_required
        obligations: [{reserve: {fund: other}}, {notify: boss}]
      - {id: 'no', match: {tool: pay}, decision: deny, obligations: [{notify: police}, {reserve: 1}]}
    """
)


class World:
    """A tool, handlers and a sink that note what happened, in order."""

    def __init__(self, fail: tuple[str, ...] = ()) -> None:
        self.done: list[str] = []
        self.events: list[AuditEvent] = []
        self.calls: list[ObligationCall] = []
        self.fail = fail
        self.sink = callback_sink(self.events.append)

        @tool(name="pay")
        async def pay(card: str, amount: int, notes: list[Any] | None = None) -> str:
            self.done.append("pay")
            if amount == 13:
                raise ValueError("no funds")
            return "paid"

        self.tools = ToolSet.from_functions(pay)
        self.handlers = {"reserve": self.reserve, "notify": self.notify}

    async def reserve(self, obligation: Any, call: ObligationCall) -> None:
        await asyncio.sleep(0)
        self.note(obligation, call)

    def notify(self, obligation: Any, call: ObligationCall) -> None:
        self.note(obligation, call)

    def note(self, obligation: Any, call: ObligationCall) -> None:
        self.calls.append(call)
        self.done.append(f"{obligation.name} {obligation.phase}")
        if obligation.name in self.fail:
            raise RuntimeError("not now")

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events if event.kind.startswith(("obligation", "action"))]

    def guard(self, **options: Any) -> Guard:
        return Guard(POLICY, self.tools, **{"obligations": self.handlers, "sinks": [self.sink], **options})


def test_obligations_are_performed_before_and_after_the_effect() -> None:
    world = World()
    with world.guard() as guard:
        assert guard.submit_sync("pay", {"card": "4111", "amount": 5}).ok
    assert world.done == ["reserve before", "pay", "notify after"]
    assert world.kinds() == ["obligation.performed", "action.started", "action.completed", "obligation.performed"]
    before, after = world.calls
    assert (before.result, before.request.args["card"]) == (None, "4111")
    assert after.result is not None
    assert (after.result.ok, after.result.value, after.step) == (True, "paid", 0)
    assert after.run_id


def test_a_failed_tool_is_followed_by_its_obligations() -> None:
    world = World()
    with world.guard() as guard:
        assert guard.submit_sync("pay", {"card": "4111", "amount": 13}).status == "failed"
    assert world.done == ["reserve before", "pay", "notify after"]
    assert world.calls[-1].result is not None
    assert "no funds" in str(world.calls[-1].result.error)


@pytest.mark.parametrize(
    ("handlers", "code", "text"),
    [
        ({}, "obligation_unknown", "no handler performs it"),
        ({"reserve": lambda *_: 1 / 0}, "obligation_failed", "ZeroDivisionError"),
        ({"reserve": lambda *_: exit(3)}, "obligation_failed", "SystemExit"),
    ],
)
def test_a_call_without_its_obligation_is_refused(handlers: Any, code: str, text: str, tmp_path: Path) -> None:
    world = World()
    log = tmp_path / "log.jsonl"
    with world.guard(obligations={"notify": world.notify, **handlers}, log=log) as guard:
        outcome = guard.submit_sync("pay", {"card": "4111", "amount": 5})
    assert (outcome.status, outcome.code, outcome.verdict) == ("denied", code, "allow")
    assert text in str(outcome.error)
    assert "`reserve`" in str(outcome.error)
    assert world.done == []
    assert world.kinds() == ["obligation.failed", "action.denied"]
    failed, denied = (
        dict(event.body) for event in world.events if event.kind in ("obligation.failed", "action.denied")
    )
    assert (failed["code"], failed["name"], failed["phase"], denied["code"]) == (code, "reserve", "before", code)
    (entry,) = map(json.loads, log.read_text().splitlines())
    assert (entry["body"]["status"], entry["body"]["code"]) == ("denied", code)


def test_a_failure_after_the_effect_changes_nothing() -> None:
    world = World(fail=("notify",))
    with world.guard() as guard:
        outcome = guard.submit_sync("pay", {"card": "4111", "amount": 5})
    assert (outcome.ok, outcome.code) == (True, "")
    failed = next(dict(event.body) for event in world.events if event.kind == "obligation.failed")
    assert (failed["name"], failed["phase"], failed["error"]) == ("notify", "after", "RuntimeError: not now")


def test_a_handler_that_takes_too_long_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    from bobcat.runtime import driver

    monkeypatch.setattr(driver, "OBLIGATION_SECONDS", 0.01)
    world = World()

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    with world.guard(obligations={"reserve": never}) as guard:
        outcome = guard.submit_sync("pay", {"card": "4111", "amount": 5})
    assert (outcome.status, outcome.code, world.done) == ("denied", "obligation_failed", [])
    assert "no answer within 0.01s" in str(outcome.error)


def test_a_denial_is_followed_by_all_its_obligations() -> None:
    world = World(fail=("reserve",))
    with world.guard() as guard:
        assert guard.submit_sync("pay", {"card": "4111", "amount": 5000}).status == "denied"
    assert world.done == ["notify after", "reserve before"]
    assert world.kinds() == ["action.started", "action.denied", "obligation.performed", "obligation.failed"]


@pytest.mark.parametrize(("handler", "done"), [
    (auto_approve(), ["reserve before", "pay", "notify after"]),
    (auto_deny("no"), ["reserve before", "notify after"]),
])  # fmt: skip
def test_obligations_wait_for_the_approval(handler: Any, done: list[str]) -> None:
    world = World()
    with world.guard(on_approval=handler) as guard:
        outcome = guard.submit_sync("pay", {"card": "4111", "amount": 100})
    assert outcome.ok is ("pay" in done)
    assert world.done == done
    assert all((call.result is None) is (outcome.ok and index == 0) for index, call in enumerate(world.calls))


def test_a_check_performs_nothing() -> None:
    world = World()
    with world.guard() as guard:
        assert guard.check_sync("pay", {"card": "4111", "amount": 5}).status == "ok"
        assert guard.check_sync("pay", {"card": "4111", "amount": 5000}).status == "denied"
    assert world.done == []


def test_a_dry_run_needs_its_obligations() -> None:
    previewed: list[str] = []

    @tool
    async def send(to: str) -> str:
        raise AssertionError

    @shadow(send)
    async def preview(to: str) -> str:
        previewed.append(to)
        return "would send"

    policy = Policy.compile("rules: [{match: {}, decision: dry_run, obligations: [{page: 1}]}]")
    tools = ToolSet.from_functions(send)
    with Guard(policy, tools) as guard:
        assert guard.submit_sync("send", {"to": "a"}).code == "obligation_unknown"
    with Guard(policy, tools, obligations={"page": lambda *_: None}) as guard:
        assert guard.submit_sync("send", {"to": "b"}).status == "previewed"
    assert previewed == ["b"]


def test_events_and_the_log_lack_redacted_values(tmp_path: Path) -> None:
    world, log = World(), tmp_path / "log.jsonl"
    notes = [{"secret": "s3cr3t", "text": "hello"}]
    with world.guard(log=log) as guard:
        assert guard.submit_sync("pay", {"card": "4111", "amount": 5, "notes": notes}).ok
    shown = repr([(event.kind, event.body) for event in world.events]) + log.read_text()
    assert "4111" not in shown
    assert "s3cr3t" not in shown
    assert "hello" in shown
    body = next(dict(event.body) for event in world.events if event.kind == "policy.evaluated")
    assert body["args"]["card"] == "<redacted>"
    assert body["tags"] == {"team": "pay"}
    assert [each["name"] for each in body["obligations"]] == ["redact", "tag", "reserve", "notify"]
    (decision, _) = map(json.loads, log.read_text().splitlines())
    assert decision["body"]["tags"] == {"team": "pay"}
    event = next(event for event in world.events if event.kind == "policy.evaluated")
    with pytest.raises(AuditError, match="redacted"):
        decide_again(event, POLICY)
    again = decide_again(event, POLICY, args={"card": "4111", "amount": 5, "notes": notes})
    assert again.matched_rules == ("pay",)


def test_a_keyed_digest_stays_where_the_guard_redacts(tmp_path: Path) -> None:
    world, log = World(), tmp_path / "log.jsonl"
    with world.guard(log=log, redact=["args.card"]) as guard:
        assert guard.submit_sync("pay", {"card": "4111", "amount": 5}).ok
    (decision, _) = map(json.loads, log.read_text().splitlines())
    assert decision["body"]["args"]["card"].startswith("hmac-sha256:")


def test_a_result_is_redacted(tmp_path: Path) -> None:
    policy = Policy.compile("rules: [{match: {}, decision: allow, obligations: [{redact: [result.token]}]}]")
    events: list[AuditEvent] = []

    class Results:
        results = True

        async def __call__(self, event: AuditEvent) -> None:
            events.append(event)

    @tool
    async def login() -> dict[str, str]:
        return {"token": "t0ken", "user": "ann"}

    log = tmp_path / "log.jsonl"
    with Guard(policy, [login], log=log, sinks=[Results()]) as guard:
        outcome = guard.submit_sync("login", {})
    assert outcome.value == {"token": "t0ken", "user": "ann"}
    assert "t0ken" not in log.read_text() + repr([event.body for event in events])
    assert '"user":"ann"' in log.read_text()


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (["notify"], TypeError, "a mapping"),
        ({"notify": "x"}, TypeError, "must be a function"),
        ({5: print}, TypeError, "a string"),
        ({"redact": print}, ValueError, "built in"),
        ({"rate_limit": print}, ValueError, "built in"),
    ],
)
def test_invalid_handlers_are_refused_at_once(given: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Guard(POLICY, [], obligations=given)


class Twice:
    """Pays twice."""

    async def step(self, conversation: Sequence[Message], /) -> ToolCall | FinalAnswer:
        made = sum(message.role == "tool" for message in conversation)
        return ToolCall("pay", {"card": "4111", "amount": 5 + made}) if made < 2 else FinalAnswer("done")


def test_a_run_performs_obligations_and_journals_them() -> None:
    asyncio.run(_performs_and_journals())


async def _performs_and_journals() -> None:
    world, store = World(fail=("notify",)), MemoryStore()
    result = await run_agent(
        Twice(), "pay", tools=world.tools, policy=POLICY, store=store, run_id="r", obligations=world.handlers
    )
    assert result.final_answer == "done"
    assert world.done == ["reserve before", "pay", "notify after"] * 2
    notes = [dict(record.body) for record in await store.load("r") if record.kind == "step.obligations"]
    assert [(note["step"], [each.get("code", "") for each in note["outcomes"]]) for note in notes] == [
        (0, [""]), (0, ["obligation_failed"]), (1, [""]), (1, ["obligation_failed"]),
    ]  # fmt: skip
    assert {call.run_id for call in world.calls} == {"r"}
    again = await run_agent(
        Twice(), "pay", tools=world.tools, policy=POLICY, store=store, run_id="r", obligations=world.handlers
    )
    assert (again.final_answer, len(world.done)) == ("done", 6)


def test_a_run_without_handlers_tells_the_model() -> None:
    world = World()
    seen: list[Sequence[Message]] = []

    class Agent(Twice):
        async def step(self, conversation: Sequence[Message], /) -> ToolCall | FinalAnswer:
            seen.append(list(conversation))
            return await super().step(conversation)

    asyncio.run(run_agent(Agent(), "pay", tools=world.tools, policy=POLICY))
    assert world.done == []
    texts = [message.content for message in seen[-1] if message.role == "tool"]
    assert texts == ["[denied] the obligation `reserve` was not performed: no handler performs it"] * 2


def test_a_further_request_performs_its_obligations() -> None:
    verdicts: list[str] = []

    @tool
    @uses_action
    async def fetch(url: str) -> str:
        action = current_action()
        assert action is not None
        targets = ("https://b.example", "https://c.example")
        verdicts.extend([str((await action.judge({"url": each})).verdict) for each in targets])
        return "fetched"

    policy = Policy.compile(
        "rules: [{match: {args.url: 'https://a.example'}, decision: allow},"
        "{match: {args.url: 'https://b.example'}, decision: allow, obligations: [{page: b}]},"
        "{match: {args.url: 'https://c.example'}, decision: allow, obligations: [{other: c}]}]"
    )
    done: list[Any] = []
    with Guard(policy, [fetch], obligations={"page": lambda obligation, _: done.append(obligation.value)}) as guard:
        assert guard.submit_sync("fetch", {"url": "https://a.example"}).ok
    assert (verdicts, done) == (["allow", "deny"], ["b"])


def test_the_longest_wait_is_documented() -> None:
    page = Path("docs/reference/obligations.md").read_text()
    assert f"no answer within {runtime.OBLIGATION_SECONDS:g} s" in page
    assert all(f"| `{code}` |" in page for code in runtime.CODES)


def test_a_limit_holds_over_guards_of_one_session(tmp_path: Path) -> None:
    policy = Policy.compile(
        "rules: [{id: pay, match: {tool: pay}, decision: allow, obligations: [{rate_limit: {max: 2, by: principal}}]}]"
    )
    outcomes = []
    for _ in range(3):
        world = World()
        with Guard(policy, world.tools, store=SQLiteStore(tmp_path / "s.db")) as guard:
            outcomes.append(guard.submit_sync("pay", {"card": "4111", "amount": 5}).status)
    assert outcomes == ["ok", "ok", "denied"]
