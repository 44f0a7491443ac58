"""Fulfilment of obligations by the handlers of a program.

A handler that raises, and one that is missing, leaves its obligation unmet; `mediate` and the runs decide on the
consequence. A handler gets a copy of the arguments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias

from bobcat.aio.tasks import being_cancelled
from bobcat.lynx.v2_11.core.types import Obligation, ObligationOutcome
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext
from bobcat.model.frozen import thaw
from bobcat.runtime.mediator import with_args
from bobcat.text.json_text import format_exception

ObligationHandler: TypeAlias = Callable[[Obligation, ActionRequest, ExecutionContext], Awaitable[None]]
"""Handler of an obligation: it meets the obligation, or raises."""
ObligationRegistry: TypeAlias = Mapping[str, ObligationHandler]
"""Handlers by the id of the obligation."""
MISSING = "no handler registered for obligation"


def checked_registry(registry: object) -> ObligationRegistry | None:
    """Return the handlers. Raises `TypeError` unless they are a mapping of functions, or None."""
    if registry is None or (isinstance(registry, Mapping) and all(map(callable, registry.values()))):
        return registry
    given = type(registry).__name__
    raise TypeError(f"obligations must be a mapping of async functions by obligation, got {given}")


def obligations_of(decision: Decision) -> tuple[Obligation, ...]:
    """Return the obligations of a decision. Raises `TypeError` for malformed ones."""
    given: object = getattr(decision, "obligations", ())
    if isinstance(given, tuple | list) and all(isinstance(each, Obligation) for each in given):
        return tuple(given)
    raise TypeError("the obligations of a decision must be a tuple of Obligation")


def of_phase(obligations: Iterable[Obligation], phase: str) -> tuple[Obligation, ...]:
    """Return the obligations of a phase."""
    return tuple(each for each in obligations if each.phase == phase)


async def fulfil(
    obligations: Iterable[Obligation],
    request: ActionRequest,
    registry: ObligationRegistry | None,
    *,
    until_failure: bool = False,
) -> tuple[ObligationOutcome, ...]:
    """Call the handlers in order; with `until_failure`, up to the first that fails."""
    outcomes: list[ObligationOutcome] = []
    for each in obligations:
        error = await _error_of(each, request, registry)
        outcomes.append(ObligationOutcome(each.id, each.phase, error is None, error))
        if error is not None and until_failure:
            break
    return tuple(outcomes)


def unmet(outcomes: Iterable[ObligationOutcome]) -> str | None:
    """Return the error text of an action whose `pre` obligations were not all met, or None."""
    for each in outcomes:
        if not each.fulfilled:
            return f"denied: pre-obligation {each.id!r} unfulfilled" + (f": {each.error}" if each.error else "")
    return None


async def _error_of(obligation: Obligation, request: ActionRequest, registry: ObligationRegistry | None) -> str | None:
    handler: Any = None if registry is None else registry.get(obligation.id)  # Any: a program's own object
    if handler is None:
        return MISSING
    try:
        await handler(obligation, with_args(request, thaw(dict(request.args))), request.context)
    except asyncio.CancelledError as error:
        if being_cancelled():
            raise
        return format_exception(error)
    except (Exception, SystemExit) as error:
        return format_exception(error)
    return None
