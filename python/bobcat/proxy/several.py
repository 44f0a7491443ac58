"""Several servers behind one proxy: their lists in one, names with prefixes, and each request to its server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from bobcat._core import __version__
from bobcat.proxy.catalog import MAX_PAGES
from bobcat.proxy.link import Link
from bobcat.proxy.message import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    SERVER_ENDED,
    Id,
    Message,
    error,
    items,
    members,
    raw,
    result,
    strict,
)
from bobcat.proxy.notes import note
from bobcat.proxy.upstream import UpstreamError

CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"
_LISTS = {
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
_BY_URI = ("resources/read", "resources/subscribe", "resources/unsubscribe")


class Several:
    """The servers of one client. Requests of servers get ids of the proxy's own: two servers may choose the same."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = links
        self._places: dict[str, Link] = {}
        """The servers of resources, by URI or template."""
        self._requests: dict[Id, tuple[Link, Id]] = {}
        self._tokens: dict[Id, tuple[Link, Id]] = {}
        self._count = 0

    def by_prefix(self, name: object) -> Link | None:
        """The server of a tool or a prompt."""
        return next(
            (each for each in self._links if isinstance(name, str) and name.startswith(each.server.prefix)), None
        )

    async def answer(self, message: Message) -> Message:
        """The answer to a request other than `tools/call`. Raises `UpstreamError` and `MessageError`."""
        method, params = message.method or "", message.mapping("params")
        match method:
            case "initialize":
                return await self._initialized(message, params)
            case "ping":
                return result(message.id, {})
            case "logging/setLevel":
                for link in self._present():
                    await link.ask(method, params)
                return result(message.id, {})
            case "tools/list":
                tools = [entry for link in self._present() for entry in await link.catalog.refresh()]
                return result(message.id, {"tools": raw(tools)})
            case "prompts/get":
                return await self._named(message, params.get("name"))
            case "completion/complete":
                return await self._completed(message, params)
        if method in _LISTS:
            return result(message.id, {_LISTS[method][0]: raw(await self._listed(method))})
        if method in _BY_URI:
            return await self._found(message, params.get("uri"))
        return error(message.id, METHOD_NOT_FOUND, "Method not found")

    async def notify(self, message: Message) -> None:
        """Send a notification of the client to its server, or to all of them."""
        params = message.mapping("params")
        if message.method == CANCELLED:
            for link in self._links:
                if link.has_open(params.get("requestId")):
                    await link.send(message)
        elif message.method == PROGRESS:
            place = self._tokens.get(params.get("progressToken", ""))
            if place is not None:
                await place[0].send(message.replaced(params={**params, "progressToken": place[1]}))
        else:
            for link in self._present():
                await link.send(message)

    async def reply(self, message: Message) -> None:
        """Send the client's answer to the server that has asked."""
        place = None if message.id is None else self._requests.pop(message.id, None)
        if place is not None:
            await place[0].send(message.replaced(id=place[1]))

    def incoming(self, link: Link, message: Message) -> Message:
        """A request or notification of a server, as the client gets it."""
        params = message.mapping("params")
        if message.method == CANCELLED:
            place = (link, params.get("requestId"))
            known = next((id for id, each in self._requests.items() if each == place), "")
            return message.replaced(params={**params, "requestId": known})
        if message.id is None:
            return message
        self._count += 1
        id = f"{link.server.name}:{self._count}"
        self._requests[id] = (link, message.id)
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        if not isinstance(meta, dict) or not isinstance(token, (str, int)):
            return message.replaced(id=id)
        self._tokens[id] = (link, token)
        return message.replaced(id=id, params={**params, "_meta": {**meta, "progressToken": id}})

    def _present(self) -> list[Link]:
        return [link for link in self._links if link.gone is None]

    async def _initialized(self, message: Message, params: dict[str, Any]) -> Message:
        merged: dict[str, Any] = {}
        versions: list[str] = []
        instructions: list[str] = []
        answers = await asyncio.gather(*(link.ask("initialize", params) for link in self._links))
        for link, answer in zip(self._links, answers, strict=True):
            if not answer.has("result"):
                reason = answer.mapping("error").get("message", "")
                return error(message.id, SERVER_ENDED, f"the server `{link.server.name}` refused: {reason}")
            found = answer.mapping("result")
            versions.append(str(found.get("protocolVersion", "")))
            _merge(merged, found.get("capabilities") or {})
            if isinstance(found.get("instructions"), str):
                instructions.append(f"# {link.server.name}\n{found['instructions']}")
        about = {
            "protocolVersion": min(versions),
            "capabilities": merged,
            "serverInfo": {"name": "bobcat", "version": __version__},
        }
        return result(message.id, about | ({"instructions": "\n\n".join(instructions)} if instructions else {}))

    async def _listed(self, method: str) -> list[msgspec.Raw]:
        member, key = _LISTS[method]
        found: list[msgspec.Raw] = []
        for link in self._present():
            cursor: Any = None
            for _ in range(MAX_PAGES):
                answer = await link.ask(method, {} if cursor is None else {"cursor": cursor})
                if not answer.has("result"):
                    break
                found += [self._placed(link, entry, key) for entry in items(answer.parts("result").get(member))]
                cursor = answer.part("result", "nextCursor")
                if cursor is None:
                    break
            else:
                note(f"the server `{link.server.name}` answers `{method}` in more than {MAX_PAGES} pages")
        return found

    def _placed(self, link: Link, entry: msgspec.Raw, key: str) -> msgspec.Raw:
        parts = members(entry)
        name = strict(parts.get(key, raw("")))
        if key == "name":
            parts["name"] = raw(f"{link.server.prefix}{name}")
        else:
            self._places.setdefault(str(name), link)
        return raw(parts)

    async def _named(self, message: Message, name: object) -> Message:
        link = self.by_prefix(name)
        if link is None:
            return error(message.id, INVALID_PARAMS, f"Unknown prompt: {name}")
        parts = message.parts("params")
        parts["name"] = raw(str(name).removeprefix(link.server.prefix))
        return await link.request(message.replaced(params=raw(parts)))

    async def _completed(self, message: Message, params: dict[str, Any]) -> Message:
        ref = params.get("ref")
        if not isinstance(ref, dict):
            return error(message.id, INVALID_PARAMS, "`ref` must be an object")
        if ref.get("type") != "ref/prompt":
            return await self._found(message, ref.get("uri"))
        link = self.by_prefix(ref.get("name"))
        if link is None:
            return error(message.id, INVALID_PARAMS, f"Unknown prompt: {ref.get('name')}")
        name = str(ref["name"]).removeprefix(link.server.prefix)
        return await link.request(message.replaced(params={**params, "ref": {**ref, "name": name}}))

    async def _found(self, message: Message, uri: object) -> Message:
        """The answer of the server that has listed a resource, else of the first one that knows it."""
        known = self._places.get(uri) if isinstance(uri, str) else None
        answer = error(message.id, INVALID_PARAMS, f"Unknown resource: {uri}")
        for link in self._present() if known is None else [known]:
            try:
                answer = await link.request(message)
            except UpstreamError as problem:
                answer = error(message.id, SERVER_ENDED, str(problem))
            if answer.has("result"):
                return answer
        return answer


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    """Merge capabilities: those that one server has; of a flag, true if one has it."""
    for name, value in more.items():
        known = into.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            _merge(known, value)
        elif known is None or value is True:
            into[name] = value
