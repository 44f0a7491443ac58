"""The state machine under every order of events: what may never happen, never does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import campaign
from bobcat.approvals import Answer
from bobcat.journal.index import EMPTY_JOURNAL, index_journal
from bobcat.journal.records import StepRecord
from bobcat.model.decision import Decision, Principal, Verdict
from bobcat.model.run import ActionResult, Budget, FinalAnswer, Happened, NotHappened, ToolCall, Unknown, Usage
from bobcat.runtime import commands as c
from bobcat.runtime.machine import Machine, ProtocolError
from bobcat.runtime.reply import reply_from_body
from bobcat.runtime.state import Setup
from bobcat.runtime.uncertainty import depends_on_uncertainty, require_approval
from bobcat.tools.decorator import tool
from bobcat.tools.toolset import ToolSet

NOW = datetime(2026, 1, 31, tzinfo=UTC)
MAY_RUN = {Verdict.ALLOW, Verdict.TRANSFORM, Verdict.APPROVE_REQUIRED}


@tool()
async def act(n: int, flag: bool = False) -> None:
    """Never called: the test performs the commands."""


@act.shadow  # type: ignore[attr-defined]
async def act_shadow(n: int) -> None:
    """Never called either."""


@tool(effect="keyed")
async def other(n: int, idempotency_key: str) -> None:
    """Has no shadow."""


@tool()
async def asked(n: int) -> None:
    """Has a reconciler."""


@asked.reconcile  # type: ignore[attr-defined]
async def did_asked(key: str, args: object) -> Unknown:
    """Never called: the test answers."""
    return Unknown()


TOOLS = ToolSet.from_functions(act, other, asked)
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
    st.sampled_from(["act", "act", "other", "asked", "missing"]),
    ARGS,
    usage=st.none() | st.builds(Usage, st.integers(0, 9), st.integers(0, 9)),
)
REPLIES = st.one_of(
    CALLS, CALLS, st.lists(CALLS, max_size=3), st.builds(FinalAnswer, st.text(max_size=3)), st.none()
)  # fmt: skip
RECONCILIATIONS = st.one_of(st.just(Happened("paid")), st.just(NotHappened()), st.just(Unknown("?")))
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
WRONG = (c.StoreAcked(), c.ClockReading(0.0, NOW), c.Decided(Decision(Verdict.ALLOW)), c.Interrupted())
INTERRUPTIONS = st.sampled_from(
    [None] * 12
    + [c.Interrupted(), c.Interrupted("stop"), c.Interrupted(started=False), c.Interrupted(lost=c.Superseded(""))]
)
LAST_WORDS = {"run.failed", "run.cancelled", "action.abandoned", "run.suspended"}


class Protocol(RuleBasedStateMachine):
    """Performs the machine's commands with drawn events, and keeps what the invariants speak about."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[StepRecord] = []
        self.executed: list[str] = []
        self.uncertain: set[str] = set()

    @initialize(journaled=st.booleans(), observed=st.booleans(), steps=st.integers(1, 8))
    def begin(self, journaled: bool, observed: bool, steps: int) -> None:
        self.journaled, self.observed, self.steps = journaled, observed, steps
        self.start()

    def start(self) -> None:
        journal = index_journal(self.records) if self.records else EMPTY_JOURNAL
        replies = {step: reply_from_body(body) for step, body in journal.replies.items()}
        self.grants = journal.grants
        self.uncertain = {intent.idempotency_key for intents in journal.open.values() for intent in intents}
        assert {step for step in journal.open if journal.open[step]} == {
            step for step in journal.orphans if journal.uncertain(step) is not None
        }
        self.seq = journal.next_seq
        setup = Setup(
            "task", TOOLS, Budget(None, self.steps), Principal("user", "u"), "dev", ".", "cid", "bundle", "run",
            self.journaled, self.observed, journal, replies,
        )  # fmt: skip
        self.machine = Machine(setup)
        self.decision: Decision | None = None
        self.granted = False
        self.evaluating_again = False
        self.stopped = False
        self.cut_off = False
        self.weighed: Decision | None = None
        self.about_doubt = False
        self.cleared = False
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
            last = isinstance(command, c.Append) and command.kind in LAST_WORDS and not self.cut_off
            assert last or isinstance(command, (c.Emit, c.Finish)), "a stopped run did something"
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
                assert not again or command.key in self.uncertain, "two executions for one key, without a report"
                meant = self.granted or self.about_doubt or self.cleared or command.tool.metadata.effect != "unsafe"
                assert not again or meant, "an unsafe action was run again without an answer"
                self.executed.append(command.key)
                self.uncertain.discard(command.key)

    @precondition(lambda self: isinstance(self.command, c.ReadClock))
    @rule(cancelled=st.sampled_from([None] * 12 + ["stop"]))
    def looked(self, cancelled: str | None) -> None:
        self.answer(c.ClockReading(0.5, NOW, cancelled))
        if cancelled:
            assert isinstance(self.command, (c.Emit, c.Append, c.Finish))
            self.stopped = True
            self.taken(self.command)

    @precondition(lambda self: isinstance(self.command, c.AskModel))
    @rule(reply=REPLIES, interruption=INTERRUPTIONS)
    def replied(self, reply: object, interruption: c.Interrupted | None) -> None:
        self.answer(self.or_interrupted(c.ModelReplied(reply, NOW), interruption))

    def or_interrupted(self, event: Any, interruption: c.Interrupted | None) -> Any:
        self.stopped = interruption is not None
        self.cut_off = interruption is not None and interruption.lost is not None
        return event if interruption is None else interruption

    @precondition(lambda self: isinstance(self.command, c.Decide))
    @rule(decision=DECISIONS)
    def decided(self, decision: Decision) -> None:
        command, first = self.command, self.weighed
        assert isinstance(command, c.Decide)
        uncertain = command.request.context.extra.get("uncertain_retry") is True
        unsafe = command.request.declared.effect == "unsafe"
        if first is not None:
            assert not uncertain
            self.weighed, self.about_doubt = None, depends_on_uncertainty(first, decision)
            self.settle(first if self.about_doubt else require_approval(first))
        elif uncertain and unsafe and decision.verdict in (Verdict.ALLOW, Verdict.TRANSFORM):
            self.weighed = decision
        else:
            self.about_doubt = False
            self.settle(decision)
        self.answer(c.Decided(decision))

    def settle(self, decision: Decision) -> None:
        """The policy's decision as the machine records it."""
        if self.evaluating_again and self.decision is not None:
            same = decision.verdict is self.decision.verdict and decision.matched_rules == self.decision.matched_rules
            self.granted = decision.verdict is Verdict.ALLOW or same
            self.evaluating_again = False
        else:
            self.decision, self.granted, self.intent = decision, False, None
            self.take_grant_on_record(decision)

    def take_grant_on_record(self, decision: Decision) -> None:
        """A grant that an earlier attempt journaled, and did nothing with, is good for the same decision."""
        assert isinstance(self.command, c.Decide)
        grant = self.grants.get(self.command.request.context.step_seq)
        if grant is not None and decision.verdict is Verdict.APPROVE_REQUIRED:
            self.granted = list(grant["matched_rules"]) == list(decision.matched_rules)
            self.evaluating_again = self.granted and grant["edited"] is not None

    @precondition(lambda self: isinstance(self.command, c.AskApproval))
    @rule(answer=ANSWERS, interruption=INTERRUPTIONS)
    def approved(self, answer: Answer, interruption: c.Interrupted | None) -> None:
        self.granted = answer.refusal is None and interruption is None
        self.evaluating_again = answer.args is not None and "n" in answer.args
        self.answer(self.or_interrupted(c.Approved(answer), interruption))

    @precondition(lambda self: isinstance(self.command, c.AskApproval))
    @rule()
    def left_open(self) -> None:
        self.granted, self.stopped, self.cut_off = False, True, False
        self.open_approvals = 0  # it is asked for again by the attempt that has the answer
        self.answer(c.Suspended(("a-1",)))

    @precondition(lambda self: isinstance(self.command, c.Execute))
    @rule(ok=st.booleans(), interruption=INTERRUPTIONS)
    def returned(self, ok: bool, interruption: c.Interrupted | None) -> None:
        self.decision, self.cleared = None, False
        if interruption is not None and not interruption.started and self.intent in self.executed:
            self.executed.remove(self.intent)  # nothing ran after all
        result = ActionResult(ok, "value", None if ok else "error")
        self.answer(self.or_interrupted(c.ToolReturned(result), interruption))

    @precondition(lambda self: isinstance(self.command, c.Reconcile))
    @rule(answer=RECONCILIATIONS, interruption=INTERRUPTIONS)
    def reconciled(self, answer: Any, interruption: c.Interrupted | None) -> None:
        assert isinstance(self.command, c.Reconcile)
        assert self.command.key in self.uncertain, "a reconciler was asked about a certain outcome"
        self.cleared = isinstance(answer, NotHappened) and interruption is None
        self.answer(self.or_interrupted(c.ReconcilerReplied(answer), interruption))

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
                self.answer(c.StoreAcked(record.seq))
        else:
            self.stopped = self.cut_off = True
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
    max_examples=campaign.examples(100),
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestProtocol = Protocol.TestCase
