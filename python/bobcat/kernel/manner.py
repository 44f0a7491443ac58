"""How a run behaves where two ways are possible: one frozen value, read by the machine and its driver.

`SAFE` is what `bobcat.run_agent` does, `INCUMBENT` what lynx-agent 2.5 does and `bobcat.lynx` therefore does too. Each
field is one deliberate difference; `docs/migrating-from-lynx.md` has a line with the reason for each.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import msgspec

from bobcat.plain_json import json_text, loose_json_text
from bobcat.sinks.fanout import SINK_TIMEOUT_SECONDS

STORE_TIMEOUT_SECONDS = 30.0
"""A store that takes longer for one call has failed."""


class Manner(msgspec.Struct, frozen=True):
    """One way to run. Every field is said by its true value."""

    name: str
    """Who reports a failing sink on stderr."""
    binds_arguments: bool
    """A call is bound to its tool's signature before it is judged, and refused when it does not fit."""
    intent_follows_approval: bool
    """The intent is written when the action is about to run. Else at once, whatever the decision says."""
    approval_precedes_action: bool
    """An approval is answered in the audit, with the approver's name, before the action runs; a granted action that
    fails has failed. Else it is answered from the outcome, and a granted action that fails was denied."""
    strict_approvals: bool
    """Only `True` grants, only by somebody among the approvers, and a timeout of 0 is one."""
    transforms_any_verdict: bool
    """`Decision.transform_args` replace the arguments whatever the verdict is. Else under `transform` only."""
    audits_effective_args: bool
    """Events and intents carry the arguments that run, when they are not the proposed ones."""
    audits_decisions: bool
    """`policy.evaluated` carries what the decision was made of, and every proposal has one; `run.started` carries what
    the run was given. Else the verdict, the reason and the rules of proposals that reached the policy."""
    counts_every_proposal: bool
    """Repetitions are counted for unknown tools and over resumes too. Else for live calls of known tools."""
    repeats_in_a_row: bool
    """Only calls in a row are repetitions, and a refused one is none. Else every one counts."""
    caps_last_step: bool
    """A token cap that the last reply goes past fails the run. Else a final answer is always in time."""
    journals_approvals: bool
    """A pending approval and a grant are on record; a resumed run asks nobody who has granted the same before."""
    counts_cache_tokens: bool
    """Cache tokens count against the token caps."""
    interrupts: bool
    """The kill switch and the duration end a model call, an approval wait or a tool. Else they are looked at between
    steps, the switch also before an effect."""
    announces_unbounded: bool
    """A run without any cap says so."""
    checks_budget: bool
    """A negative cap, or one that is no number, is refused. Else it is compared with as it is."""
    doubt_stays: bool
    """An action that may have run stays uncertain until a result is on record. Else until the next intent."""
    trims_shadow_args: bool
    """A shadow gets those of the arguments that it takes. Else all of them."""
    strict_replies: bool
    """Every field of a reply must have its declared type. Else what a run can work with will do."""
    strict_results: bool
    """Only `ok is True` is a success, and every failure has a text."""
    says_denied_once: bool
    """A refusal is told as `[denied] why`. Else as `[denied] denied: why`."""
    read_only: bool
    """Sinks, rules, approvers and journals get read-only arguments, and agents a read-only sequence that is made in
    constant time. Else plain copies, and a tuple."""
    tells_timeouts_apart: bool
    """A `TimeoutError` that an agent or a tool raises is an error of theirs. Else a timeout of ours."""
    guards_journal: bool
    """The run holds a lease where the store has leases, its records are chained by hashes, and a journal is checked
    before it is gone on with, also against the task, the tools, the agent and the principal."""
    journals_ends: bool
    """How a run failed or was cancelled is on record, and what became of a call that could not be made or begun."""
    resolves_doubt: bool
    """An action that may have run is asked about, and run again by its tool's effect; an unsafe one asks for an
    approval. Else whatever the policy says of it."""
    sinks_may_take: float
    """How long a sink may take for an event before it is left out; without a bound, also for all of them together."""
    store_seconds: float | None
    """How long a store may take for one call before it has failed."""
    json: Callable[[Any], str]  # Any: every value has a text
    """The text under a key and a repetition."""


SAFE = Manner(
    name="bobcat",
    binds_arguments=True,
    intent_follows_approval=True,
    approval_precedes_action=True,
    strict_approvals=True,
    transforms_any_verdict=True,
    audits_effective_args=True,
    audits_decisions=True,
    counts_every_proposal=True,
    repeats_in_a_row=True,
    caps_last_step=True,
    journals_approvals=True,
    counts_cache_tokens=True,
    interrupts=True,
    announces_unbounded=True,
    checks_budget=True,
    doubt_stays=True,
    trims_shadow_args=True,
    strict_replies=True,
    strict_results=True,
    says_denied_once=True,
    read_only=True,
    tells_timeouts_apart=True,
    guards_journal=True,
    journals_ends=True,
    resolves_doubt=True,
    sinks_may_take=SINK_TIMEOUT_SECONDS,
    store_seconds=STORE_TIMEOUT_SECONDS,
    json=json_text,
)

INCUMBENT = Manner(
    name="lynx",
    binds_arguments=False,
    intent_follows_approval=False,
    approval_precedes_action=False,
    strict_approvals=False,
    transforms_any_verdict=False,
    audits_effective_args=False,
    audits_decisions=False,
    counts_every_proposal=False,
    repeats_in_a_row=False,
    caps_last_step=False,
    journals_approvals=False,
    counts_cache_tokens=False,
    interrupts=False,
    announces_unbounded=False,
    checks_budget=False,
    doubt_stays=False,
    trims_shadow_args=False,
    strict_replies=False,
    strict_results=False,
    says_denied_once=False,
    read_only=False,
    tells_timeouts_apart=False,
    guards_journal=False,
    journals_ends=False,
    resolves_doubt=False,
    sinks_may_take=inf,
    store_seconds=None,
    json=loose_json_text,
)
