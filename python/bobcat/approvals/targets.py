"""What a tool call is aimed at: the name that a grant or an allowlist has for it."""

from __future__ import annotations

from collections.abc import Callable

from bobcat.errors import ActionBlocked
from bobcat.frozen import type_name
from bobcat.model import ActionRequest


def tool_name(request: ActionRequest) -> str:
    """The target of a call where nothing else is said: its tool."""
    return request.tool


def target_of(target: Callable[[ActionRequest], str], request: ActionRequest) -> str:
    """The target of a call. Raises `ActionBlocked` when it has none: what is aimed at nothing is on no list."""
    try:
        name: object = target(request)
    except (LookupError, TypeError, AttributeError) as error:
        raise ActionBlocked(f"the call of {request.tool!r} has no target: {type(error).__name__}", None) from error
    return checked(name)


def checked(target: object) -> str:
    """`target`, known to be one: exactly a `str`, whose comparison is nobody's own. Raises `ActionBlocked`."""
    if type(target) is not str or not target:
        got = repr(target) if type(target) is str else type_name(target)
        raise ActionBlocked(f"a target is a string that is not empty, got {got}", None)
    return target
