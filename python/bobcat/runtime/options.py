"""The options of a run, and the checks of their values and combinations before it starts.

`arguments` has checked the type of each one before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from bobcat.aio.cancel import CancelSignal
from bobcat.approvals import ApprovalHandler
from bobcat.bundle import Policy
from bobcat.compression.protocol import Compressor
from bobcat.executors import Executor
from bobcat.journal.records import RunStore
from bobcat.model.decision import Principal
from bobcat.model.deltas import OnDelta
from bobcat.model.run import Budget
from bobcat.runtime.budget import check_budget, cost_cap
from bobcat.runtime.candidate import Candidate
from bobcat.runtime.compat import CompatOptions
from bobcat.runtime.extra import Extra
from bobcat.runtime.lease import DEFAULT_LEASE_SECONDS, MIN_LEASE_SECONDS, LeaseKeeper
from bobcat.runtime.memory import RunMemory
from bobcat.runtime.obligations import NO_HANDLERS, Handlers
from bobcat.runtime.resume_check import check_allowed
from bobcat.runtime.turn import TurnOptions
from bobcat.sinks import AnySink
from bobcat.stores.protocol import DurableStore, TransactionalStore
from bobcat.tools.toolset import ToolSet

if TYPE_CHECKING:
    from bobcat.ledger import Ledger, LedgerAccount


@dataclass(frozen=True, slots=True)
class Durable:
    """Place of a run's journal: the `store`, the `run_id`, and the lease that the run holds there.

    Another call with the same `run_id` resumes the run. In a store with leases the run belongs to `owner`, who renews
    the lease of `lease_seconds`. A worker that starts again under the same name need not wait for its own lease;
    without a name, every call has one of its own. `allow_changed` names what may differ from the run that was begun.
    `app_version` is recorded with each attempt, in its binding.
    """

    store: RunStore
    run_id: str
    owner: str | None = None
    lease_seconds: float = DEFAULT_LEASE_SECONDS
    allow_changed: Collection[str] = ()
    app_version: str = ""


@dataclass(frozen=True, slots=True)
class ClaimedDurable(Durable):
    """The journal of a run that a worker has claimed: `run_agent` acquires no lease, see `LeaseKeeper.claimed`."""

    lease: LeaseKeeper | None = None


class Options(msgspec.Struct, kw_only=True, frozen=True):
    """The keyword arguments of `run_agent`, checked at the start of the run."""

    tools: ToolSet
    policy: Policy
    sinks: Sequence[AnySink] = ()
    on_approval: ApprovalHandler | None = None
    budget: Budget = Budget()
    principal: Principal = Principal("user", "anonymous")
    environment: str = "dev"
    workspace: str = "."
    correlation_id: str | None = None
    store: RunStore | None = None
    run_id: str | None = None
    executor: Executor | None = None
    cancel: CancelSignal | None = None
    owner: str | None = None
    lease_seconds: float = DEFAULT_LEASE_SECONDS
    allow_changed: Collection[str] = ()
    app_version: str = ""
    lease: LeaseKeeper | None = None
    """The lease that the caller has on the run."""
    clock: Callable[[], datetime] | None = None
    extra: Extra | None = None
    user_task: str | None = None
    """The user's own words where the task is composed of more."""
    task_is_users: bool = True
    """Without `user_task`, the task are the user's own words."""
    ledger: Ledger | LedgerAccount | None = None
    on_delta: OnDelta | None = None
    turn: TurnOptions | None = None
    memory: RunMemory | None = None
    """The memory that the run begins with: that of a session, or of earlier turns."""
    session: str | None = None
    """The session of the run, for counts by session."""
    tenant: str | None = None
    compressor: Compressor | None = None
    obligations: Handlers = NO_HANDLERS
    """The handlers of obligations, by name."""
    candidate: Candidate | None = None
    """A policy that decides beside `policy`, without an effect."""


def durable_of(
    given: Durable | None, store: RunStore | None, run_id: str | None, owner: str | None, lease_seconds: float,
    allow_changed: Collection[str],
) -> dict[str, Any]:  # fmt: skip
    """Return the fields of `Options` for the journal, from `durable` or from the single keywords.

    Raises `TypeError` for `durable` beside one of the single keywords, or of another type.
    """
    if given is None:
        return {
            "store": store, "run_id": run_id, "owner": owner, "lease_seconds": lease_seconds,
            "allow_changed": allow_changed,
        }  # fmt: skip
    checked_given: object = given
    if not isinstance(checked_given, Durable):
        raise TypeError(f"durable must be a Durable, got {type(given).__name__}; write Durable(store, run_id)")
    single = {"store": store, "run_id": run_id, "owner": owner}
    twice = [name for name, value in single.items() if value is not None]
    twice += ["lease_seconds"] if lease_seconds != DEFAULT_LEASE_SECONDS else []
    twice += ["allow_changed"] if allow_changed else []
    if twice:
        raise TypeError(f"durable has the journal of the run already; leave out {', '.join(twice)}")
    return {name: getattr(given, name) for name in type(given).__dataclass_fields__}


def checked(options: Options, compat: CompatOptions) -> frozenset[str]:
    """Reject invalid arguments: `ValueError`, `TypeError`. Returns the names in `allow_changed`."""
    if options.store is not None and not options.run_id:
        raise ValueError(
            "a non-empty run_id is required when store is provided — resume needs a stable identifier "
            "your retry layer keeps constant across attempts"
        )
    _check_kinds(options.tools, options.policy)
    _check_effects(options.tools, options.store, leases=compat.guards_journal)
    allowed = check_allowed(options.allow_changed)
    _check_lease(options)
    if compat.checks_budget:
        check_budget(options.budget)
    if options.ledger is None and cost_cap(options.budget) is not None:
        raise ValueError("budget.cost needs a ledger, which has the prices; pass ledger=Ledger(...)")
    return allowed


def _check_kinds(tools: object, policy: object) -> None:
    if not isinstance(tools, ToolSet):
        raise TypeError(
            f"tools must be a ToolSet, got {type(tools).__name__}; build one with ToolSet.from_functions(...)"
        )
    if not isinstance(policy, Policy):
        raise TypeError(
            f"policy must be a Policy, got {type(policy).__name__}; make one with Policy.compile or Policy.load"
        )


def _check_lease(options: Options) -> None:
    seconds: object = options.lease_seconds
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"lease_seconds must be a number, got {seconds!r}")
    if not (isfinite(seconds) and seconds >= MIN_LEASE_SECONDS):
        raise ValueError(f"lease_seconds must be at least {MIN_LEASE_SECONDS} and finite, got {seconds!r}")
    owner: object = options.owner
    if owner is not None and (not isinstance(owner, str) or not owner):
        raise TypeError(f"owner must be a non-empty string, got {owner!r}")


def _check_effects(tools: ToolSet, store: RunStore | None, *, leases: bool) -> None:
    """Reject tools whose effect needs a capability that this store lacks."""
    for tool in tools.tools.values():
        effect = tool.metadata.effect
        if effect == "fenced" and not (leases and isinstance(store, DurableStore)):
            offer = "a store with leases (a `DurableStore`)"
        elif effect == "transactional" and not (leases and isinstance(store, TransactionalStore)):
            offer = "a store with transactions (a `TransactionalStore`), such as SQLite or PostgreSQL"
        else:
            continue
        have = "none" if store is None else type(store).__name__
        if not leases:
            have = f"{have}, and lynx-agent compatibility uses no lease"
        raise ValueError(f"tool {tool.name!r} is {effect}: it needs {offer}, got {have}")
