"""`run_agent`: the asyncio driver of the state machine. It does what the machine says, and decides nothing.

Nothing an agent, a tool, a sink, a store or an approver does wrong comes out of it as an exception. Only cancellation
of the calling task, Ctrl-C and arguments that are no run at all do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from math import isfinite
from typing import Any, assert_never
from uuid import uuid4

from bobcat.agent import Agent
from bobcat.approvals import Answer, ApprovalHandler, Pending, ask, ask_loosely, auto_deny, scope
from bobcat.bundle import PolicyBundle
from bobcat.cancel import Cancelled
from bobcat.exact import for_tool
from bobcat.executors import Executor
from bobcat.executors.inline import run_inline
from bobcat.frozen import FrozenDict, FrozenList, thaw
from bobcat.journal import EMPTY_JOURNAL, DuplicateRecord, RunStore
from bobcat.kernel.arguments import check_actors, check_surroundings
from bobcat.kernel.audit import started_body
from bobcat.kernel.binding import binding_of
from bobcat.kernel.commands import (
    Append,
    Approved,
    AskApproval,
    AskModel,
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
    Look,
    ModelFailed,
    ModelReplied,
    Moment,
    Reconcile,
    Reconciled,
    StoreAcked,
    StoreFailed,
    Superseded,
    Suspended,
    ToolReturned,
)
from bobcat.kernel.express import Express, model_failed
from bobcat.kernel.extra import EXTRA_SECONDS, Extra, ExtraProvider, ask_provider, facts_of
from bobcat.kernel.interrupts import Interrupts
from bobcat.kernel.journaling import CannotOpen, RunJournal
from bobcat.kernel.judging import complete, judge
from bobcat.kernel.machine import Machine
from bobcat.kernel.manner import SAFE, Manner
from bobcat.kernel.options import Options, checked
from bobcat.kernel.state import Setup
from bobcat.kernel.tenure import DEFAULT_LEASE_SECONDS
from bobcat.logs import logger
from bobcat.mediator import execute, preview, with_args
from bobcat.model import (
    ActionRequest,
    ActionResult,
    AuditEvent,
    Budget,
    Decision,
    Happened,
    NotHappened,
    Principal,
    RunResult,
    ToolDef,
    Unknown,
)
from bobcat.plain_json import describe
from bobcat.sinks import AnySink
from bobcat.sinks.fanout import Fanout
from bobcat.stores.durable import CheckedTransaction, LeaseLost
from bobcat.tasks import being_cancelled
from bobcat.tools import ToolSet, given_parameters, signature_of

log = logger("kernel")


async def run_agent(
    agent: Agent,
    task: str,
    *,
    tools: ToolSet,
    policy: PolicyBundle,
    sinks: Sequence[AnySink] = (),
    on_approval: ApprovalHandler | None = None,
    budget: Budget = Budget(),  # noqa: B008 - a frozen value
    principal: Principal = Principal("user", "anonymous"),  # noqa: B008 - a frozen value
    environment: str = "dev",
    workspace: str = ".",
    correlation_id: str | None = None,
    store: RunStore | None = None,
    run_id: str | None = None,
    executor: Executor | None = None,
    cancel: Cancelled | None = None,
    owner: str | None = None,
    lease_seconds: float = DEFAULT_LEASE_SECONDS,
    allow_changed: Collection[str] = (),
    clock: Callable[[], datetime] | None = None,
    extra: Extra | None = None,
    manner: Manner = SAFE,
) -> RunResult:
    """Run `agent` on `task` until it answers, fails, or is stopped; every tool call passes `policy` first.

    Without `on_approval` every approval is refused. With a `store`, the run is journaled under `run_id`, and calling
    again with the same `run_id` resumes it: model replies and results on record are not asked for or run again.
    `cancel` stops the run at once, in the middle of a model call, an approval wait or a tool.
    `manner` changes single habits of a run: see `docs/migrating-from-lynx.md`.
    `correlation_id` defaults to `run_id`, or a new UUID; a resumed run gets `run_id#xxxxxxxx`.

    In a store with leases (`bobcat.stores.durable`) the run belongs to `owner` as long as it is heard of every
    `lease_seconds`: nobody else executes anything of it meanwhile, and a worker that lost it executes nothing more. A
    worker that starts again under the same name need not wait for its own lease; the default is a name for this call.
    A run is resumed with the same task, tools, agent and principal, but for those that `allow_changed` names.
    `extra` are the facts that rules read as `context.extra`: a mapping of JSON values for the whole run, or an async
    function that gets the proposed call as an `ActionRequest` and returns such a mapping, before each decision. A call
    whose facts cannot be had is denied.
    `clock` gives the date, with its zone, that records, events and policies (`context.timestamp`) have, instead of the
    machine's.

    Raises `ValueError` for a store without a run id, for a tool whose effect needs more than the store offers and for a
    budget below zero, `TypeError` for arguments of the wrong kind. Everything else that goes wrong is in
    `RunResult.error`.
    """
    check_actors(agent, on_approval=on_approval, budget=budget)
    check_surroundings(
        sinks=sinks, principal=principal, environment=environment, store=store, executor=executor, cancel=cancel
    )
    options = Options(
        tools=tools, policy=policy, sinks=sinks, on_approval=on_approval, budget=budget, principal=principal,
        environment=environment, workspace=workspace, correlation_id=correlation_id, store=store, run_id=run_id,
        executor=executor, cancel=cancel, owner=owner, lease_seconds=lease_seconds, allow_changed=allow_changed,
        clock=clock, extra=extra,
    )  # fmt: skip
    return await run_in_manner(manner, agent, task, options)


async def run_in_manner(
    manner: Manner, agent: Agent, task: str, options: Options, *, by_express: bool = True
) -> RunResult:
    """`run_agent`, in one manner or another; without `by_express`, every step through the machine."""
    budget, policy, run_id = options.budget, options.policy, options.run_id
    allowed = checked(options, manner)
    facts, provider = facts_of(options.extra)
    guarded = manner.guards_journal and options.store is not None
    bounded = {} if isfinite(manner.sinks_may_take) else {"total_seconds": manner.sinks_may_take}
    fanout = Fanout(options.sinks, timeout_seconds=manner.sinks_may_take, reporter=manner.name, **bounded)
    setup = Setup(
        task=task,
        tools=options.tools,
        budget=budget,
        principal=options.principal,
        environment=options.environment,
        workspace=options.workspace,
        correlation_id=options.correlation_id or run_id or str(uuid4()),
        bundle_id=policy.id,
        run_id=run_id or "",
        journaled=options.store is not None,
        observed=bool(fanout),
        journal=EMPTY_JOURNAL,
        replies={},
        manner=manner,
        binding=binding_of(task, options.tools, agent, options.principal, provider or facts) if guarded else None,
        extra=facts,
        asks_extra=provider is not None,
        renews_extra="extra" in allowed,
    )
    interrupting = Interrupts(options.cancel, budget.duration_seconds, reach=manner.interrupts, clock=options.clock)
    with scope(str(run_id or setup.correlation_id)), interrupting as interrupts:
        driver = _Driver(setup, agent, options, fanout, interrupts)
        driver.by_express = by_express
        driver.provider = provider
        try:
            result = await driver.run(named=options.correlation_id is not None, allowed=allowed)
        finally:
            fanout.abandon()
        driver.log_end(result)
        return result


class _Driver:
    """Performs the commands of one run."""

    def __init__(
        self, setup: Setup, agent: Agent, options: Options, fanout: Fanout, interrupts: Interrupts
    ) -> None:  # fmt: skip
        self._setup = setup
        self._manner = setup.manner
        self._agent = agent
        self._policy = options.policy
        self._fanout = fanout
        self._on_approval = options.on_approval or auto_deny("no on_approval handler configured")
        self._executor = options.executor
        self._interrupts = interrupts
        self._events = 0
        self._journal: RunJournal | None = None
        if options.store is not None:
            self._journal = RunJournal(
                options.store,
                setup.run_id,
                manner=setup.manner,
                interrupts=interrupts,
                owner=options.owner,
                lease_seconds=options.lease_seconds,
            )
        self.by_express = True
        self.provider: ExtraProvider | None = None
        self._lane: Express | None = None

    async def run(self, *, named: bool, allowed: frozenset[str]) -> RunResult:
        """The run, from its journal to its result. `named`: the caller chose the correlation id."""
        kept = self._journal
        if kept is None:
            return await self._drive(Machine(self._setup))
        result = None
        try:
            try:
                journal, replies = await kept.open(self._setup.binding or {}, allowed)
            except CannotOpen as problem:
                result = await self._not_opened(problem)
                return result
            setup = self._setup
            fresh = named or not journal.records
            correlation_id = setup.correlation_id if fresh else f"{setup.run_id}#{str(uuid4())[:8]}"
            fields = {name: getattr(setup, name) for name in Setup.__struct_fields__}
            fields |= {"journal": journal, "replies": replies, "correlation_id": correlation_id}
            self._setup = Setup(**{**fields, "restored": kept.restored})
            result = await self._drive(Machine(self._setup))
            await self._interrupts.let_through()
            return result
        finally:
            await kept.close(result)

    def log_end(self, result: RunResult) -> None:
        """Log how the run ended: what did not succeed is a warning."""
        level = logging.INFO if result.status in ("succeeded", "suspended") else logging.WARNING
        if log.isEnabledFor(level):
            fields = {"run_id": self._setup.run_id, "correlation_id": result.correlation_id, "status": result.status}
            error = f": {result.error}" if result.error else ""
            log.log(level, "run %s: %s%s", result.correlation_id, result.status, error, extra=fields)

    async def _drive(self, machine: Machine) -> RunResult:
        if self._executor is None and self.by_express:
            lane = Express(
                machine.run, agent=self._agent, policy=self._policy, interrupts=self._interrupts, journal=self._journal
            )
            self._lane = lane if lane.is_open() else None
        command = machine.start()
        while True:
            event: Event | None
            match command:  # the usual ones first
                case AskModel():
                    event = await (self._ask_model(command) if self._lane is None else self._cruise(self._lane))
                case Decide():
                    event = self._decide(command.request)
                case Execute():
                    event = await self._execute(command)
                case Append():
                    event = await self._append(command)
                case Emit():
                    await self._emit(command.kind, command.body)
                    event = None
                case Look():
                    event = Moment(self._interrupts.elapsed, self._interrupts.now(), self._interrupts.cancelled)
                case Reconcile():
                    event = await self._reconcile(command)
                case GetExtra():
                    event = await self._get_extra(command)
                case AskApproval():
                    event = await self._ask_approval(command)
                case Finish():
                    return await self._finish(command.result) if self._setup.observed else command.result
                case _:
                    assert_never(command)
            command = machine.send(event)

    async def _emit(self, kind: str, body: Mapping[str, object]) -> None:
        setup = self._setup
        shown = _sealed(body) if self._manner.read_only else thaw(body)
        event = AuditEvent(setup.correlation_id, setup.bundle_id, self._events, kind, self._interrupts.now(), shown)
        self._events += 1
        await self._fanout.deliver(event)
        if self._manner.audits_decisions:
            await self._note_gaps()

    async def _note_gaps(self) -> None:
        """Announce and record that a sink gets no further events."""
        for gap in self._fanout.newly_left_out():
            body = {"sink": gap.sink, "first_seq": gap.first_seq, "reason": gap.reason}
            if self._journal is not None:
                await self._append(Append("audit.gap", dict(body), ""))  # a store that fails says so at the next record
            await self._emit("audit.gap", body)

    async def _finish(self, result: RunResult) -> RunResult:
        """The result, once the sinks have what waits for them, with what they have lost."""
        await self._fanout.drain()
        if not self._manner.audits_decisions:
            return result
        await self._note_gaps()
        gaps = self._fanout.gaps
        return replace(result, audit_gaps=gaps) if gaps else result

    async def _cruise(self, lane: Express) -> Event:
        """Take plain steps, and ask the model for one that is not."""
        came_to = await self._interrupts.wait(lane.go, keep_late=True)
        if isinstance(came_to, Interrupted) and came_to.step and self._manner.store_seconds is not None:
            return StoreFailed("store.append failed: TimeoutError: ")  # no model call has a limit of its own there
        return came_to

    def _decide(self, request: ActionRequest) -> Decided:
        decision = self._decided_already() or judge(self._policy, request)
        tool = self._setup.tools.tools.get(request.tool)
        completed: list[Mapping[str, Any]] = []  # Any: arguments of any call
        if decision.transform_args is not None and tool is not None and self._manner.binds_arguments:
            decision = complete(self._policy, request, decision, signature_of(tool).bind, completed)
        if log.isEnabledFor(logging.DEBUG):
            self._log_decision(request, decision)
        return Decided(decision, tuple(completed))

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
        place = f"run {context.correlation_id} step {context.step_seq}"
        log.debug("%s: %s is decided %s", place, request.tool, decision.verdict, extra=fields)

    def _decided_already(self) -> Decision | None:
        """The decision on the call that made the lane stop."""
        if self._lane is None:
            return None
        decision, self._lane.decided = self._lane.decided, None
        return decision

    async def _ask_model(self, command: AskModel) -> Event:
        if self._fanout.failure is not None:  # here and below: without its required sinks a run does nothing more
            return ModelFailed(self._fanout.failure, self._fanout.failure)
        due = self._interrupts.due()
        if due is not None:
            return due
        late = not self._manner.tells_timeouts_apart
        try:
            reply = await self._interrupts.wait(
                self._agent.step,
                command.conversation,
                seconds=self._setup.budget.step_timeout_seconds,
                keep_late=late,
            )
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return model_failed(error)
        except (Exception, SystemExit) as error:
            if late and isinstance(error, TimeoutError):
                return Interrupted(step=True)
            return model_failed(error, explain=self._manner.strict_replies)
        return reply if isinstance(reply, Interrupted) else ModelReplied(reply, self._interrupts.now())

    async def _get_extra(self, command: GetExtra) -> Event:
        """Ask the provider. What it raises, and what is no mapping of JSON values, is a failure."""
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
            return ExtraFailed(describe(error))
        except (Exception, SystemExit) as error:
            fields = {"run_id": self._setup.run_id, "correlation_id": self._setup.correlation_id}
            log.warning("run %s: extra failed", self._setup.correlation_id, exc_info=error, extra=fields)
            return ExtraFailed(describe(error))
        if isinstance(facts, Interrupted):
            return ExtraFailed(f"no answer within {EXTRA_SECONDS}s") if facts.step else facts
        return ExtraGiven(facts)

    async def _ask_approval(self, command: AskApproval) -> Event:
        question = ask if self._manner.strict_approvals else ask_loosely
        if self._fanout.failure is not None:
            return Approved(Answer("system", f"denied: {self._fanout.failure}"))
        due = self._due()
        if due is not None:
            return due
        answer = await self._interrupts.wait(question, self._on_approval, command.request)
        if isinstance(answer, Pending):
            if self._journal is not None:
                return Suspended((answer.approval,))
            answer = Answer(
                "system", "denied: the approval was left open, and a run without a store cannot wait for it"
            )
        return answer if isinstance(answer, Interrupted) else Approved(answer)

    async def _execute(self, command: Execute) -> Event:
        if self._fanout.failure is not None:
            return ToolReturned(ActionResult(False, error=f"not executed: {self._fanout.failure}"))
        due = self._due()
        if due is not None:
            return due
        tool, request = command.tool, command.request
        if command.shadow:
            act = partial(preview, request, tool, trim=self._manner.trims_shadow_args)
            result = await self._interrupts.wait(act, keep_late=True)
        else:
            lost = await self._secured()
            if lost is not None:
                return lost
            given = self._given(command)
            if tool.metadata.effect == "transactional":
                return await self._execute_together(command, given)
            result = await self._run(command, given)
        return result if isinstance(result, Interrupted) else ToolReturned(result)

    async def _run(self, command: Execute, given: dict[str, Any]) -> ActionResult | Interrupted:
        request, tool, wait = command.request, command.tool, self._interrupts.wait
        if self._executor is None:
            return await wait(self._run_inline, tool, {**for_tool(request.args), **given}, keep_late=True)
        whole = with_args(request, {**request.args, **given}) if given else request
        return await wait(execute, whole, tool, self._executor, keep_late=True)

    async def _execute_together(self, command: Execute, given: dict[str, Any]) -> Event:
        """Run a tool in a transaction, which is committed with its result, or undone."""
        journal = self._journal
        if journal is None:
            return ToolReturned(ActionResult(False, error="a transactional tool runs in a journaled run only"))
        try:
            begun = await self._interrupts.insist(journal.begin_transaction, seconds=self._manner.store_seconds)
        except LeaseLost as lost:
            return Interrupted(lost=Superseded(str(lost)), started=False)
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return ToolReturned(ActionResult(False, error=f"the transaction did not begin: {describe(error)}"))
        except (Exception, SystemExit) as error:
            return ToolReturned(ActionResult(False, error=f"the transaction did not begin: {describe(error)}"))
        if isinstance(begun, Interrupted):
            return ToolReturned(ActionResult(False, error="the transaction did not begin: the store took too long"))
        result = await self._run(command, {**given, "transaction": begun})
        if isinstance(result, ActionResult) and result.ok is True:
            problem = begun.problem() if isinstance(begun, CheckedTransaction) else None
            if problem is None:
                return ToolReturned(result)
            result = ActionResult(False, error=problem, duration_ms=result.duration_ms)
        try:
            await journal.roll_back()
        except Exception as error:
            return Interrupted(lost=StoreFailed(f"store.append failed: {describe(error)}"))
        return (
            Interrupted(result.cancelled, result.step, False, result.lost)
            if isinstance(result, Interrupted)
            else ToolReturned(result)
        )

    def _given(self, command: Execute) -> dict[str, Any]:
        """What the run gives to a tool beside the arguments of the call."""
        wanted = given_parameters(command.tool)
        given: dict[str, Any] = {}
        if "idempotency_key" in wanted:
            given["idempotency_key"] = command.key
        if "fence" in wanted and self._journal is not None and self._journal.tenure is not None:
            given["fence"] = self._journal.tenure.lease.fence
        return given

    async def _reconcile(self, command: Reconcile) -> Event:
        """Ask the tool's reconciler. What it raises, and what is no answer, leaves the doubt as it is."""
        due, ask_it = self._due(), command.tool.reconcile_fn
        if due is not None:
            return due
        if ask_it is None:
            return Reconciled(Unknown())
        try:
            answer: object = await self._interrupts.wait(ask_it, command.key, for_tool(command.args))
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return Reconciled(Unknown(f"reconcile raised {describe(error)}"))
        except (Exception, SystemExit) as error:
            return Reconciled(Unknown(f"reconcile raised {describe(error)}"))
        if isinstance(answer, Interrupted):
            return answer
        if isinstance(answer, (Happened, NotHappened, Unknown)):
            return Reconciled(answer)
        return Reconciled(Unknown(f"reconcile returned {type(answer).__name__}, not Happened, NotHappened or Unknown"))

    async def _secured(self) -> Interrupted | None:
        """Nothing, when the run is this worker's for another while."""
        if self._journal is None or not self._journal.is_due():
            return None
        lost = await self._interrupts.insist(self._journal.secure)
        if isinstance(lost, Interrupted):
            return lost
        return None if lost is None else Interrupted(lost=lost, started=False)

    async def _run_inline(self, tool: ToolDef, args: Mapping[str, Any]) -> ActionResult:
        try:
            return await run_inline(tool, args, tells_timeouts_apart=self._manner.tells_timeouts_apart)
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return ActionResult(False, error=f"executor raised {describe(error)}")

    def _due(self) -> Interrupted | None:
        """Why an effect or an approval may not begin, where the switch and the deadline reach that far."""
        return self._interrupts.due() if self._manner.interrupts else None

    async def _append(self, command: Append) -> Event:
        if self._journal is None:
            return StoreFailed("store.append failed: there is no store")
        write, now = self._journal.write, self._interrupts.now()
        try:
            kept = await self._interrupts.insist(
                write, command.kind, command.body, command.key, now, seconds=self._manner.store_seconds
            )
        except (DuplicateRecord, LeaseLost) as lost:
            return Superseded(str(lost))
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return StoreFailed(f"store.append failed: {describe(error)}")
        except (Exception, SystemExit) as error:
            return StoreFailed(f"store.append failed: {describe(error)}")
        if isinstance(kept, Interrupted):
            return StoreFailed("store.append failed: TimeoutError: ")
        return StoreAcked(self._journal.chain.seq - 1)

    async def _not_opened(self, problem: CannotOpen) -> RunResult:
        """Say why the run does not go on. Nothing was executed, and nothing is on record."""
        setup, error = self._setup, problem.error
        if problem.busy:
            await self._emit("run.superseded", {"detail": error.removeprefix("superseded: ")})
        else:
            await self._emit("run.started", started_body(setup))
            await self._emit("run.failed", {"reason": error})
        return await self._finish(RunResult(setup.correlation_id, setup.bundle_id, error=error))


def _sealed(body: Mapping[str, Any]) -> FrozenDict[str, Any]:  # Any: what an event's body holds
    """A body that no sink can change under another. Arguments are frozen already; what the machine made is shallow."""
    return FrozenDict({name: _frozen(value) for name, value in body.items()})


def _frozen(value: Any) -> Any:  # Any: as above
    if type(value) is list:
        return FrozenList(value)
    return FrozenDict(value) if type(value) is dict else value
