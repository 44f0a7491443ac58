"""The connection to a server: what every transport has in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from bobcat.proxy.message import Id, Message

Receive = Callable[[Message, "Id | None"], Awaitable[None]]
"""Called with each message of the server, and the request that it belongs to, where the transport says so."""
Ended = Callable[[str], None]
"""Called once with the reason when the server has ended by itself."""


class UpstreamError(Exception):
    """A server that cannot be started, cannot be reached or has ended."""


class Upstream(Protocol):
    """One connection."""

    async def start(self, receive: Receive, ended: Ended) -> None:
        """Connect. Raises `UpstreamError`."""

    async def send(self, message: Message) -> None:
        """Send a message. Raises `UpstreamError`."""

    async def aclose(self) -> None:
        """Disconnect, and end a server that was started."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server to connect to: a command with its arguments, or the URL of its streamable HTTP endpoint.

    `prefix` stands before the names of its tools and prompts. `env` is the environment of the command, by default that
    of the proxy.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    prefix: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] | None = field(default=None, repr=False)
