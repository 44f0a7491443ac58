"""Agents with a client of an SDK: its options, and its end."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any

from bobcat.adapters.request_options import options, with_limits
from bobcat.adapters.tool_name_mapping import ToolNameMapping
from bobcat.aio.closing import Closing
from bobcat.tools.toolset import ToolSet


async def aclose(client: Any) -> None:  # Any: a client of whatever SDK and release
    """Await the client's `close()`, or its `aclose()` in SDKs that name it so."""
    await (getattr(client, "close", None) or client.aclose)()


PROMPT_TOKENS = 1_000
"""Most tokens of the instructions that a vendor itself puts before tools."""


def most_tokens(request: Mapping[str, Any]) -> int:  # Any: parameters of the API
    """Return an upper bound of the input tokens of a request: one for each byte of it as JSON."""
    return len(json.dumps(request, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")) + PROMPT_TOKENS


class ClientAgent(Closing):
    """An agent that asks a client of an SDK, and closes it when it is closed itself, unless the client was passed in.

    `_request` holds the parameters of every request, `_names` the tools' names on the wire.
    """

    def __init__(
        self,
        tools: ToolSet,
        make: Callable[[], Any],
        client: Any | None,  # Any: a client of whatever SDK and release
        reserved: Collection[str],
        extra: Mapping[str, Any] | None,  # Any: parameters of the API have any type
        *,
        timeout: float | None,
        retries: int | None,
        **sampling: float | None,
    ) -> None:
        self._request: dict[str, Any] = options(extra, reserved, **sampling)
        self._owns_client = client is None
        self._client = with_limits(make() if client is None else client, timeout=timeout, retries=retries)
        self._names = ToolNameMapping(tools.tools)

    @property
    def model(self) -> str:
        """The model that requests name."""
        return str(self._request["model"])

    @property
    def max_output_tokens(self) -> int | None:
        """The most tokens of a reply, for a ledger; None without a limit."""
        found = self._request.get("max_completion_tokens", self._request.get("max_tokens"))
        return found if type(found) is int else None

    async def aclose(self) -> None:
        """Close the client, if it is the agent's own."""
        if self._owns_client:
            await aclose(self._client)


def sdk(package: str, user: str) -> Any:  # Any: a module
    """The module of an SDK, which the extra of the same name installs. Raises `ImportError` that names the extra."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        name = package.partition(".")[0]
        raise ImportError(
            f"{user} requires the {name!r} package. Install with: pip install 'bobcat[{name}]'"
        ) from error
