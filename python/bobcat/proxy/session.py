"""One client: its messages go to its servers, and theirs to it; `tools/call` and `tools/list` pass the gate."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from bobcat.proxy.approval import Elicitation
from bobcat.proxy.calls import Approvals, Ask, ToolGate, function_of
from bobcat.proxy.catalog import Rules
from bobcat.proxy.link import Link
from bobcat.proxy.message import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    SERVER_ENDED,
    Id,
    Message,
    MessageError,
    error,
    items,
    raw,
)
from bobcat.proxy.notes import note
from bobcat.proxy.rounds import CAPABILITIES, Rounds, envelope_of
from bobcat.proxy.several import Several
from bobcat.proxy.upstream import Server, UpstreamError
from bobcat.text.json_text import format_exception

CANCEL_SECONDS = 5.0
"""Seconds that a server has to answer a call that was cancelled."""
SETTLE_SECONDS = 0.5
"""Seconds for the answers to open requests, when the input or the server has ended."""
CANCELLED = "notifications/cancelled"

Deliver = Callable[[Message, "Id | None"], Awaitable[None]]
"""Sends a message to the client; the id is that of the client's request that it belongs to."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All that the sessions of a proxy share."""

    servers: tuple[Server, ...]
    rules: Rules
    gate: ToolGate
    approvals: Approvals = "auto"
    approver: str = ""


class Session:
    """One client and its servers. Every message of the client is handed to `receive`, in order.

    With one server that has no prefix, messages keep their bytes. Otherwise `Several` finds the server of each.
    """

    def __init__(self, settings: Settings, deliver: Deliver, ended: Callable[[str], None]) -> None:
        self._settings = settings
        self._deliver = deliver
        self._ended = ended
        self._links = [
            Link(server, settings.rules, function_of, self._from_server, self._server_ended)
            for server in settings.servers
        ]
        self._several = Several(self._links) if len(self._links) > 1 or settings.servers[0].prefix else None
        self._tasks: dict[Id, asyncio.Task[None]] = {}
        """The requests of the client that are being answered."""
        self._asked: dict[Id, asyncio.Future[Message]] = {}
        """The proxy's own requests to the client."""
        self._can_elicit = False
        self._rounds = Rounds(settings.approver)
        self._client = ""

    async def start(self) -> None:
        """Connect to the servers. Raises `UpstreamError`."""
        for link in self._links:
            await link.start()

    async def settle(self) -> None:
        """Wait for the requests in progress, for a short time."""
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=SETTLE_SECONDS)

    async def aclose(self) -> None:
        """End the requests in progress, and disconnect."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(link.aclose() for link in self._links))

    async def receive(self, message: Message) -> None:
        """Take in a message of the client."""
        try:
            if message.method is None:
                await self._answered(message)
            elif message.id is None:
                await self._notified(message)
            elif message.id in self._tasks:
                await self._deliver(error(message.id, INVALID_REQUEST, "the id is in use"), message.id)
            else:
                self._begin(message.id, self._answer(message))
                await asyncio.sleep(0)  # sent before the next message
        except (UpstreamError, MessageError) as problem:
            note(str(problem))

    # Messages of the client.

    def _begin(self, id: Id, work: Coroutine[Any, Any, Message]) -> None:
        async def answer() -> None:
            try:
                found = await work
            except UpstreamError as problem:
                found = error(id, SERVER_ENDED, str(problem))
            except MessageError as problem:
                found = error(id, INTERNAL_ERROR, f"the server's answer cannot be read: {problem}")
            except Exception as problem:
                note(f"a request could not be answered: {format_exception(problem)}")
                found = error(id, INTERNAL_ERROR, "the proxy could not answer")
            self._tasks.pop(id, None)
            await self._deliver(found, id)

        self._tasks[id] = task = asyncio.create_task(answer())
        task.add_done_callback(lambda _: self._tasks.pop(id, None) if self._tasks.get(id) is task else None)

    async def _answer(self, message: Message) -> Message:
        match message.method:
            case "tools/call":
                return await self._called(message)
            case "tools/list" if self._several is None:
                return await self._listed(self._links[0], message)
            case "initialize":
                self._introduced(message)
            case "server/discover" if self._several is not None or self._settings.servers[0].url:
                return error(message.id, METHOD_NOT_FOUND, "Method not found")  # then clients make the older handshake
        if self._several is not None:
            return await self._several.answer(message)
        return await self._links[0].request(message)

    async def _called(self, message: Message) -> Message:
        link = self._links[0]
        try:
            name = message.mapping("params").get("name")
        except MessageError as problem:
            return error(message.id, INVALID_PARAMS, str(problem))
        if self._several is not None:
            link = self._several.by_prefix(name) or link  # which knows no tool of the name
        return await self._settings.gate.answer(link, message, self._handler(message), self._client)

    async def _listed(self, link: Link, message: Message) -> Message:
        answer = await link.request(message)
        if not answer.has("result"):
            return answer
        shown, parts = link.catalog.page(answer), answer.parts("result")
        if len(shown) == len(items(parts.get("tools"))) and answer.is_unambiguous("result"):
            return answer
        parts["tools"] = raw(shown)
        return answer.replaced(result=parts)

    def _introduced(self, message: Message) -> None:
        params = message.mapping("params")
        self._can_elicit, client = _can_elicit(params.get("capabilities")), params.get("clientInfo")
        name = client.get("name") if isinstance(client, dict) else ""
        self._client = name if isinstance(name, str) else ""

    def _handler(self, message: Message) -> Ask:
        if self._settings.approvals not in ("auto", "elicit"):
            return None
        envelope = envelope_of(message.mapping("params"))
        if envelope:
            return self._rounds if _can_elicit(envelope[CAPABILITIES]) else None
        if not self._can_elicit:
            return None

        async def ask(method: str, params: dict[str, Any]) -> Message:
            return await self._ask_client(method, params, message.id)

        return Elicitation(ask, self._settings.approver)

    async def _notified(self, message: Message) -> None:
        if not str(message.method).startswith("notifications/"):  # a call without an id could be executed, too
            note(f"the client sent `{message.method}` without an id; it is dropped")
            return
        if message.method == CANCELLED:
            id = message.mapping("params").get("requestId")
            task = self._tasks.get(id) if isinstance(id, (str, int)) else None
            if task is None:
                return
            if not any(link.has_open(id) for link in self._links):  # an approval is open, or the tools are being listed
                task.cancel()
                return
            asyncio.get_running_loop().call_later(CANCEL_SECONDS, task.cancel)
        if self._several is not None:
            await self._several.notify(message)
        else:
            await self._links[0].send(message)

    async def _answered(self, message: Message) -> None:
        waiting = None if message.id is None else self._asked.get(message.id)
        if waiting is None and self._several is not None:
            await self._several.reply(message)
        elif waiting is None:
            await self._links[0].send(message)
        elif not waiting.done():
            waiting.set_result(message)

    async def _ask_client(self, method: str, params: dict[str, Any], related: Id | None) -> Message:
        id = f"bobcat-{uuid4().hex}"
        self._asked[id] = answer = asyncio.get_running_loop().create_future()
        try:
            await self._deliver(Message.of(id=id, method=method, params=params), related)
            found: Message = await answer
            return found
        except asyncio.CancelledError:
            params = {"requestId": id, "reason": "the approval is not needed any more"}
            await self._deliver(Message.of(method=CANCELLED, params=params), related)
            raise
        finally:
            del self._asked[id]

    # Messages of the server.

    async def _from_server(self, link: Link, message: Message, related: Id | None) -> None:
        await self._deliver(message if self._several is None else self._several.incoming(link, message), related)

    def _server_ended(self, _: Link, reason: str) -> None:
        note(reason)
        if all(link.gone is not None for link in self._links):
            self._ended(reason)


def _can_elicit(capabilities: object) -> bool:
    """Return true if a client shows forms to its user."""
    known = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(known, dict) and (not known or "form" in known)
