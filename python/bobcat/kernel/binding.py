"""What a journal is bound to: the task, the tools, the agent and the principal that a run was begun with.

A run that is resumed with another one of these is another run. It is refused, unless the caller says by name that the
change is meant.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

from bobcat.journal import JournalIndex
from bobcat.model import Principal, ToolDef
from bobcat.plain_json import json_text
from bobcat.tool_schema import tooldef_to_json_schema
from bobcat.tools import ToolSet

BOUND = ("task", "tools", "agent", "principal", "extra")
"""What `allow_changed` may name."""
PROVIDER = "provider"
"""In place of a digest: a provider gives the facts of each step."""
_DIGEST = "__bobcat_digest__"
_DIGITS = 32

Binding = Mapping[str, Any]  # Any: JSON


def binding_of(task: object, tools: ToolSet, agent: object, principal: Principal, extra: object = None) -> Binding:
    """What a run is bound to, as its journal keeps it. `extra` are the facts of the run, or their provider."""
    bound = {
        "task": _digest(task),
        "tools": {name: _tool_digest(tool) for name, tool in sorted(tools.tools.items())},
        "agent": agent_identity(agent),
        "principal": f"{principal.kind}:{principal.id}",
    }
    if extra:
        bound["extra"] = _digest(extra) if isinstance(extra, Mapping) else PROVIDER
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


def misfit(journal: JournalIndex, current: Binding, allowed: Collection[str]) -> str | None:
    """Why a journal does not go on with `current`; None when it does."""
    if not journal.records:
        return None
    known = journal.binding
    if known is None:  # written before journals were bound, or by lynx-agent: all that is known is the task
        known = {} if journal.task is None else {"task": _digest(journal.task)}
    for name in BOUND:
        if name in allowed or known.get(name) == current.get(name):
            continue
        if name not in known and name != "extra":  # a journal that does not speak of facts was begun without
            continue
        text = f"the run was begun with {_difference(name, known.get(name), current.get(name))}"
        return f"{text}; if that is meant, pass allow_changed=({name!r},)"
    return None


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
    """Of the name, the arguments and the effect, and the definition of a tool that somebody else defines.

    PERF: making a schema takes 50 µs, so it stays with the function.
    """
    effect, defined = tool.metadata.effect, tool.definition
    kept = getattr(tool.fn, "__dict__", {}).get(_DIGEST)
    if isinstance(kept, tuple) and kept[:4] == (tool.fn, tool.name, effect, defined):
        return str(kept[4])
    try:
        schema: object = tooldef_to_json_schema(tool)
    except Exception:  # an annotation can be any object
        schema = None
    made = _digest([tool.name, effect, schema, *([defined] if defined else [])])
    try:
        setattr(tool.fn, _DIGEST, (tool.fn, tool.name, effect, defined, made))
    except (AttributeError, TypeError):  # not everything that can be called can carry an attribute
        return made
    return made


def _digest(value: object) -> str:
    return sha256(json_text(value).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
