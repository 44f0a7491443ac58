"""Agents with a client of an SDK: its options, what all read and send alike, and its end."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

from bobcat.adapters.content_parts import attachment_tokens
from bobcat.adapters.request_options import options, with_limits
from bobcat.adapters.stream_retries import repeated, retries_of
from bobcat.adapters.tool_name_mapping import ToolNameMapping
from bobcat.aio.closing import Closing
from bobcat.errors import IncompleteReply
from bobcat.model.deltas import Delta
from bobcat.model.run import FinalAnswer, Message, ToolCall, Usage
from bobcat.text.display import safe_text
from bobcat.tools.toolset import ToolSet

Step: TypeAlias = ToolCall | FinalAnswer | tuple[ToolCall, ...]


async def aclose(client: Any) -> None:  # Any: a client of whatever SDK and release
    """Await the client's `close()`, or its `aclose()` in SDKs that name it so."""
    await (getattr(client, "close", None) or client.aclose)()


PROMPT_TOKENS = 1_000
"""Most tokens of the instructions that a vendor itself puts before tools."""


def most_tokens(request: Mapping[str, Any]) -> int:  # Any: parameters of the API
    """Return an upper bound of the input tokens of a request: one for each byte of it as JSON."""
    return len(json.dumps(request, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")) + PROMPT_TOKENS


class ReadCall(NamedTuple):
    """A call as a reply has it: the tool's name on the wire, and the problem of arguments that cannot be read."""

    name: str
    args: dict[str, Any]  # Any: JSON
    call_id: str
    problem: str | None


def unmediated(tool: object) -> IncompleteReply:
    """The error of a reply with a tool that the provider ran by itself."""
    name = safe_text(str(tool))
    return IncompleteReply(f"the provider ran tool `{name}` by itself; no policy has seen the call", "unmediated_tool")


def cut_short(reason: object) -> IncompleteReply:
    """The error of an answer that ended early."""
    return IncompleteReply(f"the model stopped before its answer was complete ({reason})", "reply_cut_off")


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

    async def stream(self, conversation: Sequence[Message]) -> AsyncIterator[Delta | Step]:
        """The deltas of the model's next step, then the step. Raises what `step` raises."""
        async for item in repeated(lambda: self._stream(conversation), retries_of(self._client)):
            yield item

    @abstractmethod
    def _stream(self, conversation: Sequence[Message]) -> AsyncIterator[Delta | Step]:
        """The items of `stream`, without a repetition."""

    @abstractmethod
    def _asked(self, conversation: Sequence[Message]) -> dict[str, Any]:
        """The parameters of the next request."""

    def count_tokens(self, conversation: Sequence[Message]) -> int:
        """Return an upper bound of the input tokens of the next request, for a ledger."""
        return most_tokens(self._asked(conversation)) + attachment_tokens(conversation)

    def _calls(
        self, calls: Sequence[ReadCall], usage: Usage | None, text: str, data: Mapping[str, Any] | None
    ) -> ToolCall | tuple[ToolCall, ...]:
        """The step of a reply with calls. The first call has what is the reply's: usage, text and provider data."""
        first, *rest = (ToolCall(self._names.to_tool(name), args, id, None, "", why) for name, args, id, why in calls)
        first = replace(first, usage=usage, text=text, provider_data=data or None)
        return (first, *rest) if rest else first

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
