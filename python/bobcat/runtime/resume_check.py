"""Check that a resumed run has the task, tools, agent and principal that its journal was begun with.

A run that resumes with another one of these is a different run. It is refused, unless the caller allows the change by
name. Of the tools only those count that the run has called, and a compatible change of them does not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from bobcat.journal.index import JournalIndex
from bobcat.model.decision import Principal
from bobcat.runtime.tool_shape import bound_tool, digest_of, is_compatible
from bobcat.tools.toolset import ToolSet

BOUND = ("task", "tools", "agent", "principal", "extra")
"""The names that `allow_changed` accepts."""
USER_TASK = "user_task"
"""The user's own words, compared as part of `task`."""
PROVIDER = "provider"
"""Placeholder for a digest when a provider supplies the facts of each step."""
APP_VERSION = "app"
"""The version of the app that made the attempt: a record, which is not compared."""
SHAPES = "shapes"
"""The shapes of the tools, by which a compatible change is recognised. Older journals have none."""

Binding = Mapping[str, Any]  # Any: JSON


def binding_of(
    task: object,
    tools: ToolSet,
    agent: object,
    principal: Principal,
    extra: object = None,
    user_task: str | None = None,
) -> Binding:
    """The binding of a run, as its journal keeps it. `extra` are the facts of the run, or their provider; `user_task`
    are the user's own words where the task has more than those.
    """
    bound_tools = {name: bound_tool(tool) for name, tool in sorted(tools.tools.items())}
    bound = {
        "task": digest_of(task),
        "tools": {name: tool.digest for name, tool in bound_tools.items()},
        SHAPES: {name: tool.shape for name, tool in bound_tools.items() if tool.shape is not None},
        "agent": agent_identity(agent),
        "principal": f"{principal.kind}:{principal.id}",
    }
    if extra:
        bound["extra"] = digest_of(extra) if isinstance(extra, Mapping) else PROVIDER
    if user_task is not None:
        bound[USER_TASK] = digest_of(user_task)
    return bound


def agent_identity(agent: object) -> str:
    """The agent's `identity` when it has one, else the name of its type."""
    identity = getattr(agent, "identity", None)
    return identity if isinstance(identity, str) and identity else type(agent).__qualname__


def check_allowed(names: Collection[str]) -> frozenset[str]:
    """The names of `allow_changed`, checked."""
    if isinstance(names, str):
        raise TypeError(f"allow_changed must be a collection of names, got the string {names!r}; write ({names!r},)")
    unknown = sorted(set(names) - set(BOUND))
    if unknown:
        raise ValueError(f"allow_changed names {unknown[0]!r}; it may name {', '.join(map(repr, BOUND))}")
    return frozenset(names)


def mismatch(journal: JournalIndex, current: Binding, allowed: Collection[str]) -> str | None:
    """Reason why the journal does not match `current`; None when it matches."""
    if not journal.records:
        return None
    known = journal.binding
    if known is None:  # a journal from lynx-agent or from before bindings: only the task is known
        known = {} if journal.task is None else {"task": digest_of(journal.task)}
    if "task" not in allowed and USER_TASK in known and known[USER_TASK] != current.get(USER_TASK):
        return _refusal("task", "another task of the user")
    for name in BOUND:
        if name in allowed or known.get(name) == current.get(name):
            continue
        if name not in known and name != "extra":  # a journal without facts was begun without them
            continue
        if name == "tools":
            changed = _changed_tools(journal, known, current)
            if not changed:
                continue
            return _refusal(name, f"other tools: {', '.join(f'`{tool}`' for tool in changed)}")
        return _refusal(name, _difference(name, known.get(name), current.get(name)))
    return None


def _changed_tools(journal: JournalIndex, known: Binding, current: Binding) -> list[str]:
    """The tools that the run has called, and that are gone or mean something else now.

    The others it has yet to call, and sees as they are now.
    """
    before, now = known["tools"], current["tools"]
    if not isinstance(before, Mapping):
        return sorted(now)
    called = {
        call["tool"] for body in journal.replies.values() for call in body.get("calls", (body,)) if "tool" in call
    }
    shapes, shapes_now = known.get(SHAPES, {}), current.get(SHAPES, {})
    return [
        name
        for name in sorted(called & before.keys())
        if before[name] != now.get(name) and not (name in now and is_compatible(shapes.get(name), shapes_now.get(name)))
    ]


def _refusal(name: str, difference: str) -> str:
    return f"the run was begun with {difference}; if that is meant, pass allow_changed=({name!r},)"


def _difference(name: str, known: object, current: object) -> str:
    if name == "task":
        return "another task"
    if name == "extra":
        return "other facts (extra)"
    return f"{name} `{known}`, not `{current}`"
