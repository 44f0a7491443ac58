"""Obligations of decisions: their handlers, and what performing one gives.

`redact` and `tag` take effect where events and records are built (`bobcat.model.masking`); every other obligation needs
a handler. An obligation that is unknown or fails has an `error`; what follows from it, the step decides.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from bobcat.aio.tasks import being_cancelled
from bobcat.bundle import Policy
from bobcat.ir.visit import all_obligations
from bobcat.model.decision import ActionRequest, Decision, Obligation, Phase
from bobcat.model.frozen import thaw
from bobcat.model.masking import Paths
from bobcat.model.run import ActionResult
from bobcat.text.json_text import format_exception

SHOWN = ("redact", "tag")
"""Obligations without a handler: the events and records show their effect."""
OBLIGATION_SECONDS = 30.0
"""Longest time in seconds that a call waits for one handler."""
UNKNOWN_OBLIGATION: Final = "obligation_unknown"
FAILED_OBLIGATION: Final = "obligation_failed"
CODES = (UNKNOWN_OBLIGATION, FAILED_OBLIGATION)
"""Codes of a refused call: no handler performs the obligation, or its handler failed."""


class ObligationCall(msgspec.Struct, frozen=True):
    """The call that an obligation is about. `request` has the effective arguments.

    `result` is the outcome, after the effect; a call that was refused has one that is not ok. `run_id` and `step` name
    the call over resumes of its run; `run_id` is empty without a journal.
    """

    request: ActionRequest
    decision: Decision
    result: ActionResult | None = None
    run_id: str = ""

    @property
    def step(self) -> int:
        """The number of the step in its run."""
        return self.request.context.step_seq


ObligationHandler: TypeAlias = Callable[[Obligation, ObligationCall], Awaitable[object] | object]
"""Performs an obligation, and raises when it cannot. A function that is not async runs in a thread."""
Handlers: TypeAlias = Mapping[str, ObligationHandler]
NO_HANDLERS: Handlers = {}


class ObligationOutcome(msgspec.Struct, frozen=True):
    """Outcome of one obligation. `code` is empty for one that was performed."""

    name: str
    phase: Phase
    code: Literal["", "obligation_unknown", "obligation_failed"] = ""
    error: str = ""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The fields that have a value."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value}


def checked_handlers(handlers: object) -> Handlers:
    """The handlers by name. Raises `TypeError`, and `ValueError` for a name that takes no handler."""
    if handlers is None:
        return NO_HANDLERS
    if not isinstance(handlers, Mapping):
        kind = type(handlers).__name__
        raise TypeError(f"obligations must be a mapping of names to functions, got {kind}")
    for name, handler in handlers.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of an obligation is a string, not {name!r}")
        if name in (*SHOWN, "require_reason", "rate_limit"):
            raise ValueError(f"the obligation `{name}` is built in and takes no handler")
        if not callable(handler):
            raise TypeError(f"the handler of `{name}` must be a function, got {type(handler).__name__}")
    return dict(handlers)


def in_phase(obligations: Iterable[Obligation], phase: Phase | None) -> tuple[Obligation, ...]:
    """The obligations of a phase that a handler performs, in order; of both for None."""
    return tuple(each for each in obligations if each.name not in SHOWN and phase in (None, each.phase))


async def perform(handlers: Handlers, obligation: Obligation, call: ObligationCall) -> ObligationOutcome:
    """Perform one obligation. Every exception of its handler is an outcome, except a cancellation of the caller."""
    name, phase = obligation.name, obligation.phase
    handler = handlers.get(name)
    if handler is None:
        return ObligationOutcome(name, phase, UNKNOWN_OBLIGATION, "no handler performs it")
    given = Obligation(name, thaw(obligation.value), phase)
    try:
        if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__):
            await handler(given, call)  # type: ignore[misc]  # a coroutine function, as just checked
        else:
            found = await asyncio.to_thread(handler, given, call)
            if inspect.isawaitable(found):
                await found
    except asyncio.CancelledError as error:
        if being_cancelled():
            raise
        return ObligationOutcome(name, phase, FAILED_OBLIGATION, format_exception(error))
    except (Exception, SystemExit) as error:
        return ObligationOutcome(name, phase, FAILED_OBLIGATION, format_exception(error))
    return ObligationOutcome(name, phase)


def redacted_by(policy: Policy) -> Paths:
    """The paths that any rule of a policy redacts: what an event before the decision must not show."""
    if b'"name":"redact"' not in policy.ir_bytes:  # PERF: nearly every policy; the IR stays encoded
        return ()
    found: dict[tuple[str, ...], None] = {}
    for each in all_obligations(policy.ir.rules):
        if each.name == "redact":
            found.update(dict.fromkeys(tuple(path) for path in each.value))
    return tuple(found)


def refusal_of(outcome: ObligationOutcome) -> str:
    """The text of a call that is refused because of an obligation."""
    return f"denied: the obligation `{outcome.name}` was not performed: {outcome.error}"
