"""Policies of Gemini CLI (TOML with `[[rule]]`): the rule with the highest priority decides."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bobcat.cli.importers.model import Decision, Imported, ImportedRule, ImportFailed, Note
from bobcat.cli.importers.shell_patterns import (
    NARROWED,
    WIDENED,
    is_plain,
    permitted_words,
    restricted_regex,
    restricted_words,
    safe_regex,
    shell_words,
    without_redirection,
)

Match = dict[str, Any]  # Any: JSON
Table = Mapping[str, Any]  # Any: TOML

SHELL = "run_shell_command"
_DECISIONS: Mapping[str, Decision] = {"allow": "allow", "ask_user": "approve_required", "deny": "deny"}
_HEAD = re.compile(r"^[ \t]*\[\[[ \t]*rule[ \t]*\]\]", re.MULTILINE)
_PLAIN_REGEX = re.compile(r"[A-Za-z0-9 _:=@/,.+*?()|\[\]-]+")
_CONDITIONS = ("subagent", "toolAnnotations", "interactive", "modes")
_MODES = {"default", "autoEdit", "plan", "yolo"}
_KNOWN = frozenset(
    (
        "toolName", "mcpName", "argsPattern", "commandPrefix", "commandRegex", "decision", "priority", "denyMessage",
        "deny_message", "allowRedirection", *_CONDITIONS,
    )
)  # fmt: skip
_ALIASES = {"grep_search": "search_file_content", "search_file_content": "grep_search"}


def import_gemini(sources: Sequence[tuple[str, str]]) -> Imported:
    """Import policy files, given as name and text. Raises `ImportFailed`."""
    rules: list[ImportedRule] = []
    notes: list[Note] = []
    for name, text in sources:
        for item in _read(name, text):
            (rules if isinstance(item, ImportedRule) else notes).append(item)  # type: ignore[arg-type]  # by its class
    rules.sort(key=lambda rule: -rule.priority)
    if any(rule.decision == "approve_required" for rule in rules):
        notes.append(Note("", "ask_user", "Gemini CLI's hook cannot ask: the call is denied, with the reason"))
    notes.append(Note("", "the built-in policies of Gemini CLI", "a call without a rule needs an approval"))
    return Imported(tuple(_denials_first(rules)), tuple(notes))


def _denials_first(rules: Sequence[ImportedRule]) -> list[ImportedRule]:
    """Move denials before the first question that is wider than its source: it would hide them."""
    first = next((at for at, rule in enumerate(rules) if rule.wider and rule.decision == "approve_required"), None)
    if first is None:
        return list(rules)
    later = rules[first:]
    denials = [
        ImportedRule(rule.decision, rule.match, rule.place, rule.source, rule.reason, rules[first].priority, rule.wider)
        for rule in later
        if rule.decision == "deny"
    ]
    return [*rules[:first], *denials, *(rule for rule in later if rule.decision != "deny")]


def _read(name: str, text: str) -> Iterator[ImportedRule | Note]:
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"line (\d+)", str(error))
        raise ImportFailed(f"{name}:{found[1] if found else 1}: not TOML: {error}") from error
    tables = document.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ImportFailed(f"{name}:1: `rule` is not a list of tables")
    lines = [text.count("\n", 0, found.start()) + 1 for found in _HEAD.finditer(text)]
    for key in document.keys() - {"rule"}:
        yield Note(f"{name}:1", key, "stays with Gemini CLI")
    for index, table in enumerate(tables):
        yield from _rule(table, f"{name}:{lines[index] if len(lines) == len(tables) else 1}")


def _rule(table: Table, place: str) -> Iterator[ImportedRule | Note]:
    unknown = table.keys() - _KNOWN
    if unknown:
        raise ImportFailed(f"{place}: the key `{min(unknown)}` is unknown: the rule cannot be imported")
    decision = _DECISIONS.get(str(table.get("decision")))
    priority = table.get("priority", 0)
    if decision is None or isinstance(priority, bool) or not isinstance(priority, int) or not 0 <= priority <= 999:
        raise ImportFailed(f"{place}: `decision` or `priority` is not valid")
    reason = table.get("denyMessage", table.get("deny_message"))
    source = _source(table)
    conditions = [key for key in _CONDITIONS if _restricts(table, key)]
    if conditions and decision == "allow":
        yield Note(place, source, f"left out: a policy does not know `{conditions[0]}`")
        return
    if conditions:
        yield Note(place, source, f"restricts also without `{conditions[0]}`, which a policy does not know")
    for match, effect, wider in _matches(table, decision, place):
        if effect is not None:
            yield Note(place, source, effect)
        if match is not None:
            wide = decision != "allow" and (wider or bool(conditions))
            text = reason if isinstance(reason, str) else None
            yield ImportedRule(decision, match, place, source, text, priority, wide)


def _restricts(table: Table, key: str) -> bool:
    if key == "modes":
        modes = table.get("modes")
        return bool(modes) and not (isinstance(modes, list) and _MODES.issubset(map(str, modes)))
    return key in table


_Found = tuple[Match | None, str | None, bool]


def _matches(table: Table, decision: Decision, place: str) -> Iterator[_Found]:
    """Yield the matches of a rule, each with a note and with true if it is wider than the rule."""
    tool = _tool(table, place)
    if "commandPrefix" in table:
        for prefix in _texts(table, "commandPrefix", place):
            yield _prefix(prefix, decision)
    elif "commandRegex" in table:
        yield _regex(_texts(table, "commandRegex", place)[0], decision)
    elif "argsPattern" in table:
        _texts(table, "argsPattern", place)
        if decision == "allow":
            yield None, "left out: a policy has no pattern for all arguments together", False
        else:
            yield tool, "restricts every call of the tool: a policy has no pattern for all arguments together", True
    elif decision == "allow" and table.get("toolName") == SHELL and table.get("allowRedirection") is not True:
        yield {**tool, **without_redirection()}, "allowed without redirections and substitutions", False
    elif decision == "allow" and table.get("allowRedirection") is not True and _may_be_shell(table):
        yield {**tool, "not": {"tool": SHELL}}, None, False
        yield {**tool, "all_of": [{"tool": SHELL}, without_redirection()]}, "commands without redirections", False
    else:
        ambiguous = decision == "allow" and "[^_]*" in str(tool)
        yield tool, "allowed for names without an underscore after the server's" if ambiguous else None, False


def _prefix(prefix: str, decision: Decision) -> _Found:
    if decision != "allow":
        return {"tool": SHELL, **restricted_words(shell_words(prefix) or [""])}, f"restricted {WIDENED}", True
    match = (
        permitted_words(shell_words(prefix)) if is_plain(prefix) and prefix == " ".join(shell_words(prefix)) else None
    )
    if match is None:
        return None, "left out: the command needs a shell", False
    return {"tool": SHELL, **match}, f"allowed {NARROWED}", False


def _regex(pattern: str, decision: Decision) -> _Found:
    plain = _PLAIN_REGEX.fullmatch(pattern) is not None and _compiles(pattern) and "(?" not in pattern
    if decision == "allow":
        if not plain:
            return None, "left out: this pattern may read the arguments as text", False
        return {"tool": SHELL, **safe_regex(pattern)}, f"allowed {NARROWED}", False
    if not plain or "|" in re.sub(r"\([^()]*\)", "", pattern):
        return {"tool": SHELL}, "restricts every command: this pattern may read the arguments as text", True
    return {"tool": SHELL, **restricted_regex(pattern)}, "restricted anywhere in the command", True


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _texts(table: Table, key: str, place: str) -> list[str]:
    value = table[key]
    found = [value] if isinstance(value, str) else value if isinstance(value, list) and key == "commandPrefix" else []
    if not found or not all(isinstance(text, str) and text for text in found):
        raise ImportFailed(f"{place}: `{key}` is not a text")
    return found


def _tool(table: Table, place: str) -> Match:
    """Return the match of the tools, without their arguments."""
    names, server = table.get("toolName", "*"), table.get("mcpName")
    listed = names if isinstance(names, list) else [names]
    if not listed or not all(isinstance(name, str) and name for name in listed):
        raise ImportFailed(f"{place}: `toolName` is not a name")
    if server is not None:
        if not isinstance(server, str) or not server:
            raise ImportFailed(f"{place}: `mcpName` is not a name")
        listed = [f"mcp_{server}_{name}" for name in listed]
    if "*" in listed:
        return {}
    plain = [name for name in listed if "*" not in name]
    if len(plain) == len(listed):
        wanted = [*plain, *(_ALIASES[name] for name in plain if name in _ALIASES and table.get("decision") != "allow")]
        return {"tool": wanted[0]} if len(wanted) == 1 else {"tool.in": wanted}
    # A permission leaves out tools with an underscore: another server may have them.
    rest = "[^_]*" if table.get("decision") == "allow" and listed != ["mcp_*"] else ".*"
    parts = [rest.join(map(re.escape, name.split("*"))) for name in listed]
    return {"tool.matches": f"(?s)^({'|'.join(parts)})$"}


def _may_be_shell(table: Table) -> bool:
    names = table.get("toolName", "*")
    listed = names if isinstance(names, list) else [names]
    return "mcpName" not in table and (SHELL in listed or "*" in listed)


def _source(table: Table) -> str:
    what = [f"{key}={table[key]}" for key in ("toolName", "mcpName", "commandPrefix", "commandRegex", "argsPattern")
            if key in table]  # fmt: skip
    return f"{table.get('decision')} {' '.join(what) or '*'}"
