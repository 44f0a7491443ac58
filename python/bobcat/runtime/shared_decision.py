"""Decisions after what a run shares with others: with the journals of its session and scopes, one after the other.

Called by the driver. A permitted call is on record in each journal before anybody else decides after it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

import msgspec

from bobcat.journal.index import EFFECTFUL_VERDICTS
from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.runtime.commands import Decided
from bobcat.runtime.mediator import with_args
from bobcat.runtime.memory import call_key
from bobcat.runtime.shared_journal import SharedJournal
from bobcat.runtime.shared_memory import SharedMemory
from bobcat.runtime.uncertainty import UNCERTAIN, without_uncertainty
from bobcat.text.json_text import format_exception

MAX_ATTEMPTS = 100
"""Largest number of times that one call is decided because other processes were first."""
_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.001, 0.05

Decide = Callable[[ActionRequest], Decided]


async def decide_shared(
    memory: SharedMemory, request: ActionRequest, decide: Decide, *, reserves: bool = True
) -> Decided:
    """The decision on a call, which is on record if it is permitted. Without `reserves`, nothing is recorded.

    A journal that cannot be read or written denies.
    """
    name = memory.name(call_key(request.context.step_seq))
    certain = memory.certain
    if certain is not None and certain[0] == name and not UNCERTAIN.keys() & request.context.extra.keys():
        return Decided(certain[1])
    try:
        journals = memory.journals(request)
        async with AsyncExitStack() as held:
            for journal in journals:
                await held.enter_async_context(journal.lock)
            for attempt in range(MAX_ATTEMPTS):
                for journal in journals:
                    await journal.refresh("" if memory.keeps_earlier(name) or not reserves else name, memory.fence)
                memory.decides()
                shared = memory.share(request)
                decided = msgspec.structs.replace(decide(request), shared=shared)
                if not reserves or not permits(decided.decision):
                    return decided
                effective = _effective(request, decided.decision)
                if memory.keeps_earlier(name):
                    # The machine compares the decision with one without the marker, which must not see this call.
                    memory.certain = name, decide(without_uncertainty(request)).decision
                if await _reserve(memory, journals, effective, name):
                    return decided
                await asyncio.sleep(random.uniform(0, min(_PAUSE_SECONDS * 2**attempt, _LONGEST_PAUSE_SECONDS)))
        reason = "other processes decide after the same journals all the time"
    except (Exception, SystemExit) as error:
        reason = f"the shared memory cannot be used: {format_exception(error)}"
    return Decided(Decision(Verdict.DENY, reason, ("<default:evaluation_error>",)))


async def record_outcomes(journals: Sequence[SharedJournal]) -> None:
    """Record the outcomes that wait. Raises the exceptions of the store."""
    for journal in journals:
        async with journal.lock:
            await journal.refresh()


def permits(decision: Decision) -> bool:
    """Return true if the call may run after this decision, or after an approval."""
    return isinstance(decision.verdict, Verdict) and decision.verdict.value in EFFECTFUL_VERDICTS


def _effective(request: ActionRequest, decision: Decision) -> ActionRequest:
    return request if decision.transform_args is None else with_args(request, decision.transform_args)


async def _reserve(
    memory: SharedMemory, journals: Sequence[SharedJournal], request: ActionRequest, name: str
) -> bool:  # fmt: skip
    """Record a call in the journals that count it: in all of them, or in none."""
    taken: dict[SharedJournal, str] = {}
    try:
        for journal in journals:
            if journal.counts(request):
                key = await journal.reserve(request, name, memory.fence)
                if not key:
                    break
                taken[journal] = key
        else:
            memory.reserved(name, taken)
            taken = {}
            return True
    finally:
        for journal, key in taken.items():
            journal.take_back(name, key=key)
    return False
