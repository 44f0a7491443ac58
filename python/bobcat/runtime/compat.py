"""Compatibility options of a run: one frozen value, read by the machine and its driver.

`DEFAULTS` is the behaviour of `bobcat.run_agent`, `LYNX_2_5` that of lynx-agent 2.5 and therefore of `bobcat.lynx`.
Each field is one deliberate difference; `docs/migrating-from-lynx.md` gives the reason for each.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import msgspec

from bobcat.sinks.fanout import SINK_TIMEOUT_SECONDS
from bobcat.text.json_text import json_text, loose_json_text

STORE_TIMEOUT_SECONDS = 30.0
"""Timeout of one store call: a slower store has failed."""


class CompatOptions(msgspec.Struct, frozen=True):
    """Behaviour switches of a run. Each docstring describes the behaviour when the flag is true."""

    name: str
    """The name that reports a failing sink on stderr."""
    binds_arguments: bool
    """A call is bound to its tool's signature before the policy evaluates it; a call that does not fit is denied."""
    intent_follows_approval: bool
    """The intent is written when the action is about to run. Else at once, for every decision."""
    approval_precedes_action: bool
    """The audit records an approval's answer, with the approver's name, before the action runs; a granted action that
    fails has failed. Else the answer is derived from the outcome, and a granted action that fails counts as denied.
    """
    strict_approvals: bool
    """Only `True` grants, only a listed approver can grant, and a timeout of 0 is a timeout."""
    transforms_any_verdict: bool
    """`Decision.transform_args` replace the arguments under any verdict. Else under `transform` only."""
    audits_effective_args: bool
    """Events and intents carry the effective arguments when they differ from the proposed ones."""
    audits_decisions: bool
    """Every proposal has a `policy.evaluated` event with the inputs of its decision, and `run.started` carries the
    inputs of the run. Else only proposals that reached the policy have one, with the verdict, the reason and the rules.
    """
    counts_every_proposal: bool
    """Repetitions are counted for unknown tools and across resumes too. Else for live calls of known tools."""
    counts_consecutive_repeats: bool
    """Only consecutive calls are repetitions, and a denied call does not count. Else every call counts."""
    caps_last_step: bool
    """A token cap that the last reply exceeds fails the run. Else a final answer is always accepted."""
    journals_approvals: bool
    """Pending approvals and grants are on record; a resumed run does not ask again for a recorded grant."""
    counts_cache_tokens: bool
    """Cache tokens count against the token caps."""
    interrupts: bool
    """The kill switch and the duration end a model call, an approval wait or a tool. Else they are checked between
    steps; the switch also before an effect.
    """
    announces_unbounded: bool
    """A run without any cap emits a warning event."""
    checks_budget: bool
    """A cap that is negative or not a number is rejected. Else it is compared as it is."""
    keeps_uncertain: bool
    """An action that may have run stays uncertain until a result is on record. Else until the next intent."""
    trims_shadow_args: bool
    """A shadow gets only those arguments that it takes. Else all of them."""
    strict_replies: bool
    """Every field of a reply must have its declared type. Else any type that a run can work with is accepted."""
    strict_results: bool
    """Only `ok is True` is a success, and every failure has a text."""
    single_denied_prefix: bool
    """The model sees a denial as `[denied] why`. Else as `[denied] denied: why`."""
    read_only: bool
    """Sinks, rules, approvers and journals get read-only arguments, and agents a read-only sequence that is built in
    constant time. Else plain copies, and a tuple.
    """
    distinguishes_timeouts: bool
    """A `TimeoutError` that an agent or a tool raises is its own error. Else it counts as a timeout of the run."""
    guards_journal: bool
    """The run holds a lease where the store has leases, a hash chain links its records, and a journal is checked before
    the run resumes, also against the task, the tools, the agent and the principal.
    """
    journals_ends: bool
    """The journal records how a run failed or was cancelled, and the outcome of a call that could not be made or
    started.
    """
    resolves_uncertain: bool
    """An action that may have run is reconciled, and repeated according to its tool's effect; an unsafe one requires an
    approval. Else the policy alone decides.
    """
    sink_timeout_seconds: float
    """Timeout of a sink for one event, after which the event is dropped for it; without a bound, also for all sinks
    together.
    """
    store_timeout_seconds: float | None
    """Timeout of one store call, after which the store has failed."""
    json: Callable[[Any], str]  # Any: every value has a text
    """The text encoding of a key and of a repetition."""


DEFAULTS = CompatOptions(
    name="bobcat",
    binds_arguments=True,
    intent_follows_approval=True,
    approval_precedes_action=True,
    strict_approvals=True,
    transforms_any_verdict=True,
    audits_effective_args=True,
    audits_decisions=True,
    counts_every_proposal=True,
    counts_consecutive_repeats=True,
    caps_last_step=True,
    journals_approvals=True,
    counts_cache_tokens=True,
    interrupts=True,
    announces_unbounded=True,
    checks_budget=True,
    keeps_uncertain=True,
    trims_shadow_args=True,
    strict_replies=True,
    strict_results=True,
    single_denied_prefix=True,
    read_only=True,
    distinguishes_timeouts=True,
    guards_journal=True,
    journals_ends=True,
    resolves_uncertain=True,
    sink_timeout_seconds=SINK_TIMEOUT_SECONDS,
    store_timeout_seconds=STORE_TIMEOUT_SECONDS,
    json=json_text,
)

LYNX_2_5 = CompatOptions(
    name="lynx",
    binds_arguments=False,
    intent_follows_approval=False,
    approval_precedes_action=False,
    strict_approvals=False,
    transforms_any_verdict=False,
    audits_effective_args=False,
    audits_decisions=False,
    counts_every_proposal=False,
    counts_consecutive_repeats=False,
    caps_last_step=False,
    journals_approvals=False,
    counts_cache_tokens=False,
    interrupts=False,
    announces_unbounded=False,
    checks_budget=False,
    keeps_uncertain=False,
    trims_shadow_args=False,
    strict_replies=False,
    strict_results=False,
    single_denied_prefix=False,
    read_only=False,
    distinguishes_timeouts=False,
    guards_journal=False,
    journals_ends=False,
    resolves_uncertain=False,
    sink_timeout_seconds=inf,
    store_timeout_seconds=None,
    json=loose_json_text,
)
