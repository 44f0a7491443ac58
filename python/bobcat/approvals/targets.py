"""Targets of tool calls: the names that grants and allowlists use."""

from __future__ import annotations

from collections.abc import Callable

from bobcat.errors import ActionBlocked
from bobcat.model.decision import ActionRequest
from bobcat.model.frozen import type_name


def tool_name(request: ActionRequest) -> str:
    """The default target of a call: the name of its tool."""
    return request.tool


def target_of(target: Callable[[ActionRequest], str], request: ActionRequest) -> str:
    """The target of a call. Raises `ActionBlocked` when it has none, because no list can contain it."""
    try:
        name: object = target(request)
    except (LookupError, TypeError, AttributeError) as error:
        raise ActionBlocked(f"the call of {request.tool!r} has no target: {type(error).__name__}", None) from error
    return checked(name)


def checked(target: object) -> str:
    """Validate a target: exactly a `str`, so that its comparison cannot be overridden. Raises `ActionBlocked`."""
    if type(target) is not str or not target:
        got = repr(target) if type(target) is str else type_name(target)
        raise ActionBlocked(f"a target must be a non-empty string, got {got}", None)
    return target
