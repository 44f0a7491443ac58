"""Permissions of Claude Code (`permissions` in its settings): deny before ask before allow."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from bobcat.cli.importers.model import Decision, Imported, ImportedRule, ImportFailed, Note
from bobcat.cli.importers.path_patterns import PathRoots, permitted_path, plain_path, restricted_path, text_of
from bobcat.cli.importers.shell_patterns import (
    NARROWED,
    WIDENED,
    exactly,
    is_plain,
    permitted_wildcard,
    permitted_words,
    restricted_text,
    restricted_wildcard,
    restricted_words,
    shell_words,
    without_expansion,
)

Match = dict[str, Any]  # Any: JSON
_LISTS: Mapping[str, Decision] = {"deny": "deny", "ask": "approve_required", "allow": "allow"}
_RULE = re.compile(r"(?P<tool>[A-Za-z_*][A-Za-z0-9_.*-]*)(?:\((?P<spec>.*)\))?", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_DOMAIN = re.compile(r"(?:\*\.)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")

EDITS = {"Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
READS = {"Read": "file_path", "NotebookRead": "notebook_path", "Glob": "path", "Grep": "path", "LS": "path"}
"""The tools of a rule about paths, and the argument that holds the path."""
SEARCHES = ("Glob", "Grep", "LS")
"""Tools that read below a path, or the whole project without one; Claude Code leaves restricted files out."""
_MODES = {
    "acceptEdits": "edits need an approval as well",
    "plan": "the policy does not know the mode",
    "bypassPermissions": "calls without a rule need an approval",
    "auto": "calls without a rule need an approval",
}
_AGENT_TOOLS = ("Task", "Agent")


def import_claude(sources: Sequence[tuple[str, str, PathRoots]]) -> Imported:
    """Import settings files, given as name, text and the directories that their paths refer to.

    Raises `ImportFailed`.
    """
    rules: list[ImportedRule] = []
    notes: list[Note] = []
    default: Decision = "approve_required"
    for name, text, roots in sources:
        permissions = _permissions(name, text)
        for item in _Reader(name, text, roots).read(permissions):
            (rules if isinstance(item, ImportedRule) else notes).append(item)  # type: ignore[arg-type]  # by its class
        if permissions.get("defaultMode") == "dontAsk":
            default = "deny"
    order = list(_LISTS.values())
    rules.sort(key=lambda rule: order.index(rule.decision))
    notes.append(
        Note("", "reading in the project", "needs an approval or a rule; Claude Code reads there without asking")
    )
    return Imported((*_careful(rules),), tuple(notes), default)


def _careful(rules: Sequence[ImportedRule]) -> Iterator[ImportedRule]:
    """Narrow a permission of every command where commands are restricted, so that a variable cannot hide the words."""
    restricted = any(rule.decision != "allow" and "Bash" in str(rule.match.get("tool")) for rule in rules)
    for rule in rules:
        everything = rule.decision == "allow" and rule.match in ({"tool": "Bash"}, {})
        if restricted and everything:
            if rule.match == {}:
                yield ImportedRule("allow", {"not": {"tool": "Bash"}}, rule.place, rule.source)
            match = {"tool": "Bash", **without_expansion()}
            yield ImportedRule("allow", match, rule.place, rule.source)
        else:
            yield rule


def _permissions(name: str, text: str) -> Mapping[str, Any]:  # Any: JSON
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise ImportFailed(f"{name}:{line}: not JSON: {error}") from error
    permissions = settings.get("permissions", {}) if isinstance(settings, dict) else None
    if not isinstance(permissions, dict):
        raise ImportFailed(f"{name}:1: no object `permissions`")
    return permissions


class _Reader:
    def __init__(self, name: str, text: str, roots: PathRoots) -> None:
        self._name, self._roots = name, roots
        self._lines: dict[str, list[int]] = {}
        for found in _STRING.finditer(text):
            self._lines.setdefault(json.loads(found[0], strict=False), []).append(
                text.count("\n", 0, found.start()) + 1
            )

    def read(self, permissions: Mapping[str, Any]) -> Iterator[ImportedRule | Note]:  # Any: JSON
        for key, value in permissions.items():
            if key in _LISTS:
                if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
                    raise ImportFailed(f"{self._place(key)}: `permissions.{key}` is not a list of strings")
                for source in value:
                    yield from self._rule(_LISTS[key], source)
            elif key == "defaultMode":
                if value != "default" and value != "dontAsk":
                    yield Note(self._place(key), f"defaultMode {value}", _MODES.get(str(value), "unknown mode"))
            elif key == "additionalDirectories":
                yield Note(self._place(key), key, "the policy has no directories: reading there needs an approval")
            else:
                yield Note(self._place(key), key, "stays with Claude Code")

    def _place(self, text: str) -> str:
        lines = self._lines.get(text, [])
        return f"{self._name}:{lines.pop(0) if len(lines) > 1 else lines[0] if lines else 1}"

    def _rule(self, decision: Decision, source: str) -> Iterator[ImportedRule | Note]:
        place = self._place(source)
        found = _RULE.fullmatch(source.strip())
        if found is None:
            yield from self._unknown(decision, {}, place, source)
            return
        tool, spec = found["tool"], found["spec"]
        if spec is None or spec in ("", "*"):
            yield from self._whole_tool(decision, tool, place, source)
        elif tool == "Bash":
            yield from _bash(decision, spec, place, source)
        elif tool in EDITS or tool in READS:
            yield from self._path(decision, tool, spec, place, source)
        elif tool == "WebFetch" and spec.startswith("domain:") and _DOMAIN.fullmatch(spec.removeprefix("domain:")):
            yield from _domain(decision, spec.removeprefix("domain:"), place, source)
        elif tool in _AGENT_TOOLS and re.fullmatch("[A-Za-z0-9_-]+", spec):
            match = {"tool.in": list(_AGENT_TOOLS), "args.subagent_type.eq": spec}
            yield ImportedRule(decision, match, place, source)
        else:
            yield from self._unknown(decision, _tool(tool, decision), place, source)

    def _whole_tool(self, decision: Decision, tool: str, place: str, source: str) -> Iterator[ImportedRule | Note]:
        names = {tool, *(EDITS if tool == "Edit" else ()), *(READS if tool == "Read" else ())}
        if tool in _AGENT_TOOLS:
            names.update(_AGENT_TOOLS)
        if decision == "allow" and len(names) > 1 and tool not in _AGENT_TOOLS:
            names = {tool}  # a permission of one tool only
        match = {"tool.in": sorted(names)} if len(names) > 1 else _tool(tool, decision)
        yield ImportedRule(decision, match, place, source)

    def _unknown(self, decision: Decision, match: Match, place: str, source: str) -> Iterator[ImportedRule | Note]:
        if decision == "allow":
            yield Note(place, source, "left out: this form has no equal in a policy")
            return
        yield Note(place, source, "restricts every call of the tool: this form has no equal in a policy")
        yield ImportedRule(decision, match, place, source, wider=True)

    def _path(self, decision: Decision, tool: str, spec: str, place: str, source: str) -> Iterator[ImportedRule | Note]:
        reads = tool in READS
        if decision == "allow":
            pattern = permitted_path(spec, self._roots)
            if pattern is None:
                yield Note(place, source, "left out: this pattern of paths has no equal in a policy")
                return
            yield Note(place, source, "allowed for absolute paths without `..`; symbolic links are not followed")
            tools = {tool: READS[tool]} if reads else EDITS
            for name, argument in tools.items():
                yield ImportedRule("allow", {"tool": name, f"args.{argument}.matches": pattern}, place, source)
            return
        yield Note(
            place, source, "restricted by the text of the path, also in shell commands; searches need an approval"
        )
        pattern = restricted_path(spec, self._roots)
        for name, argument in {**EDITS, **(READS if reads else {})}.items():
            clauses = [{f"args.{argument}.matches": pattern}, {f"args.{argument}.matches": plain_path()}]
            yield ImportedRule(decision, {"tool": name, "any_of": clauses}, place, source, wider=True)
            if name in SEARCHES:
                yield ImportedRule("approve_required", {"tool": name}, place, source, wider=True)
        text = text_of(spec)
        if text:
            yield ImportedRule(decision, {"tool": "Bash", **restricted_text(text)}, place, source, wider=True)
        else:
            yield ImportedRule(decision, {"tool": "Bash"}, place, source, wider=True)


def _bash(decision: Decision, spec: str, place: str, source: str) -> Iterator[ImportedRule | Note]:
    prefix = spec.removesuffix(":*") if spec.endswith(":*") else None
    if prefix is None and spec.endswith(" *") and "*" not in spec[:-1]:
        prefix = spec[:-2]
    if decision == "allow":
        if prefix is not None and "*" not in prefix:
            match = permitted_words(shell_words(prefix)) if is_plain(prefix) else None
        elif "*" in spec:
            match = permitted_wildcard(spec.removesuffix(":*"))
        else:
            match = exactly(spec)
        if match is None:
            yield Note(place, source, "left out: the command needs a shell")
            return
        if prefix is not None or "*" in spec:
            yield Note(place, source, f"allowed {NARROWED}")
        yield ImportedRule("allow", {"tool": "Bash", **match}, place, source)
        return
    text = spec if prefix is None else prefix
    if not shell_words(text.replace("*", " ")):
        yield ImportedRule(decision, {"tool": "Bash"}, place, source)
        return
    yield Note(place, source, f"restricted {WIDENED}")
    match = restricted_wildcard(text) if "*" in text else restricted_words(shell_words(text))
    yield ImportedRule(decision, {"tool": "Bash", **match}, place, source, wider=True)


def _domain(decision: Decision, domain: str, place: str, source: str) -> Iterator[ImportedRule | Note]:
    host = re.escape(domain.removeprefix("*.").lower())
    if decision == "allow":
        sub = "([a-z0-9-]+[.])+" if domain.startswith("*.") else ""
        pattern = f"^https?://{sub}{host}(/[A-Za-z0-9_./=%+,~&?-]*)?$"
        yield Note(place, source, "allowed for plain addresses: no user, port or fragment")
        yield ImportedRule("allow", {"tool": "WebFetch", "args.url.matches": pattern}, place, source)
        return
    yield Note(place, source, "restricted for every address that holds the name, or is not plain ASCII")
    plain = "^https?://[A-Za-z0-9.-]+(:[0-9]+)?([/?#][!-~]*)?$"
    clauses = [{"args.url.matches": f"(?i){host}"}, {"not": {"args.url.matches": plain}}]
    yield ImportedRule(decision, {"tool": "WebFetch", "any_of": clauses}, place, source, wider=True)


def _tool(name: str, decision: Decision) -> Match:
    """Match the calls of a tool: `mcp__server` stands for all tools of the server, `*` for any characters.

    A permission leaves out tools with two underscores in their names: another server may have them.
    """
    if name == "*":
        return {}
    rest = "[^_]*(_[^_]+)*" if decision == "allow" and name != "mcp__*" else ".*"
    if "*" in name:
        return {"tool.matches": f"^{rest.join(map(re.escape, name.split('*')))}$"}
    if re.fullmatch(r"mcp__(?:(?!__).)+", name):
        return {"tool.matches": f"^{re.escape(name)}(__{rest})?$"}
    return {"tool": name}


def roots_of(path: PurePosixPath, home: PurePosixPath) -> PathRoots:
    """Return the directories that the paths in a settings file refer to."""
    place = path.parent
    project = place.parent if place.name == ".claude" else place
    return PathRoots(str(home), str(project))
