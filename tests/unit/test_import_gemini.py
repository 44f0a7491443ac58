"""Imported permissions of Gemini CLI, beside an independent small reading of them: the policy is never looser."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import Request
from bobcat.cli.importers.gemini import import_gemini
from bobcat.cli.importers.model import ImportFailed
from unit.imported_policies import ORDER, commands, compiled, prefixes, verdict, worst

REGEXES = ("git (push|status)", "rm", "npm run [a-z]+", "git push$", "^rm", "ls|rm", ".*push")
gemini_rules = st.lists(
    st.fixed_dictionaries(
        {"decision": st.sampled_from(["allow", "deny", "ask_user"]), "priority": st.integers(0, 3)},
        optional={
            "shell": st.one_of(
                st.builds(lambda prefix: {"commandPrefix": " ".join(prefix)}, prefixes),
                st.builds(lambda text: {"commandRegex": text}, st.sampled_from(REGEXES)),
                st.just({"toolName": "run_shell_command"}),
                st.just({"toolName": "*"}),
                st.just({"toolName": "other"}),
                st.just({"toolName": "*", "argsPattern": "push"}),
            ),
            "modes": st.sampled_from([["default"], ["yolo"]]),
            "interactive": st.booleans(),
        },
    ),
    max_size=4,
)


def gemini_decides(rules: list[dict[str, Any]], tool: str, command: str, mode: str, interactive: bool) -> str:
    """The first matching rule in the order of priorities, for each simple command; the strictest one counts."""
    said = {"allow": "allow", "deny": "deny", "ask_user": "approve_required"}
    ordered = sorted(rules, key=lambda rule: -rule["priority"])

    def one(text: str) -> str:
        arguments = json.dumps({"command": text, "description": "x"}, separators=(",", ":"))
        for rule in ordered:
            shell = rule.get("shell", {})
            name = shell.get(
                "toolName", "run_shell_command" if "commandPrefix" in shell or "commandRegex" in shell else "*"
            )
            if (
                name not in ("*", tool)
                or mode not in rule.get("modes", [mode])
                or rule.get("interactive", interactive) != interactive
            ):
                continue
            if "commandPrefix" in shell:
                pattern = re.escape(f'"command":"{shell["commandPrefix"]}') + r'(?:[\s"]|\\")'
            elif "commandRegex" in shell:
                pattern = f'"command":"{shell["commandRegex"]}'
            else:
                pattern = shell.get("argsPattern", "")
            if re.search(pattern, arguments):
                return said[rule["decision"]]
        return "approve_required"

    if tool != "run_shell_command":
        return one(command)
    parts = [part.strip() for part in re.split(r"&&|\|\||[;|\n&]", command) if part.strip()]
    return worst([one(command), *map(one, parts)]) if len(parts) > 1 else one(command)


@settings(deadline=None)
@given(
    rules=gemini_rules,
    tool=st.sampled_from(["run_shell_command", "other"]),
    command=commands,
    mode=st.sampled_from(["default", "yolo"]),
    interactive=st.booleans(),
)
def test_gemini_rules_are_never_looser(
    rules: list[dict[str, Any]], tool: str, command: str, mode: str, interactive: bool
) -> None:
    got = verdict(
        compiled(import_gemini([("x.toml", gemini_text(rules))])), tool, {"command": command, "description": "x"}
    )
    wanted = gemini_decides(rules, tool, command, mode, interactive)
    assert ORDER[got] <= ORDER[wanted], (got, wanted)


def gemini_text(rules: list[dict[str, Any]]) -> str:
    def value(item: Any) -> str:
        return json.dumps(item)

    tables = [{**{k: v for k, v in rule.items() if k != "shell"}, **rule.get("shell", {})} for rule in rules]
    return "\n".join(
        "[[rule]]\n" + "\n".join(f"{key} = {value(item)}" for key, item in table.items()) for table in tables
    )


def test_gemini_forms_of_rules() -> None:
    text = """
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git status", "ls"]
decision = "allow"
priority = 100

[[rule]]
commandPrefix = "git push"
decision = "deny"
priority = 200
denyMessage = "not from here"

[[rule]]
toolName = ["write_file", "replace"]
decision = "ask_user"
priority = 10

[[rule]]
mcpName = "jira"
toolName = "search"
decision = "allow"
priority = 5

[[rule]]
mcpName = "bad"
decision = "deny"
priority = 500

[[rule]]
toolName = "read_file"
argsPattern = '"file_path":".*secret'
decision = "deny"
priority = 50

[[rule]]
toolName = "glob"
decision = "allow"
priority = 1
modes = ["yolo"]

[[safety_checker]]
toolName = "x"
"""
    imported = import_gemini([("a.toml", text)])
    policy = compiled(imported)
    for tool, args, wanted in (
        ("run_shell_command", {"command": "git status -s"}, "allow"),
        ("run_shell_command", {"command": "ls"}, "allow"),
        ("run_shell_command", {"command": "ls && rm x"}, "approve_required"),
        ("run_shell_command", {"command": "git push"}, "deny"),
        ("run_shell_command", {"command": "ls; git push"}, "deny"),
        ("write_file", {}, "approve_required"),
        ("mcp_jira_search", {}, "allow"),
        ("mcp_jira_delete", {}, "approve_required"),
        ("mcp_bad_x", {}, "deny"),
        ("read_file", {"file_path": "a"}, "deny"),
        ("glob", {}, "approve_required"),
    ):
        assert verdict(policy, tool, args) == wanted, (tool, args)
    assert policy.evaluate(Request("run_shell_command", {"command": "git push"})).reason == "not from here"
    places = {note.place for note in imported.notes}
    assert {"a.toml:2", "a.toml:8", "a.toml:30", "a.toml:36"} <= places


@pytest.mark.parametrize(
    "text",
    [
        "[[rule]]\ndecision = 'maybe'",
        "[[rule]]\ndecision = 'deny'\npriority = 'x'",
        "[[rule]]\ndecision = 'deny'\nunknown = 1",
        "rule = 1",
        "[[rule]]\n",
        "[[rule]]\ndecision = 'deny'\ntoolName = 1",
        "[[rule]]\ndecision = 'deny'\npriority = 1000",
        "[[rule]]\ndecision = 'deny'\ncommandPrefix = []",
        "not toml",
        "[[rule]]\ndecision = 'deny'\nmcpName = ''",
    ],
)
def test_gemini_policies_that_are_not_valid_are_an_error(text: str) -> None:
    with pytest.raises(ImportFailed, match=r"^x\.toml:\d+: "):
        import_gemini([("x.toml", text)])
