"""`run_agent`: check the options of a run, and drive it to its result.

No fault of an agent, a tool, a sink, a store or an approver leaves it as an exception. Only cancellation of the calling
task, Ctrl-C and invalid arguments do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from bobcat.aio.cancel import CancelSignal
from bobcat.approvals import ApprovalHandler, scope
from bobcat.bundle import Policy
from bobcat.bundle.current import PolicyHolder, current_policy, narrowed_policy
from bobcat.compression.protocol import Compressor
from bobcat.executors import Executor
from bobcat.journal.index import EMPTY_JOURNAL
from bobcat.journal.records import RunStore
from bobcat.logs import logger
from bobcat.model.agent import Agent
from bobcat.model.decision import Principal
from bobcat.model.deltas import OnDelta
from bobcat.model.run import Budget, RunResult
from bobcat.runtime.arguments import check_actors, check_surroundings
from bobcat.runtime.budget import cost_cap
from bobcat.runtime.candidate import beside, candidate_of
from bobcat.runtime.compat import DEFAULTS, CompatOptions
from bobcat.runtime.deltas import DeltaFeed, Feeds, StreamedAgent
from bobcat.runtime.driver import RunDriver
from bobcat.runtime.extra import Extra, facts_of
from bobcat.runtime.interrupts import Interrupts
from bobcat.runtime.lease import DEFAULT_LEASE_SECONDS
from bobcat.runtime.memory import RunMemory, reads_task
from bobcat.runtime.obligations import Handlers, checked_handlers, redacted_by
from bobcat.runtime.options import Durable, Options, checked, durable_of
from bobcat.runtime.resume_check import APP_VERSION, binding_of
from bobcat.runtime.scopes import Scopes
from bobcat.runtime.shared_memory import SharedMemory
from bobcat.runtime.spending import reads_ledger, spending_of, with_balances
from bobcat.runtime.state import Setup
from bobcat.sinks import AnySink
from bobcat.sinks.fanout import Fanout
from bobcat.stores.protocol import has_leases
from bobcat.tools.toolset import ToolSet

if TYPE_CHECKING:
    from bobcat.ledger import Ledger, LedgerAccount

log = logger("runtime")


async def run_agent(
    agent: Agent,
    task: str,
    *,
    tools: ToolSet,
    policy: Policy | PolicyHolder,
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
    cancel: CancelSignal | None = None,
    owner: str | None = None,
    lease_seconds: float = DEFAULT_LEASE_SECONDS,
    allow_changed: Collection[str] = (),
    clock: Callable[[], datetime] | None = None,
    extra: Extra | None = None,
    durable: Durable | None = None,
    ledger: Ledger | LedgerAccount | None = None,
    on_delta: OnDelta | None = None,
    compressor: Compressor | None = None,
    user_task: str | None = None,
    session: str | None = None,
    tenant: str | None = None,
    candidate: Policy | None = None,
    obligations: Handlers | None = None,
    narrow_with: Policy | None = None,
) -> RunResult:
    """Run `agent` on `task` until it answers, fails, or is stopped; every tool call passes `policy` first.

    A run has one policy: of a `ReloadingPolicy` the one in force when it begins, and when it is resumed.

    Without `on_approval` every approval is refused. With `durable`, or with a `store`, the run is journaled under
    `run_id`, and calling again with the same `run_id` resumes it: recorded model replies and results are neither
    requested nor executed again. `cancel` stops the run at once, in the middle of a model call, an approval wait or a
    tool. `correlation_id` defaults to `run_id`, or a new UUID; a resumed run gets `run_id#xxxxxxxx`.

    `durable` groups `store`, `run_id`, `owner`, `lease_seconds` and `allow_changed`; each can also be given by itself.
    In a store with leases (`bobcat.stores.protocol`) the run belongs to `owner` while its lease is renewed within
    `lease_seconds`: no other worker executes any part of it meanwhile, and a worker that lost it executes nothing more.
    A worker that restarts under the same name need not wait for its own lease; the default name is unique to this call.
    A run is resumed with the same task, tools, agent and principal, except for those that `allow_changed` names.
    `extra` are the facts that rules read as `context.extra`: a mapping of JSON values for the whole run, or an async
    function that gets the proposed call as an `ActionRequest` and returns such a mapping, before each decision. A call
    whose facts cannot be obtained is denied. `clock` supplies the date, with its zone, for records, events and policies
    (`context.timestamp`), in place of the machine's clock. `on_delta` receives the parts of each model reply as they
    arrive (`TextDelta`, ...), from an agent with `stream`; without it, the text of each reply as one. The run does not
    wait for `on_delta`, except for a second at its end.

    With `ledger`, a `Ledger` or `ledger.account(thread=..., tenant=...)`, each model call is made only after its worst
    case was reserved under the caps, and the run fails with the code `budget_exhausted` when that is refused.

    `compressor` (`bobcat.compression`) shortens what the model sees of a result that is text; the journal keeps the
    whole, too. A compressor that fails leaves the result as it is.

    Rules read the user's own words as `context.task`: `task`, or `user_task` where `task` has more than those. A policy
    with rules that remember (`docs/reference/memory.md`) remembers the calls and results of this run, over resumes,
    too. Its counts `by: session` and `by: tenant` are over the runs in `store` with the same `session` or `tenant`, or
    else with the same text in `extra`; those `by: principal` over the runs of the same `principal`.

    `candidate` is a policy that decides each call beside `policy`, without an effect on the run: where its decision
    differs, the sinks get `policy.diverged`. Its rules may remember what `policy` does, and nothing else.

    `obligations` are the handlers of the obligations of rules, by name (`docs/reference/obligations.md`). A call whose
    obligation before the effect has no handler, or fails, is refused.

    `narrow_with` is a policy that can only make the decisions of `policy` stricter, as its last layer (`run`), and
    those of the candidate (`docs/reference/layers.md`). The journal does not hold it: a resumed run needs it again.

    Raises `BundleError` for policies that cannot be layers of one, `ValueError` for a store without a run id, for a
    tool whose effect needs more than the store offers, for a negative budget and for an agent whose calls the ledger
    cannot price, `TypeError` for arguments of the wrong type. Every other failure is in `RunResult.error`.
    """
    journal = durable_of(durable, store, run_id, owner, lease_seconds, allow_changed)
    check_actors(agent, on_approval=on_approval, budget=budget, on_delta=on_delta)
    check_surroundings(
        sinks=sinks,
        principal=principal,
        environment=environment,
        store=journal["store"],
        executor=executor,
        cancel=cancel,
        compressor=compressor,
        user_task=user_task,
        session=session,
        tenant=tenant,
    )
    in_force = current_policy(narrowed_policy(policy, narrow_with))
    options = Options(
        tools=tools, policy=in_force, sinks=sinks,
        on_approval=on_approval, budget=budget, principal=principal, environment=environment, workspace=workspace,
        correlation_id=correlation_id, executor=executor, cancel=cancel, clock=clock, extra=extra,
        ledger=ledger, on_delta=on_delta, compressor=compressor, user_task=user_task, session=session, tenant=tenant,
        candidate=candidate_of(in_force, candidate, narrow_with),
        obligations=checked_handlers(obligations),
        **journal,
    )  # fmt: skip
    return await run_with(DEFAULTS, agent, task, options)


async def run_with(
    compat: CompatOptions,
    agent: Agent,
    task: str,
    options: Options,
    *,
    use_fast_path: bool = True,
    driver_type: Callable[..., RunDriver] = RunDriver,
) -> RunResult:
    """Run an agent with other compatibility options; see `docs/migrating-from-lynx.md`.

    Without `use_fast_path`, every step goes through the machine. `driver_type` makes the driver.
    """
    budget, policy, run_id = options.budget, options.policy, options.run_id
    allowed = checked(options, compat)
    facts, provider = facts_of(options.extra)
    guarded = compat.guards_journal and options.store is not None
    bounded = {} if isfinite(compat.sink_timeout_seconds) else {"total_seconds": compat.sink_timeout_seconds}
    fanout = Fanout(options.sinks, timeout_seconds=compat.sink_timeout_seconds, reporter=compat.name, **bounded)
    files = () if options.turn is None else options.turn.attachments
    bound = [task, *(each.reference() for each in files)] if files else task
    own_words = task if options.user_task is None and options.task_is_users else options.user_task
    options = msgspec.structs.replace(options, candidate=beside(policy, options.candidate, own_words))
    user_task = own_words if compat.strict_replies and reads_task(policy) else None
    binding = None
    if guarded:
        composed = own_words if options.task_is_users and own_words != task else None
        binding = binding_of(bound, options.tools, agent, options.principal, provider or facts, composed)
        if options.app_version:
            binding = {**binding, APP_VERSION: options.app_version}
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
        shows_results=fanout.takes_results,
        journal=EMPTY_JOURNAL,
        replies={},
        compat=compat,
        binding=binding,
        extra=facts,
        asks_extra=provider is not None,
        renews_extra="extra" in allowed,
        history=() if options.turn is None else tuple(options.turn.history),
        attachments=files,
        user_task=user_task,
        redacted=redacted_by(policy) if fanout else (),
        in_thread=options.turn is not None,
    )
    spending = spending_of(
        options.ledger,
        agent,
        options.tools,
        run=run_id or setup.correlation_id,
        principal=options.principal,
        cap=cost_cap(budget),
    )
    if spending is not None and reads_ledger(policy):
        provider = with_balances(facts, provider, spending)
        setup = msgspec.structs.replace(setup, asks_extra=True)
    interrupting = Interrupts(
        options.cancel, budget.duration_seconds, ends_waits=compat.interrupts, clock=options.clock
    )
    with scope(str(run_id or setup.correlation_id)), interrupting as interrupts:
        feed = None if options.on_delta is None else DeltaFeed(options.on_delta)
        feeds = Feeds()
        if feed is not None:
            feeds.puts.append(feed.put)
        takes_deltas = fanout.takes_deltas and options.turn is None
        asked = agent if feed is None and not takes_deltas else StreamedAgent(agent, feeds)
        driver = driver_type(setup, asked, options, fanout, interrupts)
        driver.use_fast_path = use_fast_path and options.turn is None
        driver.provider = provider
        driver.spending = spending
        driver.memory = _memory_of(options, user_task)
        if takes_deltas:
            feeds.puts.append(driver.show_delta)
        try:
            result = await driver.run(named=options.correlation_id is not None, allowed=allowed)
            if feed is not None:
                await feed.drain()
        finally:
            fanout.abandon()
            if feed is not None:
                feed.abandon()
        driver.log_end(result)
        return result


def _memory_of(options: Options, user_task: str | None) -> RunMemory | None:
    """The memory that a run begins with; None for a policy without rules that remember."""
    own, store = options.memory or RunMemory.of(options.policy, user_task), options.store
    if own is None or isinstance(own, SharedMemory) or store is None or not has_leases(store):
        return own
    scopes = Scopes(options.policy, store, session=options.session, tenant=options.tenant)
    return SharedMemory(own, scopes, options.run_id or "") if scopes else own
