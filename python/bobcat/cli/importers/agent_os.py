"""Policies of the Agent OS kernel (`py-agent-kernel` 0.4): a list of permissions by action, resource and constraint.

Its resources are globs over the text of a target. The rules test the same text, and in addition what the text means: a
path in its normal form within the directory that the glob begins with, a URL of the scheme and host that it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from bobcat.cli.importers.agent_os_targets import TARGETS, NoTarget
from bobcat.cli.importers.fnmatch_patterns import EmptySet
from bobcat.cli.importers.model import Imported, ImportedRule, ImportFailed, Match, Note

_TOOLS = {
    "fs.read": "fs.read",
    "fs.write": "fs.write",
    "fs.delete": "fs.delete",
    "proc.exec": "proc.run",
    "net.http": "net.http",
    "mcp.call": "mcp.call",
}
_PARAMS: Mapping[str, Mapping[str, str]] = {
    "fs.write": {"content": "content"},
    "proc.exec": {"args": "argv", "timeout": "timeout_seconds"},
    "net.http": {"method": "method", "headers": "headers", "body": "body", "timeout": "timeout_seconds"},
    "mcp.call": {"arguments": "arguments"},
}
"""The arguments of the tools, by the parameters of the source."""
_KEYS = frozenset(("action", "resource", "constraint"))


def import_agent_os(sources: Sequence[tuple[str, str]]) -> Imported:
    """Import policy files, given as name and text. Raises `ImportFailed`."""
    rules: list[ImportedRule] = []
    notes: list[Note] = []
    for name, text in sources:
        for item in _read(name, text):
            if isinstance(item, ImportedRule):
                rules.append(item)
            else:
                notes.append(item)
    if any(rule.match["tool"] == "proc.run" for rule in rules):
        notes.append(Note("", "proc.exec", "is the tool `proc.run`, with `program` and `argv`"))
    return Imported(tuple(rules), tuple(notes), "deny")


def _read(name: str, text: str) -> Iterator[ImportedRule | Note]:
    try:
        data: Any = yaml.safe_load(text)  # Any: checked below
        root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise ImportFailed(f"{name}:{mark.line + 1 if mark else 1}: not YAML: {error}") from error
    if not isinstance(data, dict) or not isinstance(data.get("capabilities"), list):
        raise ImportFailed(f"{name}:1: a policy of the Agent OS kernel has a list `capabilities`")
    nodes = next(item for key, item in root.value if key.value == "capabilities").value
    for given, node in zip(data["capabilities"], nodes, strict=True):
        yield from _capability(given, f"{name}:{node.start_mark.line + 1}")


def _capability(given: Any, place: str) -> Iterator[ImportedRule | Note]:  # Any: from YAML
    if not isinstance(given, dict) or not isinstance(given.get("action"), str):
        raise ImportFailed(f"{place}: a capability has an `action` and a `resource`")
    action, resource, constraint = given["action"], given.get("resource"), given.get("constraint")
    if not isinstance(resource, str) or not isinstance(constraint, dict | None):
        raise ImportFailed(f"{place}: `resource` is a text, and `constraint` a mapping")
    source = f"{action} {resource}" + (f" {constraint}" if constraint else "")
    for key in given.keys() - _KEYS:
        yield Note(place, source, f"the key `{key}` has no effect")
    if action not in _TOOLS:
        yield Note(place, source, "left out: no provider has this action")
        return
    try:
        match, narrowed = TARGETS[action](resource)
        match |= _constraint(action, constraint or {})
    except (NoTarget, EmptySet) as problem:
        yield Note(place, source, f"left out: {problem}")
        return
    for effect in narrowed:
        yield Note(place, source, effect)
    yield ImportedRule("allow", {"tool": _TOOLS[action], **match}, place, source, f"{action} is permitted here")


def _constraint(action: str, constraint: Mapping[Any, Any]) -> Match:  # Any: from YAML
    match: Match = {}
    for name, value in constraint.items():
        argument = _PARAMS.get(action, {}).get(name)
        if argument is None:
            raise NoTarget(f"the tool has no argument for `{name}`")
        if not _is_exact(value):
            raise NoTarget(f"`{name}` is compared with a value that calls have in several forms")
        match[f"args.{argument}.eq"] = value
    return match


def _is_exact(value: Any) -> bool:  # Any: from YAML
    """Return true for a value that is equal in both languages: text, integers, and lists and mappings of texts."""
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and isinstance(item, str) for key, item in value.items())
    return isinstance(value, str) or type(value) is int
