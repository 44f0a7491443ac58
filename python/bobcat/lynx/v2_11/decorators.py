"""`@tool` as lynx-agent 2.11 has it. Compressors are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from bobcat.lynx.decorators import F
from bobcat.lynx.decorators import tool as tool_of_2_5
from bobcat.lynx.v2_11.absent import refuse

__all__ = ["tool"]


def tool(
    *,
    cost: Literal["low", "medium", "high"] = "low",
    reversible: bool = True,
    scope: Iterable[str] = (),
    blast_radius_hint: int | None = None,
    isolation: str | None = None,
    compress: None = None,
    name: str | None = None,
    description: str | None = None,
) -> Callable[[F], F]:
    """Declare an async function as a tool."""
    refuse(compress=compress)
    return tool_of_2_5(
        cost=cost,
        reversible=reversible,
        scope=scope,
        blast_radius_hint=blast_radius_hint,
        isolation=isolation,
        name=name,
        description=description,
    )
