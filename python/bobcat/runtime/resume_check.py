"""Check that a resumed run has the task, tools, agent and principal that its journal was begun with.

A run that resumes with another one of these is a different run. It is refused, unless the caller allows the change by
name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

from bobcat.journal.index import JournalIndex
from bobcat.model.decision import Principal
from bobcat.model.run import ToolDef
from bobcat.text.json_text import json_text
from bobcat.tools.schema import tooldef_to_json_schema
from bobcat.tools.toolset import ToolSet

BOUND = ("task", "tools", "agent", "principal", "extra")
"""The names that `allow_changed` accepts."""
USER_TASK = "user_task"
"""The user's own words, compared as part of `task`."""
PROVIDER = "provider"
"""Placeholder for a digest when a provider supplies the facts of each step."""
_DIGEST = "__bobcat_digest__"
_DIGITS = 32

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
    bound = {
        "task": _digest(task),
        "tools": {name: _tool_digest(tool) for name, tool in sorted(tools.tools.items())},
        "agent": agent_identity(agent),
        "principal": f"{principal.kind}:{principal.id}",
    }
    if extra:
        bound["extra"] = _digest(extra) if isinstance(extra, Mapping) else PROVIDER
    if user_task is not None:
        bound[USER_TASK] = _digest(user_task)
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
        known = {} if journal.task is None else {"task": _digest(journal.task)}
    if "task" not in allowed and USER_TASK in known and known[USER_TASK] != current.get(USER_TASK):
        return _refusal("task", "another task of the user")
    for name in BOUND:
        if name in allowed or known.get(name) == current.get(name):
            continue
        if name not in known and name != "extra":  # a journal without facts was begun without them
            continue
        return _refusal(name, _difference(name, known.get(name), current.get(name)))
    return None


def _refusal(name: str, difference: str) -> str:
    return f"the run was begun with {difference}; if that is meant, pass allow_changed=({name!r},)"


def _difference(name: str, known: object, current: object) -> str:
    if name == "task":
        return "another task"
    if name == "extra":
        return "other facts (extra)"
    if name == "tools" and isinstance(known, Mapping) and isinstance(current, Mapping):
        changed = sorted(tool for tool in {*known, *current} if known.get(tool) != current.get(tool))
        return f"other tools: {', '.join(f'`{tool}`' for tool in changed)}"
    return f"{name} `{known}`, not `{current}`"


def _tool_digest(tool: ToolDef) -> str:
    """Digest of the name, the arguments, the effect, and the definition of an externally defined tool.

    PERF: building a schema takes 50 µs, so the digest is cached on the function.
    """
    effect, defined = tool.metadata.effect, tool.definition
    cached = getattr(tool.fn, "__dict__", {}).get(_DIGEST)
    if isinstance(cached, tuple) and cached[:4] == (tool.fn, tool.name, effect, defined):
        return str(cached[4])
    try:
        schema: object = tooldef_to_json_schema(tool)
    except Exception:  # an annotation can be any object
        schema = None
    digest = _digest([tool.name, effect, schema, *([defined] if defined else [])])
    try:
        setattr(tool.fn, _DIGEST, (tool.fn, tool.name, effect, defined, digest))
    except (AttributeError, TypeError):  # some callables take no attributes
        return digest
    return digest


def _digest(value: object) -> str:
    return sha256(json_text(value).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
