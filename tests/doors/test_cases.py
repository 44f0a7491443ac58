"""The case table on the doors: the one that BOBCAT_DOOR names, or those whose framework this environment has."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, Policy, ToolSet
from bobcat.decision_log import open_log
from bobcat.guard.tools import tool_of
from bobcat.guards.answers import GivenAnswers
from bobcat.model.run import ApprovalDecision, ApprovalRequest
from doors.adapter import Adapter, Observed, Proposal, Setup
from doors.cases import CASES, FAULT_CASES, FAULTS, UNANSWERED, Call, Case, policy_text
from doors.tools import Tools

NAMED = os.environ.get("BOBCAT_DOOR")
DONE = "done"
BY_FRAMEWORK = ("unknown", "invalid")
"""Statuses of calls that a framework may refuse itself, before its door sees them."""


def _adapters() -> dict[str, Adapter]:
    places = sorted(path.parent.name for path in Path(__file__).parent.glob("*/door.py"))
    found = {}
    for name in [NAMED] if NAMED else places:
        try:
            found[name] = importlib.import_module(f"doors.{name}.door")
        except ModuleNotFoundError:
            if NAMED:
                raise
    return found  # type: ignore[return-value]


ADAPTERS = _adapters()
EACH_MODE = pytest.mark.parametrize(
    ("door", "mode"),
    [(adapter, mode) for adapter in ADAPTERS.values() for mode in adapter.MODES],
    ids=[f"{name}-{'-'.join(mode)}" for name, adapter in ADAPTERS.items() for mode in adapter.MODES],
)
EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


class Run:
    """One case on one door: the log, the tools, and the run."""

    def __init__(self, door: Adapter, mode: tuple[str, str], place: Path) -> None:
        self.door, self.mode = door, mode
        self.log = place / "log.db"
        self.tools = Tools()
        self.policy = Policy.compile(policy_text(door.PREFIX))

    def observe(self, case: Case, *, declared: bool = True, break_guard: Any = None, **options: Any) -> Observed:
        """Run the case. With `declared`, guard and framework have the same functions."""
        entry, kind = self.mode
        functions = self.tools.functions(is_async=kind == "async")
        named = {self.door.PREFIX + each.__name__: each for each in functions}
        tools = ToolSet({name: tool_of(each, name=name) for name, each in named.items()} if declared else {})
        options.setdefault("log", self.log)
        if not self.door.INTERRUPTS:
            options.setdefault("on_approval", self.handler(case))
        guard = Guard(self.policy, tools, **options)
        answers = {self.door.PREFIX + name: answer for name, answer in case.answers.items()}
        setup = Setup(guard, functions, self.proposals(case), answers)

        async def run() -> Observed:
            async with guard:
                if break_guard is not None:
                    await break_guard(guard)
                return await self.door.run(setup)

        if entry == "async":
            return asyncio.run(run())
        with guard:
            if break_guard is not None:
                asyncio.run(break_guard(guard))
            return self.door.run_sync(setup)

    def proposals(self, case: Case) -> list[list[Proposal]]:
        """The calls of the case under ids and the framework's names."""
        return [
            [
                Proposal(call.id or f"c{turn}_{at}", self.door.PREFIX + call.tool, call.args)
                for at, call in enumerate(calls)
            ]
            for turn, calls in enumerate(case.turns)
        ]

    def handler(self, case: Case) -> Any:
        """The answers as an approval handler, for a framework without interruptions. None for a case without any."""
        asked = {self.door.PREFIX + name: answer for name, answer in case.answers.items()}
        handlers: dict[str, GivenAnswers] = {}

        async def answer(request: ApprovalRequest) -> ApprovalDecision:
            name = request.request.tool
            if len(request.granted_by) == 0:  # a new question, not the next approver of one
                handlers[name] = GivenAnswers(asked[name])
            return await handlers[name](request)

        return answer if asked else None

    def records(self) -> list[tuple[str, str]]:
        """The records of the log as (tool, status)."""
        with open_log(self.log) as log:
            return sorted((each.tool.removeprefix(self.door.PREFIX), each.status) for each in log.records())

    def ran(self) -> list[tuple[str, str]]:
        """The calls that reached the tools."""
        return sorted((name, str(args)) for name, args in self.tools.ran)


def expected_runs(case: Case) -> list[tuple[str, str]]:
    """The calls that must have run, each as often as it was proposed."""
    return sorted((call.tool, str(dict(call.ran))) for call in case.calls if call.ran is not None)


def check_records(case: Case, records: list[tuple[str, str]]) -> None:
    """Exactly one record for each call; none or one for a call that a framework may refuse itself."""
    due = Counter((call.tool, call.status) for call in case.calls)
    optional = Counter((call.tool, call.status) for call in case.calls if call.status in BY_FRAMEWORK)
    found = Counter(records)
    assert found <= due, records
    assert due - found <= optional, records


def check_replies(case: Case, observed: Observed) -> None:
    """Every call has its answer, or the run ended with the error of the tool that raised."""
    replies = list(observed.replies)
    if observed.error is not None:
        assert any(call.status in ("failed", *BY_FRAMEWORK) for call in case.calls), observed
        expected = [call.reply for call in case.calls if call.status == "failed"]
        assert all(text in str(observed.error) for text in expected), observed
        return
    assert observed.final == DONE, observed
    for turn, calls in enumerate(case.turns):
        for at, call in enumerate(calls):
            wanted = call.id or f"c{turn}_{at}"
            text = next((text for name, text in replies if name == wanted), None)
            assert text is not None, f"no answer to {wanted}: {observed}"
            replies.remove((wanted, text))
            assert call.reply in text, observed
            assert call.status == "ok" or text, observed


@EACH_MODE
@EACH_CASE
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "undeclared"])
def test_a_case_of_the_table(door: Adapter, mode: tuple[str, str], case: Case, declared: bool, tmp_path: Path) -> None:
    reason = getattr(door, "SKIPS", {}).get(case.name)
    if reason is not None:
        pytest.skip(reason)
    run = Run(door, mode, tmp_path)
    observed = run.observe(case, declared=declared)
    if case.needs_tools and not declared:
        assert run.ran() in ([], expected_runs(case))
        return
    assert not observed.pending
    if observed.error is not None:  # a framework that ends the run cancels the calls beside the one that raised
        check_replies(case, observed)
        assert Counter(run.ran()) <= Counter(expected_runs(case)), observed
        assert Counter(tool for tool, _ in run.records()) <= Counter(call.tool for call in case.calls)
        return
    assert run.ran() == expected_runs(case), observed
    check_records(case, run.records())
    check_replies(case, observed)
    if door.INTERRUPTS:
        asked = [call for call in case.calls if call.tool in case.answers and call.status not in BY_FRAMEWORK]
        assert Counter(question["tool"].removeprefix(door.PREFIX) for question in observed.questions) == Counter(
            call.tool for call in asked
        )


@EACH_MODE
def test_an_approval_without_an_answer_runs_nothing(door: Adapter, mode: tuple[str, str], tmp_path: Path) -> None:
    run = Run(door, mode, tmp_path)
    observed = run.observe(UNANSWERED)
    assert run.ran() == []
    assert observed.pending is door.INTERRUPTS
    assert [status for _, status in run.records()] in ([], ["denied"], ["waiting"])
    assert len(observed.questions) == door.INTERRUPTS


async def _closed(guard: Guard) -> None:
    await guard.aclose()


def _raising(*names: str) -> Any:
    async def broken(guard: Guard) -> None:
        async def fail(*_: object, **__: object) -> None:
            raise RuntimeError("the guard is broken")

        for name in names:
            setattr(guard, name, fail)

    return broken


@EACH_MODE
@pytest.mark.parametrize("case", FAULT_CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_guard_runs_no_tool(
    door: Adapter, mode: tuple[str, str], fault: str, case: Case, tmp_path: Path
) -> None:
    run = Run(door, mode, tmp_path)
    options: dict[str, Any] = {}
    break_guard = None
    match fault:
        case "the log is full":
            options["log"] = open_log(tmp_path / "closed.db")
            options["log"].close()
        case "the guard is closed":
            break_guard = _closed
        case "submit raises":
            break_guard = _raising("submit")
        case "check raises":
            break_guard = _raising("check")
        case "the answer raises":
            case = Case(case.name, case.turns, {name: _Unreadable() for name in case.answers})
        case _:
            raise AssertionError(fault)
    observed = run.observe(case, break_guard=break_guard, **options)
    if run.ran():  # this door does not depend on the part that is broken
        assert fault in ("check raises", "the answer raises")
        assert [status for _, status in run.records()] == ["ok"]
        assert not case.answers or fault == "check raises"
        return
    answered = observed.final == DONE and all(text for _, text in observed.replies) and observed.replies
    assert answered or observed.error is not None, observed


class _Unreadable(dict[str, Any]):
    """An answer whose reading raises."""

    def get(self, *_: object) -> Any:
        raise RuntimeError("the answer cannot be read")


def test_every_call_of_the_table_expects_a_known_status() -> None:
    statuses = {call.status for case in CASES for call in case.calls}
    assert statuses == {"ok", "denied", "previewed", "failed", "unknown", "invalid"}
    assert all(isinstance(call, Call) for case in CASES for call in case.calls)
    assert len({case.name for case in CASES}) == len(CASES)
