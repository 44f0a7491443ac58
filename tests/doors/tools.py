"""Tools of the case table, written once: plain functions that record what really ran, synchronous or async."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Tools:
    """Makes the functions; `ran` are the calls that reached them."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, dict[str, Any]]] = []

    def functions(self, *, is_async: bool) -> list[Callable[..., Any]]:
        """Return the tools as plain functions."""
        ran = self.ran

        def echo(text: str) -> str:
            """Echo a text."""
            ran.append(("echo", {"text": text}))
            return text

        def pay(amount: int) -> str:
            """Pay an amount."""
            ran.append(("pay", {"amount": amount}))
            return f"paid {amount}"

        def move(to: str) -> str:
            """Move to a place."""
            ran.append(("move", {"to": to}))
            return f"moved to {to}"

        def query(text: str) -> str:
            """Query a text."""
            ran.append(("query", {"text": text}))
            return text

        def delete(path: str) -> str:
            """Delete a path."""
            ran.append(("delete", {"path": path}))
            return f"deleted {path}"

        def weigh(amount: str) -> str:
            """Weigh an amount."""
            ran.append(("weigh", {"amount": amount}))
            return amount

        def greet(name: str = "you") -> str:
            """Greet a person."""
            ran.append(("greet", {"name": name}))
            return f"hello {name}"

        def broken() -> str:
            """Fail."""
            ran.append(("broken", {}))
            raise ValueError("broken pipe")

        found: list[Callable[..., Any]] = [echo, pay, move, query, delete, weigh, greet, broken]
        return [_async_form(each) for each in found] if is_async else found


def _async_form(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return call
