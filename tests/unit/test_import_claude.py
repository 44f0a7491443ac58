"""Imported permissions of Claude Code, beside an independent small reading of them: the policy is never looser."""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat.cli.importers.claude import import_claude, roots_of
from bobcat.cli.importers.model import Imported, ImportFailed
from unit.imported_policies import ORDER, commands, compiled, prefixes, subcommands, verdict, worst

FORMS = ("{}", "{}:*", "{} *", "{}*")
bash_rules = st.one_of(
    st.builds(lambda prefix, form: f"Bash({form.format(' '.join(prefix))})", prefixes, st.sampled_from(FORMS)),
    st.just("Bash"),
)


def claude_decides(permissions: dict[str, list[str]], command: str) -> str:
    """Deny before ask before allow, for each simple command; the strictest one counts."""

    def one(part: list[str]) -> str:
        for key, decision in (("deny", "deny"), ("ask", "approve_required"), ("allow", "allow")):
            if any(_claude_matches(rule, " ".join(part)) for rule in permissions[key]):
                return decision
        return "approve_required"

    return worst([one(part) for part in subcommands(command)] or ["approve_required"])


def _claude_matches(rule: str, command: str) -> bool:
    spec = rule.removeprefix("Bash").strip("()")
    if not spec:
        return True
    if spec.endswith((":*", " *")):
        return command == spec[:-2] or command.startswith(f"{spec[:-2]} ")
    return command.startswith(spec[:-1]) if spec.endswith("*") else command == spec


@settings(deadline=None)
@given(
    deny=st.lists(bash_rules, max_size=2),
    ask=st.lists(bash_rules, max_size=2),
    allow=st.lists(bash_rules, max_size=3),
    command=commands,
)
def test_claude_commands_are_never_looser(deny: list[str], ask: list[str], allow: list[str], command: str) -> None:
    permissions = {"deny": deny, "ask": ask, "allow": allow}
    policy = compiled(claude({"permissions": permissions}))
    got, wanted = verdict(policy, "Bash", {"command": command}), claude_decides(permissions, command)
    assert ORDER[got] <= ORDER[wanted], (got, wanted)


def claude(settings_: Any, name: str = "/p/.claude/settings.json") -> Imported:
    roots = roots_of(PurePosixPath(name), PurePosixPath("/users/al"))
    return import_claude([(name, settings_ if isinstance(settings_, str) else json.dumps(settings_), roots)])


CLAUDE = {
    "permissions": {
        "deny": [
            "Read(./.env)",
            "Read(//etc/shadow)",
            "Bash(curl:*)",
            "WebFetch(domain:evil.com)",
            "mcp__github__delete_repo",
        ],
        "ask": ["Bash(git push:*)", "Edit(docs/**)", "mcp__slack"],
        "allow": [
            "Bash(npm run test:*)",
            "Bash(git status)",
            "Bash(git diff *)",
            "Read(src/**)",
            "Read(~/notes/*.md)",
            "Edit(src/**)",
            "Edit(docs/**)",
            "WebFetch(domain:docs.python.org)",
            "WebFetch(domain:*.rust-lang.org)",
            "mcp__github",
            "mcp__files__read",
            "WebSearch",
            "Task(Explore)",
            "Skill(x y)",
            "Bash(echo $HOME)",
        ],
        "additionalDirectories": ["../other"],
        "defaultMode": "acceptEdits",
    }
}

CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("allow", "Bash", {"command": "npm run test"}),
    ("allow", "Bash", {"command": "npm run test --watch x.js"}),
    ("allow", "Bash", {"command": "git status"}),
    ("allow", "Bash", {"command": "git diff HEAD~1".replace("~", "@")}),
    ("approve_required", "Bash", {"command": "git status -s"}),
    ("approve_required", "Bash", {"command": "npm run tests"}),
    ("approve_required", "Bash", {"command": "npm run test; ls"}),
    ("approve_required", "Bash", {"command": "npm run test > x"}),
    ("approve_required", "Bash", {"command": "npm run test $(ls)"}),
    ("approve_required", "Bash", {"command": "npm run test\nls"}),
    ("deny", "Bash", {"command": "curl x"}),
    ("deny", "Bash", {"command": "ls | 'curl' x"}),
    ("deny", "Bash", {"command": "sudo cu\\rl x"}),
    ("deny", "Bash", {"command": "cat .env"}),
    ("approve_required", "Bash", {"command": "git push"}),
    ("approve_required", "Bash", {"command": "git 'push' x"}),
    ("approve_required", "Bash", {"command": "x=push; git $x"}),
    ("deny", "Read", {"file_path": "/p/.env"}),
    ("deny", "Read", {"file_path": "/p/src/../.env"}),
    ("deny", "Read", {"file_path": ".env"}),
    ("deny", "Edit", {"file_path": "/p/.env"}),
    ("approve_required", "Grep", {"pattern": "x"}),
    ("deny", "Grep", {"path": "/p/.env"}),
    ("deny", "Read", {"file_path": "/etc/shadow"}),
    ("deny", "Read", {"file_path": "//etc/shadow"}),
    ("allow", "Read", {"file_path": "/p/src/a/b.py"}),
    ("allow", "Read", {"file_path": "/users/al/notes/x.md"}),
    ("approve_required", "Read", {"file_path": "/users/al/notes/y/x.md"}),
    ("approve_required", "Read", {"file_path": "/q/src/a.py"}),
    ("deny", "Read", {"file_path": "/p/src/../../etc/passwd"}),
    ("approve_required", "Read", {"file_path": "/p/srcs/x"}),
    ("allow", "Write", {"file_path": "/p/src/new.py"}),
    ("approve_required", "Edit", {"file_path": "/p/docs/a.md"}),
    ("deny", "WebFetch", {"url": "https://evil.com/x"}),
    ("deny", "WebFetch", {"url": "http://a@EVIL.com"}),
    ("deny", "WebFetch", {"url": "https://ｅvil.com"}),
    ("allow", "WebFetch", {"url": "https://docs.python.org/3/"}),
    ("approve_required", "WebFetch", {"url": "https://docs.python.org.evil.net/"}),
    ("approve_required", "WebFetch", {"url": "https://docs.python.org:8080/"}),
    ("allow", "WebFetch", {"url": "https://doc.rust-lang.org/std"}),
    ("approve_required", "WebFetch", {"url": "https://rust-lang.org/"}),
    ("deny", "mcp__github__delete_repo", {}),
    ("allow", "mcp__github__get", {}),
    ("allow", "mcp__files__read", {}),
    ("approve_required", "mcp__files__write", {}),
    ("approve_required", "mcp__slack__send", {}),
    ("approve_required", "mcp__githubby__get", {}),
    ("allow", "WebSearch", {"query": "x"}),
    ("allow", "Task", {"subagent_type": "Explore"}),
    ("approve_required", "Task", {"subagent_type": "Other"}),
    ("approve_required", "Skill", {"skill": "x y"}),
    ("approve_required", "Bash", {"command": "echo $HOME"}),
    ("approve_required", "Unknown", {}),
]


@pytest.mark.parametrize(("wanted", "tool", "args"), CASES, ids=lambda value: str(value)[:60])
def test_claude_forms_of_rules(wanted: str, tool: str, args: dict[str, Any]) -> None:
    assert verdict(compiled(claude(CLAUDE)), tool, args) == wanted


def test_claude_notes_have_the_lines_of_their_rules() -> None:
    text = json.dumps(CLAUDE, indent=2)
    notes = claude(text).notes
    lines = text.split("\n")
    for source in ("Bash(npm run test:*)", "Skill(x y)", "Read(./.env)"):
        (place,) = {note.place for note in notes if note.source == source}
        assert json.dumps(source) in lines[int(place.rpartition(":")[2]) - 1]
    assert {"defaultMode acceptEdits", "additionalDirectories"} <= {note.source for note in notes}


def test_claude_modes() -> None:
    for mode, wanted in (
        ("dontAsk", "deny"),
        ("bypassPermissions", "approve_required"),
        ("default", "approve_required"),
    ):
        imported = claude({"permissions": {"defaultMode": mode}})
        assert verdict(compiled(imported), "Bash", {"command": "ls"}) == wanted


@pytest.mark.parametrize("rule", ["Tool(a=b)", "Read([)", "WebFetch(url:x)", "x y", "", "mcp__*(x)"])
def test_an_unknown_restriction_holds_for_the_whole_tool(rule: str) -> None:
    tool = re.match("[A-Za-z_]*", rule)
    assert tool is not None
    name = {"mcp__": "mcp__a__b"}.get(tool[0], tool[0] or "Bash")
    policy = compiled(claude({"permissions": {"deny": [rule], "allow": ["*"]}}))
    args = {"command": "cmd:x y", "file_path": "/p/[", "url": "url:x"}
    assert verdict(policy, "Bash" if rule in ("", "x y") else name, args) == "deny"
    assert compiled(claude({"permissions": {"allow": [rule]}})).rule_count <= 1


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"permissions": []}', '{"permissions": {"allow": "Bash"}}', '{"permissions": {"deny": [1]}}']
)
def test_claude_settings_of_another_shape_are_an_error(text: str) -> None:
    with pytest.raises(ImportFailed, match=r"^/p/\.claude/settings\.json:\d+: "):
        claude(text)


PATHS = st.lists(st.sampled_from(["src", "docs", "a", ".env", "..", "x.py", "."]), min_size=1, max_size=4).map("/".join)


@settings(deadline=None)
@given(
    deny=st.booleans(),
    spec=st.sampled_from(["src/**", "src/*", "docs/a", "*.py", "/src", "**/.env", "~/tmp"]),
    path=PATHS,
)
def test_claude_paths_are_never_looser(deny: bool, spec: str, path: str) -> None:
    """Beside a reading of gitignore patterns on the normalized path."""
    real = posixpath.normpath(f"/p/{path}")
    base = "/users/al/tmp" if spec.startswith("~") else None
    relative = real.removeprefix("/p/")
    inside = real.startswith("/p/")
    patterns = {
        "src/**": r"src/.+",
        "src/*": r"src/[^/]+(/.*)?" if deny else r"src/[^/]+",
        "docs/a": r"docs/a(/.*)?" if deny else "docs/a",
        "*.py": r"(.*/)?[^/]*\.py(/.*)?" if deny else r"(.*/)?[^/]*\.py",
        "/src": r"src(/.*)?" if deny else "src",
        "**/.env": r"(.*/)?\.env(/.*)?" if deny else r"(.*/)?\.env",
        "~/tmp": r"$.",
    }
    matches = inside and base is None and re.fullmatch(patterns[spec], relative) is not None
    rules = {"deny": [f"Read({spec})"], "allow": ["Read"]} if deny else {"allow": [f"Read({spec})"]}
    got = verdict(compiled(claude({"permissions": rules})), "Read", {"file_path": f"/p/{path}"})
    if deny and matches:
        assert got == "deny"
    if not deny and not matches:
        assert got != "allow"
