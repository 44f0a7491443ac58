"""The state machine under every order of events: what may never happen, never does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bobcat.approvals import Answer
from bobcat.journal import EMPTY_JOURNAL, StepRecord, index_journal
from bobcat.kernel import commands as c
from bobcat.kernel.machine import Machine, ProtocolError
from bobcat.kernel.reply import reply_from_body
from bobcat.kernel.state import Setup
from bobcat.model import ActionResult, Budget, Decision, FinalAnswer, Principal, ToolCall, Usage, Verdict
from bobcat.tools import ToolSet, tool

NOW = datetime(2026, 1, 31, tzinfo=UTC)
MAY_RUN = {Verdict.ALLOW, Verdict.TRANSFORM, Verdict.APPROVE_REQUIRED}


@tool()
async def act(n: int, flag: bool = False) -> None:
    """Never called: the test performs the commands."""


@act.shadow  # type: ignore[attr-defined]
async def act_shadow(n: int) -> None:
    """Never called either."""


@tool()
async def other(n: int) -> None:
    """Has no shadow."""


TOOLS = ToolSet.from_functions(act, other)
ARGS = st.one_of(
    st.fixed_dictionaries({"n": st.integers(0, 3)}),
    st.fixed_dictionaries({"n": st.integers(0, 3)}),
    st.fixed_dictionaries({"n": st.integers(0, 3)}),
    st.fixed_dictionaries({"n": st.integers(0, 3)}, optional={"flag": st.booleans()}),
    st.just({}),
    st.just([1]),
)
CALLS = st.builds(
    ToolCall,
    st.sampled_from(["act", "act", "other", "missing"]),
    ARGS,
    usage=st.none() | st.builds(Usage, st.integers(0, 9), st.integers(0, 9)),
)
REPLIES = st.one_of(
    CALLS, CALLS, st.lists(CALLS, max_size=3), st.builds(FinalAnswer, st.text(max_size=3)), st.none()
)  # fmt: skip
DECISIONS = st.builds(
    Decision,
    st.sampled_from([*Verdict, *Verdict, *Verdict, "allow", None]),
    matched_rules=st.sampled_from([("a",), ("b",)]),
    approvers=st.sampled_from([(), ("alice",)]),
    transform_args=st.none() | st.just({"n": 9}) | st.just([1]),
)
ANSWERS = st.one_of(
    st.just(Answer("alice")),
    st.just(Answer("alice", "denied: no")),
    st.just(Answer("alice", None, {"n": 7})),
    st.just(Answer("alice", None, {"m": 7})),
)
WRONG = (c.StoreAcked(), c.Moment(0.0, NOW), c.Decided(Decision(Verdict.ALLOW)), c.Interrupted())
INTERRUPTIONS = st.sampled_from([None] * 9 + [c.Interrupted(), c.Interrupted("stop"), c.Interrupted(started=False)])


class Protocol(RuleBasedStateMachine):
    """Performs the machine's commands with drawn events, and keeps what the invariants speak about."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[StepRecord] = []
        self.executed: list[str] = []
        self.in_doubt: set[str] = set()

    @initialize(journaled=st.booleans(), observed=st.booleans(), steps=st.integers(1, 8))
    def begin(self, journaled: bool, observed: bool, steps: int) -> None:
        self.journaled, self.observed, self.steps = journaled, observed, steps
        self.start()

    def start(self) -> None:
        journal = index_journal(self.records) if self.records else EMPTY_JOURNAL
        replies = {step: reply_from_body(body) for step, body in journal.replies.items()}
        self.grants = journal.grants
        self.in_doubt = {record.idempotency_key for record in journal.orphans.values()}
        self.seq = journal.next_seq
        setup = Setup(
            "task", TOOLS, Budget(None, self.steps), Principal("user", "u"), "dev", ".", "cid", "bundle", "run",
            self.journaled, self.observed, journal, replies,
        )  # fmt: skip
        self.machine = Machine(setup)
        self.decision: Decision | None = None
        self.granted = False
        self.judging_again = False
        self.stopped = False
        self.intent: str | None = None
        self.open_approvals = 0
        command = self.machine.start()
        self.taken(command)
        if isinstance(command, c.Emit):
            self.answer(None)

    @property
    def command(self) -> c.Command | None:
        return self.machine.command

    def answer(self, event: Any) -> None:
        """Answer the command, and every announcement after it; what does not answer it is refused first."""
        self.refuse_wrong_answers()
        command = self.machine.send(event)
        self.taken(command)
        while isinstance(command, c.Emit):
            command = self.machine.send(None)
            self.taken(command)

    def refuse_wrong_answers(self) -> None:
        before = self.command
        assert before is not None
        for wrong in WRONG:
            if not isinstance(wrong, c.ANSWERS[type(before)]):
                with pytest.raises(ProtocolError):
                    self.machine.send(wrong)
                assert self.command is before

    def taken(self, command: c.Command) -> None:
        """Check a command the moment it is given."""
        if self.stopped:
            assert isinstance(command, (c.Emit, c.Finish)), "a stopped run did something"
        match command:
            case c.AskApproval():
                assert self.decision is not None
                assert self.decision.verdict is Verdict.APPROVE_REQUIRED
            case c.Append(kind="action.intent"):
                assert self.decision is not None, "an intent without a decision"
            case c.Execute():
                self.check_execute(command)
            case c.Emit(kind="approval.requested"):
                self.open_approvals += 1
            case c.Emit(kind="approval.granted" | "approval.denied"):
                self.open_approvals -= 1
            case c.Finish():
                assert self.open_approvals == 0, "an approval was asked for and never answered in the audit"

    def check_execute(self, command: c.Execute) -> None:
        assert self.decision is not None, "an execution without a decision"
        verdict = self.decision.verdict
        if command.shadow:
            assert verdict is Verdict.DRY_RUN
        else:
            assert verdict in MAY_RUN, f"an execution under {verdict}"
            assert verdict is not Verdict.APPROVE_REQUIRED or self.granted, "an execution without a grant"
        if self.journaled:
            assert self.intent == command.key, "an execution before its intent was durable"
            if not command.shadow:
                again = command.key in self.executed
                assert not again or command.key in self.in_doubt, "two executions for one key, and nobody was told"
                self.executed.append(command.key)
                self.in_doubt.discard(command.key)

    @precondition(lambda self: isinstance(self.command, c.Look))
    @rule(cancelled=st.sampled_from([None] * 12 + ["stop"]))
    def looked(self, cancelled: str | None) -> None:
        self.answer(c.Moment(0.5, NOW, cancelled))
        if cancelled:
            assert isinstance(self.command, (c.Emit, c.Finish))
            self.stopped = True

    @precondition(lambda self: isinstance(self.command, c.AskModel))
    @rule(reply=REPLIES, interruption=INTERRUPTIONS)
    def replied(self, reply: object, interruption: c.Interrupted | None) -> None:
        self.answer(self.or_interrupted(c.ModelReplied(reply, NOW), interruption))

    def or_interrupted(self, event: Any, interruption: c.Interrupted | None) -> Any:
        self.stopped = interruption is not None
        return event if interruption is None else interruption

    @precondition(lambda self: isinstance(self.command, c.Decide))
    @rule(decision=DECISIONS)
    def decided(self, decision: Decision) -> None:
        if self.judging_again and self.decision is not None:
            same = decision.verdict is self.decision.verdict and decision.matched_rules == self.decision.matched_rules
            self.granted = decision.verdict is Verdict.ALLOW or same
            self.judging_again = False
        else:
            self.decision, self.granted, self.intent = decision, False, None
            self.take_grant_on_record(decision)
        self.answer(c.Decided(decision))

    def take_grant_on_record(self, decision: Decision) -> None:
        """A grant that an earlier attempt journaled, and did nothing with, is good for the same decision."""
        assert isinstance(self.command, c.Decide)
        grant = self.grants.get(self.command.request.context.step_seq)
        if grant is not None and decision.verdict is Verdict.APPROVE_REQUIRED:
            self.granted = list(grant["matched_rules"]) == list(decision.matched_rules)
            self.judging_again = self.granted and grant["edited"] is not None

    @precondition(lambda self: isinstance(self.command, c.AskApproval))
    @rule(answer=ANSWERS, interruption=INTERRUPTIONS)
    def approved(self, answer: Answer, interruption: c.Interrupted | None) -> None:
        self.granted = answer.refusal is None and interruption is None
        self.judging_again = answer.args is not None and "n" in answer.args
        self.answer(self.or_interrupted(c.Approved(answer), interruption))

    @precondition(lambda self: isinstance(self.command, c.Execute))
    @rule(ok=st.booleans(), interruption=INTERRUPTIONS)
    def returned(self, ok: bool, interruption: c.Interrupted | None) -> None:
        self.decision = None
        result = ActionResult(ok, "value", None if ok else "error")
        self.answer(self.or_interrupted(c.ToolReturned(result), interruption))

    @precondition(lambda self: isinstance(self.command, c.Append))
    @rule(fate=st.sampled_from(["ok"] * 16 + ["failed", "superseded", "dies before", "dies after"]))
    def appended(self, fate: str) -> None:
        command = self.command
        assert isinstance(command, c.Append)
        if fate == "dies before":
            self.start()
            return
        if fate in ("ok", "dies after"):
            record = StepRecord("run", self.seq, command.kind, command.key, command.body, NOW)
            self.records.append(record)
            self.seq += 1
            if command.kind == "action.intent":
                self.intent = command.key
            if fate == "dies after":
                self.start()
            else:
                self.answer(c.StoreAcked())
        else:
            self.stopped = True
            self.answer(c.StoreFailed("gone") if fate == "failed" else c.Superseded(""))

    @precondition(lambda self: isinstance(self.command, c.Finish))
    @rule()
    def the_run_is_started_again(self) -> None:
        self.records = self.records if self.journaled else []
        self.start()

    @invariant()
    def journal_positions_are_taken_once(self) -> None:
        assert len({record.seq for record in self.records}) == len(self.records)


# Of the rules, only those that answer the present command apply: most draws of a rule are filtered out, by design.
Protocol.TestCase.settings = settings(
    max_examples=100,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestProtocol = Protocol.TestCase
