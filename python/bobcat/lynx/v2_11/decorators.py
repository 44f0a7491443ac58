"""`@tool` as lynx-agent 2.11 has it: with `compress`, the name that a compressor is selected by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from bobcat.lynx.decorators import F, declared

__all__ = ["tool"]


def tool(
    *,
    cost: Literal["low", "medium", "high"] = "low",
    reversible: bool = True,
    scope: Iterable[str] = (),
    blast_radius_hint: int | None = None,
    isolation: str | None = None,
    compress: str | None = None,
    name: str | None = None,
    description: str | None = None,
) -> Callable[[F], F]:
    """Declare an async function as a tool."""
    return declared(
        cost=cost,
        reversible=reversible,
        scope=scope,
        blast_radius_hint=blast_radius_hint,
        isolation=isolation,
        compress=compress,
        name=name,
        description=description,
    )
