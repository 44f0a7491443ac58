"""The documents of calls that hooks of coding agents ask approvals for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bobcat.stores.protocol import DurableStore

CALL_KIND = "hook-call"
"""Kind of the documents with such calls: their consumed answers, their tool, their directory."""


async def workspace_of(store: DurableStore, run_id: str) -> str | None:
    """Return the directory in which the call of a hook was proposed; None for any other run."""
    call = await store.get(CALL_KIND, run_id)
    return None if call is None else str(call.body.get("workspace", ""))
