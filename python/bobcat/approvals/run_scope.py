"""The scope of running code: the run whose tool, policy rule or approver it is.

`run_agent` enters it, so that a tool can read it without a parameter; a program may enter a scope of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# A context variable, not module state: each task and each thread has its own value.
SCOPE: ContextVar[str | None] = ContextVar("bobcat_scope", default=None)


def current_scope() -> str | None:
    """The current scope; None outside every scope.

    In a run it is the run id, or the correlation id of a run without one. Code in another process has none.
    """
    return SCOPE.get()


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Run a block in the scope `name`.

    >>> with scope("order 7"):
    ...     current_scope()
    'order 7'
    """
    if not isinstance(name, str) or not name:
        raise ValueError("a scope must be a non-empty string")
    token = SCOPE.set(name)
    try:
        yield
    finally:
        SCOPE.reset(token)
