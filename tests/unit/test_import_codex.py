"""Imported permissions of Codex, beside an independent small reading of them: the policy is never looser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import Request
from bobcat.cli.importers.codex import import_codex
from bobcat.cli.importers.model import ImportFailed
from unit.imported_policies import ORDER, commands, compiled, subcommands, verdict, words, worst

codex_patterns = st.lists(st.one_of(words, st.lists(words, min_size=1, max_size=2)), min_size=1, max_size=3)
codex_rules = st.lists(st.tuples(codex_patterns, st.sampled_from(["allow", "prompt", "forbidden"])), max_size=4)
CODEX = {"allow": "allow", "prompt": "approve_required", "forbidden": "deny"}


def codex_decides(rules: Any, command: str) -> str:
    def one(part: list[str]) -> str:
        found = [
            CODEX[decision]
            for pattern, decision in rules
            if len(part) >= len(pattern)
            and all(
                word in ([want] if isinstance(want, str) else want) for want, word in zip(pattern, part, strict=False)
            )
        ]
        return worst(found) if found else "approve_required"

    return worst([one(part) for part in subcommands(command)] or ["approve_required"])


@settings(deadline=None)
@given(rules=codex_rules, command=commands)
def test_codex_rules_are_never_looser(rules: Any, command: str) -> None:
    text = "".join(
        f"prefix_rule(pattern={json.dumps(pattern)}, decision={json.dumps(said)})\n" for pattern, said in rules
    )
    got = verdict(compiled(import_codex([("x.rules", text)])), "Bash", {"command": command})
    assert ORDER[got] <= ORDER[codex_decides(rules, command)], (got, text)


def test_codex_forms_of_rules() -> None:
    text = (
        '# mine\nGIT = ["git"]\nprefix_rule(pattern=GIT + ["status"], decision="allow", match=["git status"])\n'
        'prefix_rule(\n    pattern=["git", ["push", "fetch"]],\n    decision="prompt",\n    justification="shared")\n'
        'prefix_rule(pattern=["rm"], decision="forbidden")\nprefix_rule(pattern=["ls"])\n'
        'prefix_rule(pattern=["echo", "a b"])\n'
        'host_executable(name="git", paths=["/usr/bin/git"])\n'
    )
    imported = import_codex([("r/x.rules", text)])
    policy = compiled(imported)
    for command, wanted in (
        ("git status -s", "allow"),
        ("ls", "allow"),
        ("git push", "approve_required"),
        ("git fetch x", "approve_required"),
        ("rm x", "deny"),
        ("ls; rm x", "deny"),
        ("/bin/rm x", "deny"),
        ("r''m x", "deny"),
        ("echo a", "approve_required"),
        ("ls > x", "approve_required"),
        ("git log", "approve_required"),
    ):
        assert verdict(policy, "Bash", {"command": command}) == wanted, command
    assert policy.evaluate(Request("Bash", {"command": "git push"})).reason == "shared"
    assert {"r/x.rules:9", "r/x.rules:10"} <= {note.place for note in imported.notes}


@pytest.mark.parametrize(
    "text",
    [
        "for x in [1]: prefix_rule(pattern=['a'])",
        "def f(): pass",
        "load('x', 'y')",
        "prefix_rule(['a'])",
        "prefix_rule(pattern=[])",
        "prefix_rule(pattern=['a'], decision='maybe')",
        "prefix_rule(pattern=['a'], other=1)",
        "prefix_rule(pattern=[f('a')])",
        "prefix_rule(pattern=['a', []])",
        "prefix_rule(pattern=",
        "if True: pass",
        "prefix_rule(pattern=x)",
        "prefix_rule(**{'pattern': ['a']})",
        "(" * 10_000,
    ],
)
def test_codex_files_that_may_hold_other_rules_are_an_error(text: str) -> None:
    with pytest.raises(ImportFailed, match=r"^x\.rules:1: "):
        import_codex([("x.rules", text)])
