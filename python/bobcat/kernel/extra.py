"""The facts of a run, which rules read as `context.extra`: checked, frozen, and asked for where a provider gives them.

Called by `run_agent`, which is given a mapping for the whole run or a provider, and by the driver, which asks the
provider before each decision. A value comes out of here as plain JSON data, read-only, or it does not come out.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from math import isfinite
from typing import Any, TypeAlias

from bobcat.frozen import FrozenDict, FrozenList
from bobcat.model import ActionRequest

RESERVED = frozenset({"uncertain_retry"})
"""Names that the run itself sets."""
EXTRA_SECONDS = 30.0
"""Time that a provider has for an answer."""
MAX_DEPTH = 64
"""Containers nested deeper than this are refused."""
MAX_INTEGER_BITS = 13_000
"""Integers longer than this have no JSON text."""

# Any: JSON.
Facts: TypeAlias = Mapping[str, Any]
ExtraProvider: TypeAlias = Callable[[ActionRequest], Awaitable[Facts]]
"""Gives the facts for the decision on a proposed call. The request it gets has no facts yet."""
Extra: TypeAlias = Facts | ExtraProvider

NO_FACTS: Facts = FrozenDict()


def facts_of(extra: object) -> tuple[Facts, ExtraProvider | None]:
    """The facts of the whole run, and the provider of those of each step. Raises `TypeError` and `ValueError`."""
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
    raise TypeError("extra must be an async function of one argument, the request, or of none")


def _takes(function: Callable[..., object], *args: object) -> bool:
    """True when the function can be called with these arguments, as far as it says."""
    try:
        inspect.signature(function).bind(*args)
    except TypeError:
        return False
    except ValueError:  # it does not say
        return bool(args)
    return True


def checked_facts(facts: object) -> FrozenDict[str, Any]:
    """A frozen copy of `facts`, a mapping of JSON values. Raises `TypeError` and `ValueError`."""
    if not isinstance(facts, Mapping):
        raise TypeError(f"extra must be a mapping, got {type(facts).__name__}")
    frozen = _mapping(facts, "extra", 0)
    for name in sorted(RESERVED & frozen.keys()):
        raise ValueError(f"extra may not hold `{name}`: the run itself sets it")
    return frozen


async def ask_provider(provider: ExtraProvider, request: ActionRequest) -> FrozenDict[str, Any]:
    """The provider's answer, checked. Raises what the provider raises, `TypeError` and `ValueError`."""
    answer: object = provider(request)
    return checked_facts(await answer if isawaitable(answer) else answer)


def _mapping(value: Mapping[Any, Any], where: str, depth: int) -> FrozenDict[str, Any]:
    if depth >= MAX_DEPTH:
        raise ValueError(f"extra is nested deeper than {MAX_DEPTH} levels")
    found: dict[str, Any] = {}
    for key in value:
        if type(key) is not str:
            raise TypeError(f"the keys of `{where}` must be strings, got {type(key).__name__}")
        found[key] = _value(value[key], f"{where}.{key}", depth + 1)
    return FrozenDict(found)


def _value(value: Any, where: str, depth: int) -> Any:
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if kind is float:
        if not isfinite(value):
            raise ValueError(f"`{where}` is {value}, which JSON cannot hold")
        return value
    if kind is int:
        if value.bit_length() > MAX_INTEGER_BITS:
            raise ValueError(f"`{where}` is an integer of more than {MAX_INTEGER_BITS} bits")
        return value
    if isinstance(value, Mapping):
        return _mapping(value, where, depth)
    if isinstance(value, (list, tuple)):
        if depth >= MAX_DEPTH:
            raise ValueError(f"extra is nested deeper than {MAX_DEPTH} levels")
        return FrozenList(_value(item, where, depth + 1) for item in value)
    raise TypeError(f"`{where}` must be a JSON value, got {kind.__name__}")
