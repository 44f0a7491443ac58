"""The asyncio driver of the state machine: it executes the machine's commands and decides nothing.

No fault of an agent, a tool, a sink, a store or an approver leaves it as an exception. Only cancellation of the calling
task and Ctrl-C do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, assert_never, cast
from uuid import uuid4

import msgspec

from bobcat._core import RunState as CoreState
from bobcat.aio.tasks import being_cancelled
from bobcat.approvals import Answer, Pending, ask, ask_lynx_compat, auto_deny
from bobcat.compression.protocol import COMPRESS_SECONDS, compress
from bobcat.errors import ArgumentError
from bobcat.executors.inline import run_inline
from bobcat.journal.records import DuplicateRecord
from bobcat.logs import logger
from bobcat.model.agent import Agent
from bobcat.model.decision import ActionRequest, Decision, Verdict, obligations_of
from bobcat.model.deltas import DeltaEvent
from bobcat.model.exact import for_tool
from bobcat.model.frozen import FrozenDict, FrozenList, deep_freeze, thaw
from bobcat.model.masking import masked_body, redacted_paths
from bobcat.model.run import (
    ActionResult,
    AuditEvent,
    Happened,
    NotHappened,
    RunOutcome,
    RunResult,
    ToolDef,
    Unknown,
)
from bobcat.runtime.audit import REEVALUATED, evaluated_body, started_body
from bobcat.runtime.commands import (
    NOTHING_OPENED,
    Append,
    Approved,
    AskApproval,
    AskModel,
    ClockReading,
    Decide,
    Decided,
    Emit,
    Event,
    Execute,
    ExtraFailed,
    ExtraGiven,
    Finish,
    GetExtra,
    Interrupted,
    ModelFailed,
    ModelReplied,
    Perform,
    Performed,
    ReadClock,
    Reconcile,
    ReconcilerReplied,
    StoreAcked,
    StoreFailed,
    Superseded,
    Suspended,
    ToolReturned,
)
from bobcat.runtime.evaluate import complete_transform, evaluate_or_deny, with_known_verdict
from bobcat.runtime.extra import EXTRA_SECONDS, ExtraProvider, ask_provider
from bobcat.runtime.fast_path import FastPath, model_failed
from bobcat.runtime.interrupts import Interrupts
from bobcat.runtime.journaling import CannotOpen, RunJournal
from bobcat.runtime.machine import Machine
from bobcat.runtime.mediator import execute, preview, with_args
from bobcat.runtime.memory import RunMemory
from bobcat.runtime.obligations import (
    FAILED_OBLIGATION,
    OBLIGATION_SECONDS,
    ObligationCall,
    ObligationOutcome,
    in_phase,
    perform,
    refusal_of,
)
from bobcat.runtime.options import Options
from bobcat.runtime.shared_decision import decide_shared, record_outcomes
from bobcat.runtime.shared_memory import SharedMemory
from bobcat.runtime.spending import ModelSpending
from bobcat.runtime.state import RunState, Setup
from bobcat.runtime.turn import DeltaJournal, TurnAgent
from bobcat.sinks.delta_events import MODEL_DELTA, delta_body
from bobcat.sinks.fanout import ACTION_RESULT, Fanout
from bobcat.stores.protocol import CheckedTransaction, LeaseLost
from bobcat.text.json_text import format_exception
from bobcat.tools.action import Action, current_action, is_marked, running
from bobcat.tools.signature import signature_of, supplied_parameters

log = logger("runtime")

_HELD = frozenset(("model.output", "step.extra", "step.shared", "step.obligations"))
"""Records on which nothing depends before the next one: a reply is written together with the intent of its call."""
_BACKGROUND = frozenset(("run.started", "action.result"))
"""Records that are sent while the model is asked. A tool begins, and an answer counts, when they are durable."""


class RunDriver:
    """Executes the commands of one run."""

    reserves = True
    """A permitted call is recorded in the journals that others share before it runs."""

    def __init__(
        self, setup: Setup, agent: Agent, options: Options, fanout: Fanout, interrupts: Interrupts
    ) -> None:  # fmt: skip
        self._setup = setup
        self._compat = setup.compat
        self._agent = agent
        self._policy = options.policy
        self._candidate = options.candidate
        self._handlers = options.obligations
        self._fanout = fanout
        self._on_approval = options.on_approval or auto_deny("no on_approval handler configured")
        self._executor = options.executor
        self._compressor = options.compressor
        self._interrupts = interrupts
        self._events = 0
        self._journal: RunJournal | None = None
        if options.store is not None:
            self._journal = RunJournal(
                options.store,
                setup.run_id,
                compat=setup.compat,
                interrupts=interrupts,
                owner=options.owner,
                lease_seconds=options.lease_seconds,
                claimed=options.lease,
            )
            if options.turn is None:
                background = _BACKGROUND - {"action.result"} if setup.shows_results else _BACKGROUND
                self._journal.group(_HELD, background, concludes=not setup.observed)
        self.deltas: DeltaJournal | None = None
        if options.turn is not None and self._journal is not None:
            self._journal.on_record = options.turn.on_record
            self.deltas = DeltaJournal(self._journal, interrupts.now)
            self._agent = TurnAgent(agent, self.deltas.put, self.show_delta if fanout.takes_deltas else None)
        self.use_fast_path = True
        self.provider: ExtraProvider | None = None
        self.spending: ModelSpending | None = None
        self.memory: RunMemory | None = None
        self._fast_path: FastPath | None = None
        self._opened: Mapping[str, Any] = NOTHING_OPENED  # Any: JSON
        """What the action of this step has opened."""
        self._run: RunState | None = None
        """The state of the run, once its journal is open."""

    async def run(self, *, named: bool, allowed: frozenset[str]) -> RunResult:
        """Execute the run, from its journal to its result. `named`: the caller set the correlation id."""
        journal_run = self._journal
        if journal_run is None:
            return await self._drive(Machine(self._setup, self.memory))
        result = None
        try:
            try:
                journal, replies = await journal_run.open(self._setup.binding or {}, allowed)
            except CannotOpen as problem:
                result = await self._not_opened(problem)
                return result
            setup = self._setup
            fresh = named or not journal.records
            correlation_id = setup.correlation_id if fresh else f"{setup.run_id}#{str(uuid4())[:8]}"
            self._setup = msgspec.structs.replace(
                setup, journal=journal, replies=replies, correlation_id=correlation_id, restored=journal_run.restored
            )
            result = await self._drive(Machine(self._setup, self.memory))
            await self._interrupts.deliver_cancellation()
            return result
        finally:
            if self.deltas is not None:
                await self.deltas.stop()
            await journal_run.close(result)

    def log_end(self, result: RunResult) -> None:
        """Log the outcome of the run: a run that did not succeed is a warning."""
        level = logging.INFO if result.status in ("succeeded", "suspended") else logging.WARNING
        if log.isEnabledFor(level):
            fields = {"run_id": self._setup.run_id, "correlation_id": result.correlation_id, "status": result.status}
            error = f": {result.error}" if result.error else ""
            log.log(level, "run %s: %s%s", result.correlation_id, result.status, error, extra=fields)

    async def _drive(self, machine: Machine) -> RunResult:
        self._run = machine.run
        if self._journal is not None and self._journal.lease_keeper is not None and self.memory is not None:
            self.memory.fence = self._journal.lease_keeper.lease.fence
            self._journal.reacquires = False
        if (
            self._executor is None
            and self.use_fast_path
            and self.spending is None
            and self._compressor is None
            and self._candidate is None
        ):
            fast_path = FastPath(
                machine.run, agent=self._agent, policy=self._policy, interrupts=self._interrupts, journal=self._journal
            )
            self._fast_path = fast_path if fast_path.is_eligible() else None
        command = machine.start()
        while True:
            event: Event | None
            match command:  # the usual ones first
                case AskModel():
                    event = await (
                        self._ask_model(command) if self._fast_path is None else self._run_fast_path(self._fast_path)
                    )
                case Decide():
                    decide = self._decide if self._candidate is None else self._decide_and_compare
                    if isinstance(self.memory, SharedMemory):
                        event = await decide_shared(self.memory, command.request, decide, reserves=self.reserves)
                    else:
                        event = decide(command.request)
                case Execute():
                    event = await self._execute(command)
                    if self._compressor is not None and isinstance(event, ToolReturned):
                        event = await self._compress(command, event)
                case Append():
                    event = await self._append(command)
                case Emit():
                    await self._emit(command.kind, command.body)
                    event = None
                case ReadClock():
                    event = ClockReading(self._interrupts.elapsed, self._interrupts.now(), self._interrupts.cancelled)
                case Perform():
                    event = await self._perform(command)
                case Reconcile():
                    event = await self._reconcile(command)
                case GetExtra():
                    event = await self._get_extra(command)
                case AskApproval():
                    event = await self._ask_approval(command)
                case Finish():
                    if self.memory is not None:
                        self.memory.finished(suspended=command.result.outcome == "suspended")
                        await self._record_outcomes(self.memory)
                    return await self._finish(command.result) if self._setup.observed else command.result
                case _:
                    assert_never(command)
            command = machine.send(event)

    async def _emit(self, kind: str, body: Mapping[str, object]) -> None:
        await self._deliver(kind, body)
        if self._compat.audits_decisions:
            await self._note_gaps()

    async def _deliver(self, kind: str, body: Mapping[str, object]) -> None:
        """Send an event to the sinks. The caller notes gaps where it may write to the journal."""
        setup = self._setup
        shown = _sealed(body) if self._compat.read_only else thaw(body)
        event = AuditEvent(setup.correlation_id, setup.bundle_id, self._events, kind, self._interrupts.now(), shown)
        self._events += kind != ACTION_RESULT  # other sinks see no gap
        await self._fanout.deliver(event)

    def show_delta(self, event: DeltaEvent) -> None:
        """Queue a delta for the sinks that take deltas. Its `seq` is that of the event that comes next."""
        setup, now = self._setup, self._interrupts.now()
        body = delta_body(event, 0 if self._run is None else self._run.step)
        self._fanout.put_delta(AuditEvent(setup.correlation_id, setup.bundle_id, self._events, MODEL_DELTA, now, body))

    async def _note_gaps(self) -> None:
        """Emit and record that a sink receives no further events."""
        for gap in self._fanout.newly_left_out():
            body = {"sink": gap.sink, "first_seq": gap.first_seq, "reason": gap.reason}
            if self._journal is not None:
                await self._append(Append("audit.gap", dict(body), ""))  # a store failure shows at the next record
            await self._emit("audit.gap", body)

    async def _finish(self, result: RunResult) -> RunResult:
        """The result, after the sinks have received their pending events, with the number of lost ones."""
        await self._fanout.drain()
        if not self._compat.audits_decisions:
            return result
        await self._note_gaps()
        gaps = self._fanout.gaps
        return replace(result, audit_gaps=gaps) if gaps else result

    async def _run_fast_path(self, fast_path: FastPath) -> Event:
        """Take fast-path steps, and ask the model for the first step that does not qualify."""
        outcome = await self._interrupts.wait(fast_path.run, accept_late=True)
        if isinstance(outcome, Interrupted) and outcome.step and self._compat.store_timeout_seconds is not None:
            return StoreFailed("store.append failed: TimeoutError: ")  # model calls have no timeout of their own there
        return outcome

    def _decide(self, request: ActionRequest) -> Decided:
        state = self._memory_state()
        decision = self._decided_already() or evaluate_or_deny(self._policy, request, state)
        tool = self._setup.tools.tools.get(request.tool)
        completed: list[Mapping[str, Any]] = []  # Any: arguments of any call
        if decision.transform_args is not None and tool is not None and self._compat.binds_arguments:
            decision = complete_transform(self._policy, request, decision, signature_of(tool).bind, completed, state)
        if log.isEnabledFor(logging.DEBUG):
            self._log_decision(request, decision)
        return Decided(decision, tuple(completed))

    def _decide_and_compare(self, request: ActionRequest) -> Decided:
        """Decide by both policies, after the same state."""
        if self.memory is None and self._candidate is not None and type(self)._decide is RunDriver._decide:
            both = self._candidate.decide(self._policy, request)
            if both is not None and both[0].transform_args is None:
                decision, diverged = both
                if log.isEnabledFor(logging.DEBUG):
                    self._log_decision(request, decision)
                return Decided(decision, diverged=diverged)
        decided = self._decide(request)
        return msgspec.structs.replace(decided, diverged=self._divergence(request, decided.decision))

    def _divergence(self, request: ActionRequest, decision: Decision) -> Mapping[str, Any] | None:  # Any: JSON
        """The divergence of the candidate policy from a decision, if there is one."""
        if self._candidate is None:
            return None
        tool = self._setup.tools.tools.get(request.tool)
        bind = signature_of(tool).bind if tool is not None and self._compat.binds_arguments else None
        return self._candidate.divergence(request, decision, bind, self._memory_state())

    async def _record_outcomes(self, memory: RunMemory) -> None:
        """Record the outcomes for other runs. Where the store fails, the next decision of the session tries again."""
        journals = memory.waiting()
        if not journals:
            return
        try:
            await record_outcomes(journals)
        except (Exception, SystemExit) as error:
            log.warning("the outcomes of run %s were not recorded", self._setup.run_id, exc_info=error)

    def _memory_state(self) -> CoreState | None:
        return None if self.memory is None else self.memory.state

    def _log_decision(self, request: ActionRequest, decision: Decision) -> None:
        context = request.context
        fields = {
            "run_id": self._setup.run_id,
            "correlation_id": context.correlation_id,
            "step": context.step_seq,
            "tool": request.tool,
            "verdict": str(decision.verdict),
            "matched_rules": list(decision.matched_rules),
        }
        position = f"run {context.correlation_id} step {context.step_seq}"
        log.debug("%s: %s is decided %s", position, request.tool, decision.verdict, extra=fields)

    def _decided_already(self) -> Decision | None:
        """The decision on the call that stopped the fast path."""
        if self._fast_path is None:
            return None
        decision, self._fast_path.decided = self._fast_path.decided, None
        return decision

    async def _ask_model(self, command: AskModel) -> Event:
        if self._fanout.failure is not None:  # here and below: a run stops without its required sinks
            return ModelFailed(self._fanout.failure, self._fanout.failure, code="sink_failed")
        due = self._interrupts.due()
        if due is not None:
            return due
        if self.deltas is None:
            return await self._spend_and_call(command)
        self.deltas.begin(0 if self._run is None else self._run.step)
        event = await self._spend_and_call(command)
        failure = await self._interrupts.wait_uninterruptible(self.deltas.flush)
        return event if failure is None else failure

    async def _spend_and_call(self, command: AskModel) -> Event:
        if self.spending is None:
            return await self._call_model(command)
        reserved = await self.spending.reserve(command.conversation)
        if isinstance(reserved, ModelFailed):
            return reserved
        event = self._interrupts.due() or await self._call_model(command)
        cost = await self.spending.settle(reserved, event)
        return event if cost is None else msgspec.structs.replace(cast("ModelReplied", event), cost=cost)

    async def _call_model(self, command: AskModel) -> Event:
        late = not self._compat.distinguishes_timeouts
        try:
            reply = await self._interrupts.wait(
                self._agent.step,
                command.conversation,
                seconds=self._setup.budget.step_timeout_seconds,
                accept_late=late,
            )
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return model_failed(error)
        except (Exception, SystemExit) as error:
            if late and isinstance(error, TimeoutError):
                return Interrupted(step=True)
            return model_failed(error, explain=self._compat.strict_replies)
        return reply if isinstance(reply, Interrupted) else ModelReplied(reply, self._interrupts.now())

    async def _get_extra(self, command: GetExtra) -> Event:
        """Ask the provider. An exception, or a result that is not a mapping of JSON values, is a failure."""
        self._send_held()
        if self.provider is None or self._fanout.failure is not None:
            return ExtraFailed(self._fanout.failure or "there is no provider")
        due = self._due()
        if due is not None:
            return due
        try:
            facts = await self._interrupts.wait(ask_provider, self.provider, command.request, seconds=EXTRA_SECONDS)
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return ExtraFailed(format_exception(error))
        except (Exception, SystemExit) as error:
            fields = {"run_id": self._setup.run_id, "correlation_id": self._setup.correlation_id}
            log.warning("run %s: extra failed", self._setup.correlation_id, exc_info=error, extra=fields)
            return ExtraFailed(format_exception(error))
        if isinstance(facts, Interrupted):
            return ExtraFailed(f"no answer within {EXTRA_SECONDS}s") if facts.step else facts
        return ExtraGiven(facts)

    async def _ask_approval(self, command: AskApproval) -> Event:
        question = ask if self._compat.strict_approvals else ask_lynx_compat
        if self._fanout.failure is not None:
            return Approved(Answer("system", f"denied: {self._fanout.failure}"))
        due = self._due()
        if due is not None:
            return due
        answer = await self._interrupts.wait(question, self._on_approval, command.request)
        if isinstance(answer, Pending):
            if self._journal is not None:
                return Suspended((answer.approval,), (answer.fingerprint,) if answer.fingerprint else ())
            answer = Answer(
                "system", "denied: the approval is still pending, and a run without a store cannot wait for it"
            )
        return answer if isinstance(answer, Interrupted) else Approved(answer)

    async def _perform(self, command: Perform) -> Event:
        """Perform obligations. Before the effect, a stop of the run comes first, and the first failure ends it."""
        self._send_held()
        outcomes: list[ObligationOutcome] = []
        if command.gates and (lost := await self._ensure_lease()) is not None:
            return lost
        for each in command.obligations:
            if command.gates and (due := self._due()) is not None:
                return due
            outcome = await self._interrupts.wait(
                perform, self._handlers, each, command.call, seconds=OBLIGATION_SECONDS, accept_late=True
            )
            stopped = isinstance(outcome, Interrupted) and not outcome.step
            if isinstance(outcome, Interrupted):
                if stopped and (command.gates or outcome.lost is not None):
                    return msgspec.structs.replace(outcome, started=False)
                late = "the run is being stopped" if stopped else f"no answer within {OBLIGATION_SECONDS:g}s"
                outcome = ObligationOutcome(each.name, each.phase, FAILED_OBLIGATION, late)
            outcomes.append(outcome)
            if stopped or (outcome.code and command.gates):
                break
        return Performed(tuple(outcomes))

    async def _execute(self, command: Execute) -> Event:
        if self._fanout.failure is not None:
            return ToolReturned(ActionResult(False, error=f"not executed: {self._fanout.failure}"))
        due = self._due()
        if due is not None:
            return due
        tool, request = command.tool, command.request
        if command.shadow:
            act = partial(preview, request, tool, trim=self._compat.trims_shadow_args)
            result = await self._interrupts.wait(act, accept_late=True)
        else:
            lost = await self._ensure_lease()
            if lost is not None:
                return lost
            supplied = self._supplied_arguments(command)
            self._opened = NOTHING_OPENED
            if tool.metadata.effect == "transactional":
                event = await self._execute_in_transaction(command, supplied)
            else:
                event = _executed(await self._run_tool(command, supplied))
            if self._opened and isinstance(event, (ToolReturned, Interrupted)):
                return msgspec.structs.replace(event, opened=self._opened)
            return event
        return _executed(result)

    async def _compress(self, command: Execute, event: ToolReturned) -> ToolReturned:
        """The result with the text for the model. A stop of the run leaves it as it is: it must be recorded."""
        assert self._compressor is not None
        found = await self._interrupts.wait(
            partial(compress, self._compressor, event.result, command.request, command.tool, seconds=None),
            seconds=COMPRESS_SECONDS,
            accept_late=True,
        )
        if isinstance(found, Interrupted):
            why = f"no answer within {COMPRESS_SECONDS:g}s" if found.step else "the run is being stopped"
            return msgspec.structs.replace(event, compress_error=why)
        return msgspec.structs.replace(event, shown=found.text, compress_error=found.error)

    async def _run_tool(self, command: Execute, supplied: dict[str, Any]) -> ActionResult | Interrupted:
        if not is_marked(command.tool.fn):
            if current_action() is None:
                return await self._run_with_executor(command, supplied)
            with running(None):  # the action of an outer run is not this one
                return await self._run_with_executor(command, supplied)
        action = Action(command.request, partial(self._judge, command), key=command.key)
        try:
            with running(action):
                return await self._run_with_executor(command, supplied)
        finally:
            self._opened = action.opened()

    async def _judge(self, command: Execute, args: Mapping[str, Any]) -> Decision:
        """Decide a further request of the running action: the same tool and context with other arguments."""
        if (denied := self._unaudited()) is not None:
            return denied
        if self._interrupts.due() is not None:
            return Decision(Verdict.DENY, "the run is being stopped")
        code = None
        try:
            judged = with_args(command.request, signature_of(command.tool).bind(deep_freeze(dict(args))))
        except (TypeError, ValueError) as error:
            judged = with_args(command.request, FrozenDict())
            code = error.code if isinstance(error, ArgumentError) else "unreadable_arguments"
            decision = Decision(Verdict.DENY, f"the arguments cannot be used: {format_exception(error)}")
        else:
            if self.memory is not None:
                self.memory.share(judged)
            decision = with_known_verdict(evaluate_or_deny(self._policy, judged, self._memory_state()))
        if self._setup.observed:
            body = evaluated_body(judged, decision, evaluated=judged.args, code=code)
            paths = (*redacted_paths(obligations_of(decision)), *(self._run.masked if self._run is not None else ()))
            await self._deliver(REEVALUATED, masked_body({**body, "during": "execution"}, paths))
        diverged = None if code is not None else self._divergence(judged, decision)
        if diverged is not None and self._run is not None:
            for each in self._run.note_divergence(judged.context.step_seq, decision, diverged):
                if isinstance(each, Emit):
                    await self._deliver(each.kind, {**each.body, "during": "execution"})
        return self._unaudited() or await self._gated(judged, decision)

    async def _gated(self, judged: ActionRequest, decision: Decision) -> Decision:
        """A decision on a further request, once its obligations are performed: those after the effect too."""
        call = ObligationCall(judged, decision, None, self._setup.run_id)
        for each in in_phase(obligations_of(decision), None):
            outcome = await perform(self._handlers, each, call)
            if outcome.code and each.phase == "before" and decision.verdict is not Verdict.DENY:
                return Decision(Verdict.DENY, refusal_of(outcome).removeprefix("denied: "), decision.matched_rules)
        return decision

    def _unaudited(self) -> Decision | None:
        """The denial of a further request while a required sink fails."""
        failure = self._fanout.failure
        return None if failure is None else Decision(Verdict.DENY, f"not executed: {failure}")

    async def _run_with_executor(self, command: Execute, supplied: dict[str, Any]) -> ActionResult | Interrupted:
        request, tool, wait = command.request, command.tool, self._interrupts.wait
        if self._executor is None:
            return await wait(self._run_inline, tool, {**for_tool(request.args), **supplied}, accept_late=True)
        whole = with_args(request, {**request.args, **supplied}) if supplied else request
        return await wait(execute, whole, tool, self._executor, accept_late=True)

    async def _execute_in_transaction(self, command: Execute, supplied: dict[str, Any]) -> Event:
        """Run a tool in a transaction, which commits with its result or rolls back."""
        journal = self._journal
        if journal is None:
            return ToolReturned(ActionResult(False, error="a transactional tool runs in a journaled run only"))
        try:
            transaction = await self._interrupts.wait_uninterruptible(
                journal.begin_transaction, seconds=self._compat.store_timeout_seconds
            )
        except LeaseLost as lost:
            return Interrupted(lost=Superseded(str(lost)), started=False)
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return ToolReturned(ActionResult(False, error=f"the transaction did not begin: {format_exception(error)}"))
        except (Exception, SystemExit) as error:
            return ToolReturned(ActionResult(False, error=f"the transaction did not begin: {format_exception(error)}"))
        if isinstance(transaction, Interrupted):
            return ToolReturned(ActionResult(False, error="the transaction did not begin: the store took too long"))
        result = await self._run_tool(command, {**supplied, "transaction": transaction})
        if isinstance(result, ActionResult) and result.ok is True:
            problem = transaction.problem() if isinstance(transaction, CheckedTransaction) else None
            if problem is None:
                return ToolReturned(result)
            result = ActionResult(False, error=problem, duration_ms=result.duration_ms)
        try:
            await journal.roll_back()
        except Exception as error:
            return Interrupted(lost=StoreFailed(f"store.append failed: {format_exception(error)}"))
        return (
            Interrupted(result.cancelled, result.step, False, result.lost)
            if isinstance(result, Interrupted)
            else ToolReturned(result)
        )

    def _supplied_arguments(self, command: Execute) -> dict[str, Any]:
        """The values that the run passes to a tool beside the arguments of the call."""
        parameters = supplied_parameters(command.tool)
        supplied: dict[str, Any] = {}
        if "idempotency_key" in parameters:
            supplied["idempotency_key"] = command.key
        if "fence" in parameters and self._journal is not None and self._journal.lease_keeper is not None:
            supplied["fence"] = self._journal.lease_keeper.lease.fence
        return supplied

    async def _reconcile(self, command: Reconcile) -> Event:
        """Ask the tool's reconciler. An exception or an invalid answer leaves the outcome uncertain."""
        due, ask_it = self._due(), command.tool.reconcile_fn
        if due is not None:
            return due
        if ask_it is None:
            return ReconcilerReplied(Unknown())
        try:
            answer: object = await self._interrupts.wait(ask_it, command.key, for_tool(command.args))
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return ReconcilerReplied(Unknown(f"reconcile raised {format_exception(error)}"))
        except (Exception, SystemExit) as error:
            return ReconcilerReplied(Unknown(f"reconcile raised {format_exception(error)}"))
        if isinstance(answer, Interrupted):
            return answer
        if isinstance(answer, (Happened, NotHappened, Unknown)):
            return ReconcilerReplied(answer)
        return ReconcilerReplied(Unknown(f"reconcile returned {type(answer).__name__}, not a Reconciled"))

    async def _ensure_lease(self) -> Interrupted | None:
        """Renew the lease if it is due; return the interruption when the lease is lost."""
        if self._journal is None or not self._journal.is_due():
            return None
        lost = await self._interrupts.wait_uninterruptible(self._journal.ensure_valid)
        if isinstance(lost, Interrupted):
            return lost
        return None if lost is None else Interrupted(lost=lost, started=False)

    async def _run_inline(self, tool: ToolDef, args: Mapping[str, Any]) -> ActionResult:
        try:
            return await run_inline(tool, args, distinguishes_timeouts=self._compat.distinguishes_timeouts)
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return ActionResult(False, error=f"executor raised {format_exception(error)}")

    def _send_held(self) -> None:
        """Send what the journal holds, before a wait for code that can take long."""
        if self._journal is not None:
            self._journal.start()

    def _due(self) -> Interrupted | None:
        """Reason for which an effect or an approval may not start, where the switch and the deadline apply."""
        return self._interrupts.due() if self._compat.interrupts else None

    async def _append(self, command: Append) -> Event:
        if self._journal is None:
            return StoreFailed("store.append failed: there is no store")
        write, now = self._journal.write, self._interrupts.now()
        try:
            journal_run = await self._interrupts.wait_uninterruptible(
                write, command.kind, command.body, command.key, now, seconds=self._compat.store_timeout_seconds
            )
        except (DuplicateRecord, LeaseLost) as lost:
            return Superseded(str(lost))
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return StoreFailed(f"store.append failed: {format_exception(error)}")
        except (Exception, SystemExit) as error:
            return StoreFailed(f"store.append failed: {format_exception(error)}")
        if isinstance(journal_run, Interrupted):
            return StoreFailed("store.append failed: TimeoutError: ")
        return StoreAcked(self._journal.chain.seq - 1)

    async def _not_opened(self, problem: CannotOpen) -> RunResult:
        """The result of a run that could not resume. No action ran, and nothing was recorded."""
        setup, error = self._setup, str(problem)
        outcome: RunOutcome = "failed"
        if problem.code == "busy":
            await self._emit("run.superseded", {"detail": error})
            outcome, error = "superseded", f"superseded: {error}"
        else:
            await self._emit("run.started", started_body(setup))
            await self._emit("run.failed", {"reason": error})
        result = RunResult(setup.correlation_id, setup.bundle_id, error=error, outcome=outcome, code=problem.code)
        return await self._finish(result)


def _executed(result: ActionResult | Interrupted) -> ToolReturned | Interrupted:
    return result if isinstance(result, Interrupted) else ToolReturned(result)


def _sealed(body: Mapping[str, Any]) -> FrozenDict[str, Any]:  # Any: the values of an event's body
    """A body that sinks cannot change for one another.

    Arguments are frozen already; the machine's values are shallow.
    """
    return FrozenDict({name: _frozen(value) for name, value in body.items()})


def _frozen(value: Any) -> Any:  # Any: as above
    if type(value) is list:
        return FrozenList(value)
    return FrozenDict(value) if type(value) is dict else value
