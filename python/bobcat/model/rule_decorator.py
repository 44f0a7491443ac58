"""`@rule`: the metadata of a Python rule.

    @rule(priority=10)
    def no_secrets(request, context): ...

The decorator returns the function itself. The compiler reads the mark, and `bobcat compile rules.py` takes every marked
function of a module; a function without a mark is a rule when it is passed to `compile_policy`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])  # Any: a rule of any signature; the compiler inspects it

MARK = "__bobcat_options__"


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """The priority of a rule, and its id where it differs from the function's name."""

    priority: int = 0
    id: str | None = None


@overload
def rule(fn: F, /) -> F: ...
@overload
def rule(*, priority: int = 0, id: str | None = None) -> Callable[[F], F]: ...
def rule(fn: F | None = None, /, *, priority: int = 0, id: str | None = None) -> F | Callable[[F], F]:
    """Mark a function as a rule. Raises TypeError for a priority or an id of another type."""
    if type(priority) is not int:
        raise TypeError(f"the priority of a rule is an integer, not `{priority!r}`")
    if id is not None and (not isinstance(id, str) or not id):
        raise TypeError(f"the id of a rule is a string, not `{id!r}`")

    def mark(marked: F) -> F:
        if not callable(marked):
            raise TypeError(f"a rule must be a function, not `{type(marked).__name__}`")
        setattr(marked, MARK, RuleOptions(priority, id))
        return marked

    return mark if fn is None else mark(fn)


def options_of(fn: object) -> RuleOptions | None:
    """The options that `@rule` set on a function; None for a function without it."""
    options = getattr(fn, MARK, None)
    return options if isinstance(options, RuleOptions) else None
