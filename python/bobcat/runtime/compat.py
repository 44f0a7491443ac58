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

    name: str = "bobcat"
    """The name that reports a failing sink on stderr."""
    binds_arguments: bool = True
    """A call is bound to its tool's signature before the policy evaluates it; a call that does not fit is denied."""
    intent_follows_approval: bool = True
    """The intent is written when the action is about to run. Else at once, for every decision."""
    approval_precedes_action: bool = True
    """The audit records an approval's answer, with the approver's name, before the action runs; a granted action that
    fails has failed. Else the answer is derived from the outcome, and a granted action that fails counts as denied.
    """
    strict_approvals: bool = True
    """Only `True` grants, only a listed approver can grant, and a timeout of 0 is a timeout."""
    transforms_any_verdict: bool = True
    """`Decision.transform_args` replace the arguments under any verdict. Else under `transform` only."""
    audits_effective_args: bool = True
    """Events and intents carry the effective arguments when they differ from the proposed ones."""
    audits_decisions: bool = True
    """Every proposal has a `policy.evaluated` event with the inputs of its decision, and `run.started` carries the
    inputs of the run. Else only proposals that reached the policy have one, with the verdict, the reason and the rules.
    """
    counts_every_proposal: bool = True
    """Repetitions are counted for unknown tools and across resumes too. Else for live calls of known tools."""
    counts_consecutive_repeats: bool = True
    """Only consecutive calls are repetitions, and a denied call does not count. Else every call counts."""
    caps_last_step: bool = True
    """A token cap that the last reply exceeds fails the run. Else a final answer is always accepted."""
    journals_approvals: bool = True
    """Pending approvals and grants are on record; a resumed run does not ask again for a recorded grant."""
    counts_cache_tokens: bool = True
    """Cache tokens count against the token caps."""
    interrupts: bool = True
    """The kill switch and the duration end a model call, an approval wait or a tool. Else they are checked between
    steps; the switch also before an effect.
    """
    announces_unbounded: bool = True
    """A run without any cap emits a warning event, and `run.started` carries the environment and the caps."""
    checks_budget: bool = True
    """A cap that is negative or not a number is rejected. Else it is compared as it is."""
    keeps_uncertain: bool = True
    """An action that may have run stays uncertain until a result is on record. Else until the next intent."""
    trims_shadow_args: bool = True
    """A shadow gets only those arguments that it takes. Else all of them."""
    strict_replies: bool = True
    """Every field of a reply must have its declared type. Else any type that a run can work with is accepted."""
    strict_results: bool = True
    """Only `ok is True` is a success, and every failure has a text."""
    single_denied_prefix: bool = True
    """The model sees a denial as `[denied] why`. Else as `[denied] denied: why`."""
    read_only: bool = True
    """Sinks, rules, approvers and journals get read-only arguments, and agents a read-only sequence that is built in
    constant time. Else plain copies, and a tuple.
    """
    distinguishes_timeouts: bool = True
    """A `TimeoutError` that an agent or a tool raises is its own error. Else it counts as a timeout of the run."""
    guards_journal: bool = True
    """The run holds a lease where the store has leases, a hash chain links its records, and a journal is checked before
    the run resumes, also against the task, the tools, the agent and the principal.
    """
    journals_ends: bool = True
    """The journal records how a run failed or was cancelled, and the outcome of a call that could not be made or
    started.
    """
    resolves_uncertain: bool = True
    """An action that may have run is reconciled, and repeated according to its tool's effect; an unsafe one requires an
    approval. Else the policy alone decides.
    """
    sink_timeout_seconds: float = SINK_TIMEOUT_SECONDS
    """Timeout of a sink for one event, after which the event is dropped for it; without a bound, also for all sinks
    together.
    """
    store_timeout_seconds: float | None = STORE_TIMEOUT_SECONDS
    """Timeout of one store call, after which the store has failed."""
    json: Callable[[Any], str] = json_text  # Any: every value has a text
    """The text encoding of a key and of a repetition."""


DEFAULTS = CompatOptions()
_FLAGS = [name for name in CompatOptions.__struct_fields__ if getattr(DEFAULTS, name) is True]
LYNX_2_5 = CompatOptions(
    **dict.fromkeys(_FLAGS, False),
    name="lynx",
    sink_timeout_seconds=inf,
    store_timeout_seconds=None,
    json=loose_json_text,
)
LYNX_2_11 = msgspec.structs.replace(LYNX_2_5, announces_unbounded=True)
"""The behaviour of lynx-agent 2.11; compressors and obligations are arguments of its runs."""
