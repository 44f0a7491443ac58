"""`@tool` and `@shadow`, under lynx-agent's path. The definition is at `fn.__lynx_meta__`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

from bobcat import tools
from bobcat.errors import PolicyWarning
from bobcat.model.decision import ToolMetadata

__all__ = ["shadow", "tool"]

# Any: tools take and return what they like.
F = TypeVar("F", bound=Callable[..., Any])


def shadow(parent: Callable[..., Any]) -> Callable[[F], F]:
    """Mark the dry-run variant of a tool."""
    return tools.shadow(parent)


def tool(
    *,
    cost: Literal["low", "medium", "high"] = "low",
    reversible: bool = True,
    scope: Iterable[str] = (),
    blast_radius_hint: int | None = None,
    isolation: str | None = None,
    name: str | None = None,
    description: str | None = None,
) -> Callable[[F], F]:
    """Declare an async function as a tool. A string as `scope` is split into its letters, as in lynx-agent, with a
    warning.
    """
    return declared(cost, reversible, scope, blast_radius_hint, isolation, None, name, description)


def declared(
    cost: Literal["low", "medium", "high"],
    reversible: bool,
    scope: Iterable[str],
    blast_radius_hint: int | None,
    isolation: str | None,
    compress: str | None,
    name: str | None,
    description: str | None,
) -> Callable[[F], F]:
    """`tool` of every version."""
    if isinstance(scope, str):
        warnings.warn(f"scope={scope!r} is one scope per letter; write scope=({scope!r},)", PolicyWarning, stacklevel=3)
    metadata = ToolMetadata(cost, reversible, tuple(scope), blast_radius_hint, isolation=isolation, compress=compress)
    return tools.declare(metadata, name, description)
