"""What a run is given, and what is refused of it before it begins: values that do not fit one another or the manner.

`arguments` has looked at the kind of each by then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from math import isfinite

import msgspec

from bobcat.approvals import ApprovalHandler
from bobcat.bundle import PolicyBundle
from bobcat.cancel import Cancelled
from bobcat.executors import Executor
from bobcat.journal import RunStore
from bobcat.kernel.binding import check_allowed
from bobcat.kernel.extra import Extra
from bobcat.kernel.manner import Manner
from bobcat.kernel.tenure import DEFAULT_LEASE_SECONDS, MIN_LEASE_SECONDS
from bobcat.limits import check_budget
from bobcat.model import Budget, Principal
from bobcat.sinks import AnySink
from bobcat.stores.durable import DurableStore, TransactionalStore
from bobcat.tools import ToolSet


class Options(msgspec.Struct, kw_only=True, frozen=True):
    """The keyword arguments of `run_agent`, checked when the run begins."""

    tools: ToolSet
    policy: PolicyBundle
    sinks: Sequence[AnySink]
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
    owner: str | None = None
    lease_seconds: float = DEFAULT_LEASE_SECONDS
    allow_changed: Collection[str] = ()
    clock: Callable[[], datetime] | None = None
    extra: Extra | None = None


def checked(options: Options, manner: Manner) -> frozenset[str]:
    """Refuse arguments that are no run: `ValueError`, `TypeError`. What the caller allows to have changed."""
    if options.store is not None and not options.run_id:
        raise ValueError(
            "a non-empty run_id is required when store is provided — resume needs a stable identifier "
            "your retry layer keeps constant across attempts"
        )
    _check_kinds(options.tools, options.policy)
    _check_effects(options.tools, options.store, leases=manner.guards_journal)
    allowed = check_allowed(options.allow_changed)
    _check_lease(options)
    if manner.checks_budget:
        check_budget(options.budget)
    return allowed


def _check_kinds(tools: object, policy: object) -> None:
    if not isinstance(tools, ToolSet):
        raise TypeError(
            f"tools must be a ToolSet, got {type(tools).__name__}; build one with ToolSet.from_functions(...)"
        )
    if not isinstance(policy, PolicyBundle):
        raise TypeError(
            f"policy must be a PolicyBundle, got {type(policy).__name__}; build one with compile_policy(...)"
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
    """Refuse tools whose effect needs more of a store than this one offers."""
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
            have = f"{have}, and lynx-agent's manner takes no lease"
        raise ValueError(f"tool {tool.name!r} is {effect}: it needs {offer}, got {have}")
