"""The answer of a hook in the dialect of its host, straight from the protocols of the hosts.

An allow is no text, so that the host's own permissions still hold. Where a host cannot ask or cannot take a rewrite,
the answer is a deny that says so. The native hook does the same in `rust/hook/src/answer.rs`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from bobcat.cli.hooks.call import Call, HookError
from bobcat.cli.hooks.exact import MAX_INT_BITS
from bobcat.model.decision import Decision, Verdict

JsonObject = dict[str, Any]  # Any: JSON

_BLANK = frozenset(
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff\0"
)  # a reason of these alone counts as empty: hosts trim it, and some ignore a deny without a reason

_ASKS = {("claude-code", "tool"), ("cursor", "shell"), ("cursor", "mcp")}
_REPLACES = {("claude-code", "tool"), ("codex", "tool")}
_MERGES = {("gemini", "tool"), ("cursor", "tool"), ("copilot", "tool")}


Kind: TypeAlias = Literal["silence", "allow", "deny", "ask", "rewrite"]

_STATUSES: Mapping[Kind, str] = {
    "silence": "permitted",
    "allow": "permitted",
    "rewrite": "permitted",
    "deny": "denied",
    "ask": "asked",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that the host can carry out. `new` are arguments in place of those of the call."""

    kind: Kind
    reason: str = ""
    new: JsonObject | None = None

    @property
    def status(self) -> str:
        """The status of a call with this answer, in a decision log."""
        return _STATUSES[self.kind]


def answer(call: Call, decision: Decision, *, grant: bool) -> str:
    """Return the answer to `call`; empty if the host is to decide by its own permissions. Raises `HookError`."""
    return render(call, choose(call, decision, grant=grant), grant=grant)


def choose(call: Call, decision: Decision, *, grant: bool) -> Answer:
    """Choose the answer to `call`. Raises `HookError`."""
    reason = stated_reason(decision)
    problem = obligation_problem(decision, reason)
    if problem is not None:
        return Answer("deny", problem)
    new = None if decision.transform_args is None else _plain(decision.transform_args)
    if decision.verdict in (Verdict.TRANSFORM, Verdict.APPROVE_REQUIRED):
        problem = rewrite_problem(call, new, reason)
        if problem is not None:
            return Answer("deny", problem)
    match decision.verdict:
        case Verdict.ALLOW:
            return Answer("allow" if grant else "silence", reason)
        case Verdict.DENY:
            return Answer("deny", reason)
        case Verdict.DRY_RUN:
            return Answer("deny", f"dry run only ({reason}); the call would only be previewed")
        case Verdict.APPROVE_REQUIRED if (call.host, call.event) in _ASKS:
            return Answer("ask", reason, new)
        case Verdict.APPROVE_REQUIRED:
            return Answer("deny", f"approval required ({reason}); {call.host} cannot ask for it here")
        case Verdict.TRANSFORM:
            if new is None:
                raise HookError("the decision rewrites no arguments")
            return Answer("rewrite", reason, new)


def obligation_problem(decision: Decision, reason: str) -> str | None:
    """The reason why a hook refuses a permitted call: the effect depends on an obligation. None without one."""
    if decision.verdict is Verdict.DENY:
        return None
    name = next((each.name for each in decision.obligations if each.phase == "before"), None)
    return name and f"the obligation `{name}` must be performed before the call ({reason}); a hook cannot perform it"


def rewrite_problem(call: Call, new: Mapping[str, Any] | None, reason: str) -> str | None:
    """The reason why the host cannot run `call` with exactly the arguments `new`; None if it can."""
    door = (call.host, call.event)
    if new is None or door in _REPLACES:
        return None
    removes = any(key not in new for key in call.request.args)
    if door in _MERGES and not removes:
        return None
    return f"the arguments would be rewritten ({reason}); {call.host} cannot take this rewrite"


def render(call: Call, chosen: Answer, *, grant: bool) -> str:
    """Return the text of an answer in the dialect of its host; empty for silence. Raises `HookError`."""
    match chosen.kind:
        case "silence":
            return ""
        case "allow" if call.host == "codex":  # which takes an allow only along with new arguments
            return ""
        case "rewrite":
            assert chosen.new is not None
            return _dump(_rewrite(call, chosen.new, grant=grant))
        case "allow" | "deny" | "ask":
            return _dump(_answer(call, chosen))


def _answer(call: Call, chosen: Answer) -> JsonObject:
    decision, reason = chosen.kind, chosen.reason
    match call.host:
        case "claude-code" | "codex":
            output: JsonObject = {"permissionDecision": decision, "permissionDecisionReason": reason}
            return _pre_tool_use(output if chosen.new is None else {**output, "updatedInput": chosen.new})
        case "gemini":
            return {"decision": decision, "reason": reason}
        case "cursor":
            return {"permission": decision, "user_message": reason, "agent_message": reason}
        case "copilot":
            return {"permissionDecision": decision, "permissionDecisionReason": reason}


def _rewrite(call: Call, new: JsonObject, *, grant: bool) -> JsonObject:
    permission = {"permissionDecision": "allow"} if grant else {}
    match call.host:
        case "claude-code":
            return _pre_tool_use({**permission, "updatedInput": new})
        case "codex":  # takes new arguments only along with an allow
            return _pre_tool_use({"permissionDecision": "allow", "updatedInput": new})
        case "gemini":
            return {**({"decision": "allow"} if grant else {}), "hookSpecificOutput": {"tool_input": new}}
        case "cursor":
            return {"permission": "allow", "updated_input": new}
        case "copilot":
            return {**permission, "modifiedArgs": new}


def _pre_tool_use(output: JsonObject) -> JsonObject:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **output}}


def stated_reason(decision: Decision) -> str:
    """The reason of a decision; where it is blank, the verdict and the rule."""
    if _BLANK.issuperset(decision.reason):
        return f"{decision.verdict} by rule `{decision.matched_rules[-1]}`"
    return decision.reason


def _plain(value: Any) -> Any:  # Any: frozen JSON
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if type(value) is int and value.bit_length() > MAX_INT_BITS:
        raise HookError("the rewritten arguments have no exact JSON form")
    return value


def _dump(value: JsonObject) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except ValueError as error:  # an infinity or a lone surrogate
        raise HookError("the rewritten arguments have no exact JSON form") from error
    return text
