"""The tools of one server, as the proxy has listed them: which are shown, which may be called, by which definition."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from bobcat.adapters.mcp_pins_file import PinsFile, pin
from bobcat.bundle import Policy
from bobcat.bundle.current import PolicyHolder, current_policy
from bobcat.model.decision import Principal, ToolMetadata
from bobcat.model.frozen import FrozenDict
from bobcat.model.request import Request
from bobcat.model.run import ToolDef
from bobcat.proxy.message import Message, MessageError, items, members, raw, strict
from bobcat.proxy.notes import note
from bobcat.proxy.upstream import Server, UpstreamError
from bobcat.proxy.visibility import may_permit
from bobcat.text.display import safe_text
from bobcat.tools.schema import with_input_schema

MAX_PAGES = 100
"""Maximum number of pages in a server's list of tools."""

METADATA = ToolMetadata("medium", False, ("mcp:tool",))
"""The declaration of every tool: what a server says about the safety of its own tools is ignored."""

Function = Callable[..., Awaitable[Any]]  # Any: arguments and results of tools have any type
Ask = Callable[[str, "dict[str, Any]"], Awaitable[Message]]  # Any: JSON


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides about the tools of a server: the policy, the request's fixed parts, and the pins."""

    policy: Policy | PolicyHolder
    principal: Principal
    environment: str
    workspace: str
    pins: PinsFile | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A listed tool: its name at the server, its definition for the guard, and why it may not be called, if so."""

    name: str
    tool: ToolDef
    shown: bool
    problem: str | None


class Catalog:
    """The tools of one server. `ask` sends a request to it, `function` makes those of its tools."""

    def __init__(self, server: Server, rules: Rules, ask: Ask, function: Callable[[str], Function]) -> None:
        self._server = server
        self._rules = rules
        self._ask = ask
        self._function = function
        self._tools: dict[str, Listed] = {}
        self._fresh = False
        self._definitions: dict[str, ToolDef] = {}
        self._permitted: dict[str, bool] = {}
        """Tools that the policy could permit at all, by name."""
        self._permitted_by: Policy | None = None
        self._noted: set[str] = set()
        self._listing = asyncio.Lock()

    def expire(self) -> None:
        """Note that the server's tools may have changed."""
        self._fresh = False

    async def find(self, shown_name: str, envelope: Mapping[str, Any]) -> Listed | None:
        """The tool of a name that clients see. With pins, the server is asked for its definition at each call.

        `envelope` are the members of `_meta` that requests to the server must have.
        Raises `UpstreamError` or `MessageError` when the tools cannot be listed.
        """
        if not shown_name.startswith(self._server.prefix):
            return None
        name = shown_name.removeprefix(self._server.prefix)
        if self._rules.pins is not None or not self._fresh or name not in self._tools:
            await self.refresh(envelope)
        return self._tools.get(name)

    async def refresh(self, envelope: Mapping[str, Any] = FrozenDict()) -> list[msgspec.Raw]:
        """List all tools; return those that are shown, as clients see them."""
        meta = {"_meta": dict(envelope)} if envelope else {}
        async with self._listing:
            shown: list[msgspec.Raw] = []
            before, self._tools, cursor = self._tools, {}, None
            try:
                for _ in range(MAX_PAGES):
                    answer = await self._ask("tools/list", meta if cursor is None else {**meta, "cursor": cursor})
                    if not answer.has("result"):
                        break  # a server without tools
                    shown.extend(self.page(answer))
                    cursor = answer.part("result", "nextCursor")
                    if cursor is None:
                        break
                else:
                    raise UpstreamError(
                        f"the server `{self._server.name}` lists its tools in more than {MAX_PAGES} pages"
                    )
            except BaseException:
                self._tools = before
                raise
            self._fresh = True
            return shown

    def page(self, answer: Message) -> list[msgspec.Raw]:
        """Take in one page of tools; return those that are shown. Raises `MessageError`."""
        shown = []
        for entry in items(answer.parts("result").get("tools")):
            try:
                listed = self._listed(strict(entry))
            except (MessageError, ValueError, TypeError) as error:
                self._note(f"the server `{self._server.name}` lists a tool that cannot be used: {error}")
                continue
            self._tools[listed.name] = listed
            if listed.shown:
                shown.append(self._renamed(entry, listed))
        return shown

    def _listed(self, definition: Any) -> Listed:  # Any: JSON
        if not isinstance(definition, dict) or not isinstance(definition.get("name"), str):
            raise MessageError("a tool is an object with a `name`")
        schema = definition.get("inputSchema", {})
        if not isinstance(schema, dict):
            raise MessageError(f"the input schema of `{safe_text(definition['name'])}` is not an object")
        name = definition["name"]
        problem = None if self._rules.pins is None else self._rules.pins.problem(self._server.name, definition)
        if problem is not None:
            self._note(f"the server `{self._server.name}`: {problem}; the tool is hidden and its calls are refused")
        tool = self._definition(name, definition, schema)
        return Listed(name, tool, problem is None and self._is_permitted(tool.name), problem)

    def _definition(self, name: str, definition: dict[str, Any], schema: dict[str, Any]) -> ToolDef:
        digest = pin(definition)["digest"]
        known = self._definitions.get(name)
        if known is not None and known.definition == digest:
            return known  # PERF: its schema is compiled
        described = definition.get("description")
        self._definitions[name] = found = ToolDef(
            self._server.prefix + name,
            described if isinstance(described, str) else f"MCP tool: {name}",
            with_input_schema(self._function(name), schema),
            None,
            METADATA,
            definition=digest,
        )
        return found

    def _is_permitted(self, name: str) -> bool:
        rules, policy = self._rules, current_policy(self._rules.policy)
        if policy is not self._permitted_by:
            self._permitted_by = policy
            self._permitted.clear()
        found = self._permitted.get(name)
        if found is None:
            request = Request(
                name,
                principal=rules.principal,
                environment=rules.environment,
                workspace=rules.workspace,
                declared=METADATA,
            )
            found = self._permitted[name] = may_permit(policy, request)
        return found

    def _renamed(self, entry: msgspec.Raw, listed: Listed) -> msgspec.Raw:
        if not self._server.prefix:
            return entry
        return raw({**members(entry), "name": raw(listed.tool.name)})

    def _note(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            note(text)
