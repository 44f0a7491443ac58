"""Run facts, which rules read as `context.extra`: validated, frozen, and requested from a provider where there is one.

Called by `run_agent`, which takes a mapping for the whole run or a provider, and by the driver, which asks the provider
before each decision. Every value that leaves this module is read-only JSON data.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, TypeAlias

from bobcat.errors import ArgumentError
from bobcat.model.decision import ActionRequest
from bobcat.model.exact import exact_facts
from bobcat.model.frozen import FrozenDict

RESERVED = frozenset({"uncertain_retry"})
"""Names that the run itself sets."""
EXTRA_SECONDS = 30.0
"""Timeout of a provider's answer."""

# Any: JSON.
Facts: TypeAlias = Mapping[str, Any]
ExtraProvider: TypeAlias = Callable[[ActionRequest], Awaitable[Facts]]
"""Async function that returns the facts for the decision on a proposed call. Its request has no facts yet."""
Extra: TypeAlias = Facts | ExtraProvider

NO_FACTS: Facts = FrozenDict()


def facts_of(extra: object) -> tuple[Facts, ExtraProvider | None]:
    """Split `extra` into the facts of the whole run and the provider of each step's facts. Raises `TypeError` and
    `ValueError`.
    """
    if extra is None:
        return NO_FACTS, None
    if isinstance(extra, Mapping):
        return checked_facts(extra), None
    if not callable(extra) or isinstance(extra, type):
        raise TypeError(f"extra must be a mapping or an async function that returns one, got {type(extra).__name__}")
    if _takes(extra, NO_FACTS):
        return NO_FACTS, extra
    if _takes(extra):
        return NO_FACTS, lambda _: extra()
    raise TypeError("extra must be an async function with one argument, the request, or without arguments")


def _takes(function: Callable[..., object], *args: object) -> bool:
    """Return true if the function accepts these arguments, as far as its signature shows."""
    try:
        inspect.signature(function).bind(*args)
    except TypeError:
        return False
    except ValueError:  # it has no signature
        return bool(args)
    return True


def checked_facts(facts: object) -> FrozenDict[str, Any]:
    """A frozen copy of `facts`, a mapping of JSON values. Raises `TypeError` and `ValueError`."""
    if not isinstance(facts, Mapping):
        raise TypeError(f"extra must be a mapping, got {type(facts).__name__}")
    try:
        frozen = exact_facts(facts)
    except ArgumentError as error:
        kind = TypeError if error.code == "argument_type" else ValueError
        raise kind(str(error)) from None
    for name in sorted(RESERVED & frozen.keys()):
        raise ValueError(f"extra may not hold `{name}`: the run itself sets it")
    return frozen


async def ask_provider(provider: ExtraProvider, request: ActionRequest) -> FrozenDict[str, Any]:
    """The provider's validated answer. Raises the provider's exceptions, `TypeError` and `ValueError`."""
    answer: object = provider(request)
    return checked_facts(await answer if isawaitable(answer) else answer)
