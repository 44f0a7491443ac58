"""`run_graph`: one node after the other, each a `run_agent` call of its own, until the router ends the graph.

The graph itself decides nothing and has no privileges: each node's policy decides. No fault of an agent, a router, a
sink or a store leaves it as an exception; it is in `GraphResult.error`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias
from uuid import uuid4

from bobcat.aio.cancel import CancelSignal, cancelled_reason
from bobcat.bundle import Policy
from bobcat.bundle.current import current_policy, narrowed_policy
from bobcat.executors import Executor
from bobcat.graph.arguments import check_graph, check_node, checked_bound, default_task
from bobcat.graph.delegation import DelegationMode, checked_delegation
from bobcat.graph.journal import LOST_ERROR, Busy, GraphJournal, GraphSuperseded, JournalError, result_from_body
from bobcat.graph.model import DONE, GraphNode, GraphResult, GraphSpec, NodeOutcome, Router
from bobcat.journal.records import RunStore
from bobcat.logs import logger
from bobcat.model.decision import Principal
from bobcat.model.deltas import DeltaEvent
from bobcat.model.frozen import FrozenDict
from bobcat.model.run import AuditEvent, RunErrorCode, RunOutcome, RunResult
from bobcat.runtime.arguments import check_actors, check_surroundings
from bobcat.runtime.extra import Extra, facts_of
from bobcat.runtime.journaling import REFUSED
from bobcat.runtime.lease import DEFAULT_LEASE_SECONDS, default_owner
from bobcat.runtime.loop import run_agent
from bobcat.runtime.obligations import Handlers, checked_handlers
from bobcat.runtime.options import Durable, durable_of
from bobcat.runtime.resume_check import check_allowed
from bobcat.runtime.spending import CANNOT_PAY, account_of, spending_of
from bobcat.sinks import AnySink
from bobcat.sinks.fanout import Fanout
from bobcat.stores.protocol import RunStatus
from bobcat.text.json_text import format_exception

if TYPE_CHECKING:
    from bobcat.ledger import Ledger, LedgerAccount

GRAPH_BUNDLE = "graph"
"""Placeholder for a bundle's id in the events of a graph, which has none."""

Compose: TypeAlias = Callable[[str, NodeOutcome], str]
OnNodeDelta: TypeAlias = Callable[[str, DeltaEvent], Awaitable[None] | None]
"""A reader of deltas, with the name of their node: an async function, or a plain one that returns soon."""


@dataclass(frozen=True, slots=True)
class GraphCompat:
    """Execution and journal options of a graph's nodes.

    With `plain`, the journal has handoffs only, as in lynx-agent 2.5.
    """

    run_node: Callable[..., Awaitable[RunResult]] = run_agent
    plain: bool = False


DEFAULTS = GraphCompat()


async def run_graph(
    nodes: Mapping[str, GraphNode],
    task: str,
    *,
    router: Router | GraphSpec,
    start: str | None = None,
    max_transitions: int | None = None,
    compose_task: Compose | None = None,
    sinks: Sequence[AnySink] = (),
    principal: Principal = Principal("user", "anonymous"),  # noqa: B008 - a frozen value
    environment: str = "dev",
    workspace: str = ".",
    executor: Executor | None = None,
    store: RunStore | None = None,
    run_id: str | None = None,
    cancel: CancelSignal | None = None,
    owner: str | None = None,
    lease_seconds: float = DEFAULT_LEASE_SECONDS,
    allow_changed: Collection[str] = (),
    extra: Extra | None = None,
    durable: Durable | None = None,
    ledger: Ledger | LedgerAccount | None = None,
    on_delta: OnNodeDelta | None = None,
    session: str | None = None,
    tenant: str | None = None,
    obligations: Handlers | None = None,
    narrow_with: Policy | None = None,
    delegation: DelegationMode | None = None,
) -> GraphResult:
    """Run `nodes` on `task`, from `start` on; after each, `router` selects the next one.

    `start` and `max_transitions`, the largest number of node runs, default to those of a `GraphSpec`, else 12. The task
    of a later node is `compose_task(task, outcome)`: by default the task with the answer of the node before. The other
    arguments are those of `run_agent`, for every node; `durable` groups `store`, `run_id`, `owner`, `lease_seconds` and
    `allow_changed`, as there.

    With `durable`, or with a `store`, node runs are journaled under `RUN_ID::HOP:NODE` and the graph under `run_id`.
    Calling again with the same `run_id` continues where the journal ends: a node that has finished, failed or not, is
    not run again. In a store with leases the graph itself is leased, too.

    With `ledger`, every node pays from the same account, and the caps of a run are those of the whole graph. The graph
    fails before a model call that cannot be paid; called again with the same `run_id`, it continues with that node.
    `on_delta` receives the name of the node and each delta, as in `run_agent`. `obligations` are the handlers of every
    node, and `narrow_with` makes the policy of every node stricter.

    A node whose policy permits a call more than that of the node which hands over to it is refused, unless it declares
    `exceeds`: before anything runs for a `GraphSpec`, else at the handoff. What is not proved is refused. Handoffs from
    or to a policy of the `lynx` profile are checked with `delegation="within"` only, and none are with `"independent"`.

    Raises `ValueError` and `TypeError` for invalid arguments, before anything runs.
    """
    journal = durable_of(durable, store, run_id, owner, lease_seconds, allow_changed)
    check_graph(nodes, router)
    for node in nodes.values():
        if isinstance(node, GraphNode):
            check_actors(node.agent, on_approval=node.on_approval, budget=node.budget, on_delta=on_delta)
            current_policy(narrowed_policy(node.policy, narrow_with))  # only for its errors
    check_allowed(journal["allow_changed"])
    facts_of(extra)
    check_surroundings(
        sinks=sinks,
        principal=principal,
        environment=environment,
        store=journal["store"],
        executor=executor,
        cancel=cancel,
        session=session,
        tenant=tenant,
    )
    return await GraphRun(
        DEFAULTS,
        nodes,
        task,
        router=router,
        start=start,
        max_transitions=max_transitions,
        compose_task=compose_task,
        sinks=sinks,
        cancel=cancel,
        principal=principal,
        environment=environment,
        workspace=workspace,
        executor=executor,
        extra=extra,
        ledger=ledger,
        on_delta=on_delta,
        session=session,
        tenant=tenant,
        obligations=checked_handlers(obligations),
        narrow_with=narrow_with,
        delegation=delegation,
        **{**journal, "owner": journal["owner"] or default_owner()},
    ).run()


log = logger("graph")
STORE_FAILURES: frozenset[RunErrorCode | None] = frozenset(("store_failed", "journal_refused"))
"""Codes of the nodes' errors that end a graph with a store: its next record would fail as well."""
OTHER_TASK = f"{REFUSED}the graph was begun with another task; if that is meant, pass allow_changed=('task',)"


class _End(Exception):
    """Ends the graph from any depth. `event` is its kind and body."""

    def __init__(self, outcome: RunOutcome, error: str | None, event: tuple[str, dict[str, Any]]) -> None:
        super().__init__(error)
        self.outcome = outcome
        self.error = error
        self.event = event


class GraphRun:
    """One call of `run_graph`, with compatibility options: its arguments and its state."""

    def __init__(
        self,
        compat: GraphCompat,
        nodes: Mapping[str, GraphNode],
        task: str,
        *,
        router: Router | GraphSpec,
        start: str | None,
        max_transitions: int | None,
        compose_task: Compose | None,
        sinks: Sequence[AnySink],
        store: RunStore | None,
        run_id: str | None,
        cancel: CancelSignal | None,
        ledger: Ledger | LedgerAccount | None = None,
        on_delta: OnNodeDelta | None = None,
        delegation: DelegationMode | None = "independent",
        app_version: str = "",
        **surroundings: Any,  # Any: arguments of `run_agent`, checked there
    ) -> None:
        spec = router if isinstance(router, GraphSpec) else None
        first = start or (spec.start if spec else None)
        if not first:
            raise ValueError("start node is required (pass start= or use a GraphSpec)")
        if first not in nodes:
            raise ValueError(f"start node {first!r} not in nodes {sorted(nodes)}")
        missing = spec.node_names() - set(nodes) if spec is not None else frozenset()
        if missing:
            raise ValueError(f"graph routes to unknown node(s): {sorted(missing)}")
        if store is not None and not run_id:
            raise ValueError("a non-empty run_id is required when store is provided")
        bound = max_transitions if max_transitions is not None else spec.max_transitions if spec else None
        self.bound = checked_bound(bound)
        self.compat, self.nodes, self.task, self.router, self.start = compat, dict(nodes), task, router, first
        self.compose = compose_task or default_task
        self.sinks, self.store, self.run_id, self.cancel = tuple(sinks), store, run_id, cancel
        self.surroundings, self.app_version = surroundings, app_version
        self.journal = GraphJournal(
            store,
            run_id or "",
            plain=compat.plain,
            owner=surroundings.get("owner"),
            lease_seconds=surroundings.get("lease_seconds", DEFAULT_LEASE_SECONDS),
        )
        for name, node in self.nodes.items():
            check_node(name, node)
        self.delegation = checked_delegation(delegation, self.nodes, spec)
        self.fanout = Fanout(self.sinks, total_seconds=inf)
        self.correlation_id = run_id or str(uuid4())
        self.on_delta = on_delta
        self.paid: dict[str, LedgerAccount] = {} if ledger is None else {"ledger": self._account(ledger)}
        self.events = self.transition = 0
        self.path: list[NodeOutcome] = []
        self.other_task = False
        """True when the journal is that of another task: its status stays."""

    def _account(self, ledger: Ledger | LedgerAccount) -> LedgerAccount:
        """The account of all nodes. Raises `ValueError` and `TypeError` for a node that it cannot pay."""
        account = account_of(ledger)
        account = replace(account, run=account.run or self.correlation_id)
        for name, node in self.nodes.items():
            try:
                spending_of(account, node.agent, node.tools, run=account.run, principal=self.surroundings["principal"])
            except ValueError as error:
                raise ValueError(f"node {name!r}: {error}") from error
        return account

    async def run(self) -> GraphResult:
        """Execute the graph, from its journal to its result."""
        result = None
        try:
            result = await self._run()
            return result
        finally:
            error = None if result is None else result.error
            await self.journal.close(self._status(result), {} if error is None else {"error": error})

    async def _run(self) -> GraphResult:
        try:
            await self.journal.load()
        except Busy as busy:
            await self._emit("graph.superseded", {"hop": 0, "detail": str(busy)})
            return GraphResult(None, (), 0, f"superseded: {busy}", "superseded")
        except JournalError as error:
            return GraphResult(None, (), 0, str(error))
        known = self.journal.progress.task
        other = known is not None and known != self.task and not self.compat.plain
        if other and "task" not in self.surroundings.get("allow_changed", ()):
            self.other_task = True
            return GraphResult(None, (), 0, OTHER_TASK)
        resumed = self.journal.progress.records > 0
        await self._emit("graph.started", {"task": self.task, "start": self.start, "resumed": resumed})
        try:
            await self._steps(self.start)
        except _End as end:
            return await self._finish(end)
        except JournalError as error:
            return await self._finish(_failed(str(error)))
        except GraphSuperseded:
            text = f"superseded: another worker is executing graph {self.run_id!r}"
            return await self._finish(_End("superseded", text, ("graph.superseded", {"hop": self.transition})))

    async def _steps(self, current: str) -> NoReturn:
        """Execute node after node; ends with `_End`."""
        task = self.task
        while True:
            reason = cancelled_reason(self.cancel)
            if reason is not None:
                body = {"reason": reason, "hops": self.transition}
                raise _End("cancelled", f"cancelled: {reason}", ("graph.cancelled", body))
            if self.fanout.failure is not None:
                raise _failed(self.fanout.failure)
            if self.transition >= self.bound:
                text = f"max_transitions exhausted ({self.bound})"
                raise _End("failed", text, ("graph.exhausted", {"max_transitions": self.bound}))
            outcome = await self._node(current, task)
            following = await self._route(outcome)
            body = {
                "hop": self.transition,
                "node": current,
                "next": following,
                "denials": outcome.denials,
                "ok": outcome.result.error is None,
            }
            await self._emit("graph.handoff", body)
            if following is None:
                raise _End("succeeded", None, ("graph.finished", {"hops": self.transition + 1, "final_node": current}))
            await self._check_delegation(current, following)
            task = self._composed(outcome)
            current = following
            self.transition += 1

    async def _check_delegation(self, parent: str, child: str) -> None:
        """End the graph at a handoff to a node that may not follow."""
        if self.delegation is not None:
            problem = await asyncio.to_thread(self.delegation.problem, parent, child)
            if problem is not None:
                raise _failed(problem)

    async def _node(self, name: str, task: str) -> NodeOutcome:
        """The outcome of the node at this hop: from the journal when recorded, else from a run."""
        known = self.journal.progress.node_at(self.transition)
        if known is not None and known != name:
            text = (
                f"the journal of graph {self.run_id!r} does not fit this graph: "
                f"at hop {self.transition} it has node {known!r}, not {name!r}"
            )
            raise _failed(text)
        outcome = await self._recorded(name)
        if outcome is not None:
            self.path.append(outcome)
            return outcome
        await self.journal.claim(self.task, self.start)
        outcome = await self._run_node(name, task)
        self.path.append(outcome)
        result, error = outcome.result, outcome.result.error or ""
        if result.outcome == "cancelled":
            raise _End("cancelled", error, ("graph.cancelled", {"reason": error, "hops": self.transition}))
        if result.outcome == "suspended":  # the node is not finished: a resumed graph continues it
            suspended = {"hop": self.transition, "node": name, "approvals": list(result.approvals)}
            raise _End("suspended", error, ("graph.suspended", suspended))
        if result.outcome == "superseded":
            text = f"superseded: node {name!r} was overtaken by another worker"
            raise _End("superseded", text, ("graph.superseded", {"hop": self.transition}))
        # A graph does not continue without its required sinks, its store or its ledger. Other failures are routed.
        if result.code == "sink_failed" or (self._is_kept() and result.code in STORE_FAILURES):
            raise _failed(error)
        if self.paid and result.code == "budget_exhausted" and error.startswith(CANNOT_PAY):
            raise _failed(f"node {name!r}: {error}")
        await self.journal.finish(outcome)
        return outcome

    async def _recorded(self, name: str) -> NodeOutcome | None:
        """The outcome of a finished node; None for a node that must run, or whose run must be replayed."""
        progress = self.journal.progress
        finished, handoff = progress.finished.get(self.transition), progress.handoffs.get(self.transition)
        try:
            if finished is not None:
                return NodeOutcome(
                    name, result_from_body(finished["result"]), int(finished["denials"]), self.transition
                )
            if handoff is None or handoff["status"] != "failed":
                return None  # a journaled success replays from the node's own journal, without the agent
            denials = int(handoff["denials"])
        except (KeyError, TypeError, ValueError) as error:
            raise _failed(f"store.load failed: {format_exception(error)}") from error
        child = self._child_id(name) or ""
        results = (await self.journal.node(child)).results
        result = RunResult(child, self.nodes[name].policy.id, error=LOST_ERROR, steps_taken=results)
        return NodeOutcome(name, result, denials, self.transition)

    async def _run_node(self, name: str, task: str) -> NodeOutcome:
        node = self.nodes[name]
        child = self._child_id(name)
        # A resumed run replays its records, or only its final answer: its earlier denials are counted here.
        denials = (await self.journal.node(child)).denied if child is not None else 0

        async def count(event: AuditEvent) -> None:
            nonlocal denials
            denials += event.kind == "action.denied"

        result = await self.compat.run_node(
            node.agent,
            task,
            tools=node.tools,
            policy=node.policy,
            budget=node.budget,
            on_approval=node.on_approval,
            sinks=(*self.sinks, count),
            cancel=self.cancel,
            **({} if self.compat.plain else {"user_task": self.task}),
            **self._named(name),
            **self.paid,
            **({} if self.on_delta is None else {"on_delta": partial(self.on_delta, name)}),
            **self._journaled(child),
        )
        return NodeOutcome(name, result, denials, self.transition)

    def _journaled(self, child: str | None) -> dict[str, Any]:  # Any: arguments of `run_agent`
        """The surroundings of a node, with the place of its journal."""
        options = {**self.surroundings, "store": self.store, "run_id": child}
        if not self.app_version:
            return options
        place = {name: options.pop(name) for name in ("store", "run_id", "owner", "lease_seconds", "allow_changed")}
        return {**options, "durable": Durable(**place, app_version=self.app_version)}

    def _is_kept(self) -> bool:
        return self.store is not None or bool(self.paid)

    async def _route(self, outcome: NodeOutcome) -> str | None:
        """The next node: as journaled, or as the router answers, which is then journaled."""
        handoff = self.journal.progress.handoffs.get(self.transition)
        if handoff is not None:
            return self._known(handoff.get("next"))
        try:
            answer: object = self.router(outcome)
        except (Exception, SystemExit) as error:
            raise _failed(f"router raised {format_exception(error)}") from error
        following = self._known(answer)
        await self.journal.claim(self.task, self.start)
        await self.journal.hand_off(outcome, following)
        return following

    def _known(self, answer: object) -> str | None:
        """Validate a router's answer; None ends the graph."""
        if answer is None:
            return None
        if inspect.iscoroutine(answer):
            answer.close()
        if not isinstance(answer, str):
            raise _failed(f"router returned {type(answer).__name__}, not the name of a node")
        if answer == DONE:
            return None
        if answer not in self.nodes:
            raise _failed(f"router returned unknown node {answer!r}; nodes: {sorted(self.nodes)}")
        return answer

    def _composed(self, outcome: NodeOutcome) -> str:
        try:
            task: object = self.compose(self.task, outcome)
        except (Exception, SystemExit) as error:
            raise _failed(f"compose_task raised {format_exception(error)}") from error
        if inspect.iscoroutine(task):
            task.close()
        if not isinstance(task, str):
            raise _failed(f"compose_task returned {type(task).__name__}, not a string")
        return task

    def _child_id(self, name: str) -> str | None:
        return f"{self.run_id}::{self.transition}:{name}" if self.store is not None else None

    def _named(self, name: str) -> dict[str, str]:
        """The correlation id of a node's run without a store: unique, and it begins with that of the graph."""
        if self.store is not None or self.compat.plain:
            return {}
        unique = "" if self.run_id is None else f":{uuid4().hex[:8]}"
        return {"correlation_id": f"{self.correlation_id}::{self.transition}:{name}{unique}"}

    async def _finish(self, end: _End) -> GraphResult:
        await self._emit(*end.event)
        final = self.path[-1].result if self.path else None
        return GraphResult(final, tuple(self.path), self.transition, end.error, end.outcome)

    def _status(self, result: GraphResult | None) -> RunStatus | None:
        """Return the status to note in the store; None where the graph is another's or the caller ended it."""
        if result is None or result.outcome == "superseded" or self.other_task:
            return None
        return result.outcome

    async def _emit(self, kind: str, body: dict[str, Any]) -> None:
        log.info("graph %s: %s", self.correlation_id, kind, extra={"correlation_id": self.correlation_id, "kind": kind})
        event = AuditEvent(self.correlation_id, GRAPH_BUNDLE, self.events, kind, datetime.now(UTC), FrozenDict(body))
        self.events += 1
        await self.fanout.deliver(event)


def _failed(error: str) -> _End:
    return _End("failed", error, ("graph.failed", {"reason": error}))
