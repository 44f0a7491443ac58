"""`run_agent`: the asyncio driver of the state machine. It does what the machine says, and decides nothing.

Nothing an agent, a tool, a sink, a store or an approver does wrong comes out of it as an exception. Only cancellation
of the calling task, Ctrl-C and arguments that are no run at all do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from math import isfinite
from typing import Any, assert_never
from uuid import uuid4

import msgspec

from bobcat.agent import Agent
from bobcat.approvals import Answer, ApprovalHandler, ask, ask_loosely, auto_deny
from bobcat.bundle import PolicyBundle
from bobcat.cancel import Cancelled
from bobcat.executors import Executor
from bobcat.executors.inline import run_inline
from bobcat.frozen import FrozenDict, FrozenList, thaw
from bobcat.journal import EMPTY_JOURNAL, DuplicateRecord, JournalIndex, RunStore, StepRecord, index_journal
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
    Finish,
    Interrupted,
    Look,
    ModelFailed,
    ModelReplied,
    Moment,
    StoreAcked,
    StoreFailed,
    Superseded,
    ToolReturned,
)
from bobcat.kernel.express import Express, model_failed
from bobcat.kernel.interrupts import Interrupts
from bobcat.kernel.judging import judge
from bobcat.kernel.machine import Machine
from bobcat.kernel.manner import SAFE, Manner
from bobcat.kernel.reply import Proposal, reply_from_body
from bobcat.kernel.state import Setup
from bobcat.limits import check_budget
from bobcat.mediator import execute, preview
from bobcat.model import (
    ActionResult,
    AuditEvent,
    Budget,
    Decision,
    FinalAnswer,
    Principal,
    RunResult,
    ToolDef,
)
from bobcat.plain_json import describe
from bobcat.sinks import Sink
from bobcat.sinks.fanout import Fanout
from bobcat.tools import ToolSet


async def run_agent(
    agent: Agent,
    task: str,
    *,
    tools: ToolSet,
    policy: PolicyBundle,
    sinks: Sequence[Sink] = (),
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
    manner: Manner = SAFE,
) -> RunResult:
    """Run `agent` on `task` until it answers, fails, or is stopped; every tool call passes `policy` first.

    Without `on_approval` every approval is refused. With a `store`, the run is journaled under `run_id`, and calling
    again with the same `run_id` resumes it: model replies and results on record are not asked for or run again.
    `cancel` stops the run at once, in the middle of a model call, an approval wait or a tool.
    `manner` changes single habits of a run: see `docs/migrating-from-lynx.md`.
    `correlation_id` defaults to `run_id`, or a new UUID; a resumed run gets `run_id#xxxxxxxx`.

    Raises `ValueError` for a store without a run id and for a budget below zero, `TypeError` for arguments of the
    wrong kind. Everything else that goes wrong is in `RunResult.error`.
    """
    options = Options(
        tools=tools, policy=policy, sinks=sinks, on_approval=on_approval, budget=budget, principal=principal,
        environment=environment, workspace=workspace, correlation_id=correlation_id, store=store, run_id=run_id,
        executor=executor, cancel=cancel,
    )  # fmt: skip
    return await run_in_manner(manner, agent, task, options)


class Options(msgspec.Struct, kw_only=True, frozen=True):
    """The keyword arguments of `run_agent`, checked when the run begins."""

    tools: ToolSet
    policy: PolicyBundle
    sinks: Sequence[Sink]
    on_approval: ApprovalHandler | None
    budget: Budget
    principal: Principal
    environment: str
    workspace: str
    correlation_id: str | None
    store: RunStore | None
    run_id: str | None
    executor: Executor | None
    cancel: Cancelled | None


async def run_in_manner(
    manner: Manner, agent: Agent, task: str, options: Options, *, by_express: bool = True
) -> RunResult:
    """`run_agent`, in one manner or another; without `by_express`, every step through the machine."""
    budget, policy, run_id = options.budget, options.policy, options.run_id
    if options.store is not None and not run_id:
        raise ValueError(
            "a non-empty run_id is required when store is provided — resume needs a stable identifier "
            "your retry layer keeps constant across attempts"
        )
    _check_kinds(options.tools, policy)
    if manner.checks_budget:
        check_budget(budget)
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
    )
    with Interrupts(options.cancel, budget.duration_seconds, reach=manner.interrupts) as interrupts:
        driver = _Driver(setup, agent, options, fanout, interrupts)
        driver.by_express = by_express
        return await driver.run(named=options.correlation_id is not None)


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
        self._store = options.store
        self._executor = options.executor
        self._interrupts = interrupts
        self._events = 0
        self._journal_seq = 0
        self.by_express = True
        self._lane: Express | None = None

    async def run(self, *, named: bool) -> RunResult:
        """The run, from its journal to its result. `named`: the caller chose the correlation id."""
        setup = self._setup
        if self._store is not None:
            loaded = await self._load(self._store)
            if isinstance(loaded, str):
                return await self._failed_to_load(loaded)
            journal, replies = loaded
            self._journal_seq = journal.next_seq
            fresh = named or not journal.records
            correlation_id = setup.correlation_id if fresh else f"{setup.run_id}#{str(uuid4())[:8]}"
            fields = {name: getattr(setup, name) for name in Setup.__struct_fields__}
            setup = Setup(**{**fields, "journal": journal, "replies": replies, "correlation_id": correlation_id})
            self._setup = setup
        return await self._drive(Machine(setup))

    async def _drive(self, machine: Machine) -> RunResult:
        if self._executor is None and self.by_express:
            lane = Express(
                machine.run, agent=self._agent, policy=self._policy, interrupts=self._interrupts, store=self._store
            )
            self._lane = lane if lane.is_open() else None
        command = machine.start()
        while True:
            event: Event | None
            match command:  # the usual ones first
                case AskModel():
                    event = await (self._ask_model(command) if self._lane is None else self._cruise(self._lane))
                case Decide():
                    event = Decided(self._decided_already() or judge(self._policy, command.request))
                case Execute():
                    event = await self._execute(command)
                case Append():
                    event = await self._append(command)
                case Emit():
                    await self._emit(command.kind, command.body)
                    event = None
                case Look():
                    event = Moment(self._interrupts.elapsed, datetime.now(UTC), self._interrupts.cancelled)
                case AskApproval():
                    event = await self._ask_approval(command)
                case Finish():
                    return command.result
                case _:
                    assert_never(command)
            command = machine.send(event)

    async def _emit(self, kind: str, body: Mapping[str, object]) -> None:
        setup = self._setup
        shown = _sealed(body) if self._manner.read_only else thaw(body)
        event = AuditEvent(setup.correlation_id, setup.bundle_id, self._events, kind, datetime.now(UTC), shown)
        self._events += 1
        await self._fanout.deliver(event)

    async def _cruise(self, lane: Express) -> Event:
        """Take plain steps, and ask the model for one that is not."""
        lane.journal_seq = self._journal_seq
        came_to = await self._interrupts.wait(lane.go, keep_late=True)
        self._journal_seq = lane.journal_seq
        if isinstance(came_to, Interrupted) and came_to.step and self._manner.store_seconds is not None:
            return StoreFailed("store.append failed: TimeoutError: ")  # no model call has a limit of its own there
        return came_to

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
            if _being_cancelled():
                raise
            return model_failed(error)
        except (Exception, SystemExit) as error:
            return Interrupted(step=True) if late and isinstance(error, TimeoutError) else model_failed(error)
        return reply if isinstance(reply, Interrupted) else ModelReplied(reply, datetime.now(UTC))

    async def _ask_approval(self, command: AskApproval) -> Event:
        question = ask if self._manner.strict_approvals else ask_loosely
        if self._fanout.failure is not None:
            return Approved(Answer("system", f"denied: {self._fanout.failure}"))
        due = self._due()
        if due is not None:
            return due
        answer = await self._interrupts.wait(question, self._on_approval, command.request)
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
        elif self._executor is not None:
            result = await self._interrupts.wait(execute, request, tool, self._executor, keep_late=True)
        else:
            result = await self._interrupts.wait(self._run_inline, tool, thaw(request.args), keep_late=True)
        return result if isinstance(result, Interrupted) else ToolReturned(result)

    async def _run_inline(self, tool: ToolDef, args: Mapping[str, Any]) -> ActionResult:
        try:
            return await run_inline(tool, args, tells_timeouts_apart=self._manner.tells_timeouts_apart)
        except asyncio.CancelledError as error:
            if _being_cancelled():
                raise
            return ActionResult(False, error=f"executor raised {describe(error)}")

    def _due(self) -> Interrupted | None:
        """Why an effect or an approval may not begin, where the switch and the deadline reach that far."""
        return self._interrupts.due() if self._manner.interrupts else None

    async def _append(self, command: Append) -> Event:
        if self._store is None:
            return StoreFailed("store.append failed: there is no store")
        run_id, now = self._setup.run_id, datetime.now(UTC)
        record = StepRecord(run_id, self._journal_seq, command.kind, command.key, command.body, now)
        try:
            kept = await self._interrupts.insist(self._store.append, record, seconds=self._manner.store_seconds)
        except DuplicateRecord as duplicate:
            return Superseded(str(duplicate))
        except asyncio.CancelledError as error:
            if _being_cancelled():
                raise
            return StoreFailed(f"store.append failed: {describe(error)}")
        except (Exception, SystemExit) as error:
            return StoreFailed(f"store.append failed: {describe(error)}")
        if isinstance(kept, Interrupted):
            return StoreFailed("store.append failed: TimeoutError: ")
        self._journal_seq += 1
        return StoreAcked()

    async def _load(self, store: RunStore) -> tuple[JournalIndex, dict[int, tuple[Proposal, ...] | FinalAnswer]] | str:
        """The journal so far, read completely; or why it cannot be used."""
        try:
            records = await self._interrupts.insist(store.load, self._setup.run_id, seconds=self._manner.store_seconds)
            if isinstance(records, Interrupted):
                raise TimeoutError
            journal = index_journal(records, doubt_stays=self._manner.doubt_stays)
            replies = {step: reply_from_body(body) for step, body in journal.replies.items()}
            if journal.final is not None and not isinstance(journal.final.get("step", 0), int):
                raise TypeError("the final record has no step number")
        except asyncio.CancelledError as error:
            if _being_cancelled():
                raise
            return f"store.load failed: {describe(error)}"
        except (Exception, SystemExit) as error:
            return f"store.load failed: {describe(error)}"
        return journal, replies

    async def _failed_to_load(self, error: str) -> RunResult:
        setup = self._setup
        await self._emit("run.started", {"task": setup.task, "principal_id": setup.principal.id})
        await self._emit("run.failed", {"reason": error})
        return RunResult(setup.correlation_id, setup.bundle_id, error=error)


def _sealed(body: Mapping[str, Any]) -> FrozenDict[str, Any]:  # Any: what an event's body holds
    """A body that no sink can change under another. Arguments are frozen already; what the machine made is shallow."""
    return FrozenDict({name: _frozen(value) for name, value in body.items()})


def _frozen(value: Any) -> Any:  # Any: as above
    if type(value) is list:
        return FrozenList(value)
    return FrozenDict(value) if type(value) is dict else value


def _being_cancelled() -> bool:
    """True when this task is being cancelled; False when a `CancelledError` was raised by somebody's own hand."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _check_kinds(tools: object, policy: object) -> None:
    if not isinstance(tools, ToolSet):
        raise TypeError(
            f"tools must be a ToolSet, got {type(tools).__name__}; build one with ToolSet.from_functions(...)"
        )
    if not isinstance(policy, PolicyBundle):
        raise TypeError(
            f"policy must be a PolicyBundle, got {type(policy).__name__}; build one with compile_policy(...)"
        )
