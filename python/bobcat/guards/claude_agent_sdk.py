"""Claude Agent SDK: hooks that put a `Guard` in front of every tool of Claude Code, its own ones included.

    options = guarded_options(ClaudeAgentOptions(mcp_servers={"shop": shop}), guard)
    async for message in query(prompt="Refund order 7", options=options):
        ...

The guard decides before the tool runs and records its result; Claude Code runs it. The hook's answer is the only
permission: where Claude Code does not call hooks, it refuses what needs a permission. Names of tools are those of
Claude Code: `Bash`, `Write`, `mcp__SERVER__TOOL`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from bobcat.guard import Guard, Outcome
from bobcat.guards.answers import ToolError, answer_text, in_callers_loop
from bobcat.model.run import ApprovalDecision, ApprovalRequest
from bobcat.text.json_text import json_text

try:
    from claude_agent_sdk import (
        ClaudeAgentOptions,
        HookMatcher,
        PermissionResultAllow,
        PermissionResultDeny,
        ToolPermissionContext,
    )
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this door needs `pip install 'bobcat[claude-agent-sdk]'`", name=error.name) from error

TIMEOUT_SECONDS = 3600.0
"""Time that Claude Code gives the guard for one call, approvals included. A call without an answer is blocked."""
_MODES = (None, "default", "dontAsk", "plan")
"""Permission modes in which Claude Code does not allow calls by itself."""
_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop")


def guarded_options(
    options: ClaudeAgentOptions, guard: Guard, *, approver: str = "", timeout_seconds: float = TIMEOUT_SECONDS
) -> ClaudeAgentOptions:
    """Return `options` with the guard in front of every tool.

    The guard's `on_approval` answers approvals. With `approver`, the `can_use_tool` of the options answers them in that
    name. Settings of files are not loaded unless `setting_sources` says so.

    Raises `ValueError` for options that would permit calls without the guard, or change them after the decision.
    """
    if not isinstance(guard, Guard):
        raise TypeError(f"guard must be a Guard, got {type(guard).__name__}")
    for reason in _openings(options):
        raise ValueError(reason)
    if approver and options.can_use_tool is None:
        raise ValueError("an approver needs `can_use_tool`, which answers in that name")
    door = _Door(guard, options.can_use_tool, approver)
    hooks = {event: list(matchers) for event, matchers in (options.hooks or {}).items()}
    for event in _EVENTS:
        block = "block" if event == "PreToolUse" else None
        matcher = HookMatcher(hooks=[door.on_event], timeout=timeout_seconds, on_failure=block)
        hooks.setdefault(event, []).insert(0, matcher)
    return replace(
        options,
        hooks=hooks,
        can_use_tool=door.can_use_tool if options.can_use_tool else None,
        env={**options.env, "CLAUDE_CODE_SIMPLE": ""},  # if set to 1, Claude Code calls no hooks
        setting_sources=[] if options.setting_sources is None else options.setting_sources,
    )


def _openings(options: ClaudeAgentOptions) -> list[str]:
    """The settings of options that would let calls pass the guard, or change after it."""
    found = []
    if options.allowed_tools:
        found.append(f"allowed_tools {options.allowed_tools} would permit calls without the guard: write a rule")
    modes = [options.permission_mode, *(each.permissionMode for each in (options.agents or {}).values())]
    found += [f"permission mode {mode!r} would permit calls without the guard" for mode in modes if mode not in _MODES]
    if options.permission_prompt_tool_name:
        found.append("permission_prompt_tool_name could change a call after the decision: use on_approval")
    if (options.hooks or {}).get("PreToolUse"):
        found.append("another PreToolUse hook could change a call after the decision")
    flags = {"bare", "dangerously-skip-permissions", "allow-dangerously-skip-permissions", "permission-mode"}
    found += [f"--{flag} would permit calls without the guard" for flag in sorted(flags & options.extra_args.keys())]
    if options.env.get("CLAUDE_CODE_SIMPLE"):
        found.append("CLAUDE_CODE_SIMPLE turns hooks off")
    if {"project", "local"} & set(options.setting_sources or ()):
        found.append("settings of a project can turn hooks off, and permit calls: leave `project` and `local` out")
    return found


@dataclass
class _Call:
    """A call between its two hooks. `permitted` has the effective arguments, `finished` the tool's result."""

    agent: str | None
    task: asyncio.Task[Outcome] | None = None
    permitted: asyncio.Future[dict[str, Any]] = field(default_factory=asyncio.Future)
    finished: asyncio.Future[Any] = field(default_factory=asyncio.Future)

    async def run(self, **args: Any) -> Any:
        """Let Claude Code run the tool; return its result."""
        self.permitted.set_result(args)
        return await self.finished


class _Door:
    """The hooks of one session, or of several."""

    def __init__(self, guard: Guard, can_use_tool: Any, approver: str) -> None:
        self._guard = guard
        self._can_use_tool = can_use_tool
        self._approver = approver
        self._calls: dict[tuple[str, str], _Call] = {}
        """Calls that have begun, by session and id."""

    async def on_event(self, event: Any, tool_use_id: str | None, _: Any) -> dict[str, Any]:
        """Answer a hook."""
        match event["hook_event_name"]:
            case "PreToolUse":
                return await self._decide(event)
            case "PostToolUse":
                await self._finish(event, result=event["tool_response"])
            case "PostToolUseFailure":
                await self._finish(event, error=ToolError(str(event["error"])))
            case _:
                await self._give_up(event)
        return {}

    async def _decide(self, event: Any) -> dict[str, Any]:
        place, given = (event["session_id"], event["tool_use_id"]), event["tool_input"]
        if place in self._calls:
            return _answer("deny", permissionDecisionReason="[invalid] a call of this id is running")
        call = self._calls[place] = _Call(event.get("agent_id"))
        handler = self._approve if self._approver else None
        run = in_callers_loop(call.run)
        call.task = asyncio.create_task(self._guard.submit(event["tool_name"], given, run=run, on_approval=handler))
        waiting: set[asyncio.Future[Any]] = {call.task, call.permitted}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:  # Claude Code waits no longer
            call.task.cancel()
            del self._calls[place]
            raise
        if not call.permitted.done():
            del self._calls[place]
            return _answer("deny", permissionDecisionReason=answer_text(call.task.result()))
        args = call.permitted.result()
        changed = {"updatedInput": args} if json_text(args) != json_text(given) else {}
        return _answer("allow", **changed)

    async def _finish(self, event: Any, *, result: object = None, error: ToolError | None = None) -> None:
        call = self._calls.pop((event["session_id"], event["tool_use_id"]), None)
        if call is None or call.task is None:
            return
        if json_text(event["tool_input"]) != json_text(call.permitted.result()):
            error = ToolError(f"the call was changed after the decision: {json_text(event['tool_input'])}")
        _settle(call, result, error)
        await call.task

    async def _give_up(self, event: Any) -> None:
        """End the calls of an agent that has ended. One without a result is uncertain: refused, or interrupted."""
        session, agent = event["session_id"], event.get("agent_id")
        for place, call in list(self._calls.items()):
            if place[0] == session and call.agent == agent and call.permitted.done() and call.task is not None:
                del self._calls[place]
                call.task.cancel()
                await asyncio.wait({call.task})

    async def _approve(self, request: ApprovalRequest, /) -> ApprovalDecision:
        action = request.request
        context = ToolPermissionContext(decision_reason=request.decision.reason or None)
        answer = await self._can_use_tool(action.tool, dict(action.args), context)
        if isinstance(answer, PermissionResultAllow):
            return ApprovalDecision(True, self._approver, args=answer.updated_input)
        return ApprovalDecision(False, self._approver, getattr(answer, "message", ""))

    async def can_use_tool(self, tool: str, args: dict[str, Any], context: Any) -> Any:
        """Answer a question of Claude Code: only a call that the guard has permitted may run, as it was permitted."""
        if not any(place[1] == context.tool_use_id and call.permitted.done() for place, call in self._calls.items()):
            return PermissionResultDeny(message="the guard has not decided this call: the hooks are off")
        answer = await self._can_use_tool(tool, args, context)
        if isinstance(answer, PermissionResultAllow) and answer.updated_input not in (None, args):
            return PermissionResultDeny(message="the arguments were changed after the decision of the guard")
        return answer


def _settle(call: _Call, result: object, error: ToolError | None) -> None:
    if call.finished.done():
        return
    if error is None:
        call.finished.set_result(result)
    else:
        call.finished.set_exception(error)


def _answer(decision: str, **more: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}}
