"""`serve_mcp_proxy`, on the proxy of `bobcat proxy`: messages keep their bytes, and calls pass a `GovernedProxy`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence

from bobcat.approvals import ApprovalHandler
from bobcat.bundle import Policy
from bobcat.errors import McpServerError
from bobcat.lynx.v2_11.governing import value_text
from bobcat.lynx.v2_11.proxy.governed import (
    CLIENT,
    GovernedProxy,
    GovernResult,
    default_classify,
    govern_tool,
    proxied_tool,
)
from bobcat.model.decision import Principal, ToolMetadata
from bobcat.proxy.calls import Ask, Sending, called
from bobcat.proxy.catalog import Rules
from bobcat.proxy.link import Link
from bobcat.proxy.message import INVALID_PARAMS, Message, MessageError, error, result
from bobcat.proxy.rounds import envelope_of
from bobcat.proxy.session import Settings
from bobcat.proxy.stdio_front import serve_stdio
from bobcat.proxy.upstream import Server, UpstreamError
from bobcat.sinks import AnySink
from bobcat.tools.toolset import ToolSet

_INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""Variables that a server gets of the environment: those that a client of the SDK passes on."""


async def serve_mcp_proxy(
    upstream_command: str | list[str],
    *,
    policy: Policy,
    sinks: Sequence[AnySink] = (),
    on_approval: ApprovalHandler | None = None,
    classify: Callable[[str], ToolMetadata] = default_classify,
    principal: Principal = CLIENT,
    environment: str = "dev",
    workspace: str = ".",
    server_name: str = "lynx-mcp-proxy",
) -> None:
    """Serve MCP on standard input and output, in front of the server that a command starts, until the input ends.

    Every call of a tool is decided by `policy`. The command is a list, or a string that is split as a shell would.
    `server_name` names the server in messages on stderr. Raises `ValueError` for an empty command, `McpServerError` for
    a server that cannot be started or ends by itself.
    """
    words = shlex.split(upstream_command) if isinstance(upstream_command, str) else list(upstream_command)
    if not words:
        kind = "string" if isinstance(upstream_command, str) else "list"
        raise ValueError(f"serve_mcp_proxy: command {kind} cannot be empty")
    proxy = GovernedProxy(
        policy=policy, tools=ToolSet(), sinks=sinks, on_approval=on_approval, principal=principal,
        environment=environment, workspace=workspace,
    )  # fmt: skip
    env = tuple((name, os.environ[name]) for name in _INHERITED if name in os.environ)
    server = Server(server_name, tuple(words), env=env)
    rules = Rules(policy, principal, environment, workspace)
    try:
        code = await serve_stdio(Settings((server,), rules, _Gate(proxy, classify), approvals="deny"))
    except UpstreamError as problem:
        raise McpServerError(str(problem)) from problem
    if code != 0:
        raise McpServerError(f"the connection to the server `{words[0]}` or to the client has ended")


class _Gate:
    """Answers each `tools/call`: with the server's answer, or with a reason instead of one."""

    def __init__(self, proxy: GovernedProxy, classify: Callable[[str], ToolMetadata]) -> None:
        self._proxy = proxy
        self._classify = classify

    async def answer(self, link: Link, message: Message, ask: Ask, client: str) -> Message:
        """Govern one call; the program, not the client's user, answers approvals."""
        try:
            name, args, params = called(message)
        except MessageError as problem:
            return error(message.id, INVALID_PARAMS, str(problem))
        sending, tool = None, None
        try:
            listed = await link.catalog.find(name, envelope_of(params))
        except (UpstreamError, MessageError):  # then the tool is unknown
            listed = None
        if listed is not None and listed.problem is None:
            sending = Sending(link, listed, message, args)
            sending.begin()
            tool = proxied_tool(name, sending.tool.fn, self._classify(name))
        governed = await govern_tool(self._proxy, tool, name, args)
        if sending is not None and sending.answer is not None:
            return sending.answer
        content = [{"type": "text", "text": _text(governed)}]
        return result(message.id, {"content": content, "isError": not governed.result.ok})


def _text(governed: GovernResult) -> str:
    """The text of a call that was not sent, or got no answer."""
    found = governed.result
    if found.ok:
        return value_text(found.value)
    reason = found.error or "no reason given"
    denied = governed.verdict == "deny" or reason.startswith("denied")
    return f"[lynx denied] {reason}" if denied else f"[lynx error] {reason}"
