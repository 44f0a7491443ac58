"""Tests of policy.yaml in Python. Run `python test_policy.py` or pytest; policy.policytest.yaml has more of them.

Calls are evaluated as in a run: with the declarations and the argument checks of policy_tools.py.
"""

from pathlib import Path
from typing import Any

from policy_tools import tools

from bobcat import Policy, Request, bind_request
from bobcat.errors import ArgumentError

POLICY = Path(__file__).with_name("policy.yaml")

LOG = ["log", "--oneline", "-n", "20"]
NOTE = {"content": "x"}

# (tool, arguments, expected verdict, deciding rule)
CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("fs.read", {"path": "README.md"}, "allow", "read-the-project"),
    ("fs.read", {"path": "src/shop/cart.py"}, "allow", "read-the-project"),
    ("fs.read", {"path": "./docs/../src/cart.py"}, "allow", "read-the-project"),
    ("fs.list", {"path": "."}, "allow", "list-fs.list"),
    ("fs.stat", {"path": "src/shop"}, "allow", "list-fs.stat"),
    ("fs.write", {"path": "notes/today.md", **NOTE}, "allow", "write-notes"),
    ("fs.mkdir", {"path": "notes/2026"}, "allow", "make-directories-of-notes"),
    ("fs.write", {"path": "docs/install.md", **NOTE}, "approve_required", "change-documentation"),
    ("fs.read", {"path": ".env"}, "deny", "hidden-files"),
    ("fs.read", {"path": "docs/.env.local"}, "deny", "hidden-files"),
    ("fs.read", {"path": "docs/../.env"}, "deny", "hidden-files"),
    ("fs.list", {"path": ".git"}, "deny", "hidden-files"),
    ("fs.write", {"path": ".git/hooks/pre-commit", **NOTE}, "deny", "hidden-files"),
    ("fs.move", {"path": "notes/a.md", "to": ".env"}, "deny", "hidden-files"),
    ("fs.read", {"path": "src/secrets.py"}, "deny", "names-of-secrets"),
    ("fs.move", {"path": "notes/a.md", "to": "id_rsa"}, "deny", "names-of-secrets"),
    ("fs.read", {"path": "/etc/shadow"}, "deny", "absolute-paths"),
    ("fs.move", {"path": "notes/a.md", "to": "/etc/motd"}, "deny", "absolute-paths"),
    # Paths that programs read in different ways are no paths to a rule.
    ("fs.read", {"path": "docs/../../x.md"}, "deny", "<rule_error:hidden-files:undecidable>"),
    ("fs.read", {"path": "docs/x.md."}, "deny", "<rule_error:hidden-files:undecidable>"),
    ("fs.read", {"path": "docs/\u2024\u2024/x.md"}, "deny", "<rule_error:hidden-files:undecidable>"),
    ("fs.read", {"path": "policy.yaml"}, "deny", "other-files"),
    ("fs.write", {"path": "policy.yaml", **NOTE}, "deny", "other-files"),
    ("fs.write", {"path": "notes/../policy_tools.py", **NOTE}, "deny", "other-files"),
    ("fs.write", {"path": "notes/run.sh", **NOTE}, "deny", "other-files"),
    ("fs.write", {"path": "notes/large.md", "content": "x" * 1_000_001}, "deny", "other-files"),
    ("fs.write", {"path": "src/cart.py", **NOTE}, "deny", "other-files"),
    ("fs.delete", {"path": "notes/today.md"}, "deny", "other-files"),
    ("fs.move", {"path": "notes/a.md", "to": "src/a.py"}, "deny", "other-files"),
]

# `proc.run` is a tool on Linux.
PROGRAMS: list[tuple[str, dict[str, Any], str, str]] = [
    ("proc.run", {"program": "git", "argv": ["status"]}, "allow", "git-status"),
    ("proc.run", {"program": "git", "argv": ["status", "--short"]}, "allow", "git-status-short"),
    ("proc.run", {"program": "git", "argv": LOG}, "allow", "git-log"),
    ("proc.run", {"program": "git", "argv": [*LOG, "--output=policy.yaml"]}, "deny", "other-programs"),
    ("proc.run", {"program": "git", "argv": ["-c", "alias.status=!id", "status"]}, "deny", "other-programs"),
    ("proc.run", {"program": "git", "argv": ["diff", "--no-index", "/", "/etc"]}, "deny", "other-programs"),
    ("proc.run", {"program": "git", "argv": ["status; id"]}, "deny", "other-programs"),
    ("proc.run", {"program": "rm", "argv": ["-rf", "/"]}, "deny", "other-programs"),
]
if "proc.run" in tools.names():
    CASES += PROGRAMS

# Calls that a run refuses before any rule: arguments that the tool does not accept, and unknown tools.
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("fs.write", {}),
    ("fs.read", {"path": "README.md", "root": "/etc"}),
    ("proc.run", {"program": "git", "argv": ["status"], "cwd": "/"}),
    ("shell", {"cmd": "git status"}),
]


def test_every_call_is_decided_by_the_expected_rule() -> None:
    """Check the cases above one by one."""
    policy = Policy.compile(POLICY)
    for tool, args, verdict, rule in CASES:
        decision = policy.evaluate(bind_request(Request(tool, args), tools))
        found = (str(decision.verdict), decision.matched_rules)
        assert found == (verdict, (rule,)), f"{tool} {args}: {found}, expected {verdict} by {rule}"


def test_a_tool_without_a_rule_is_denied() -> None:
    """Check that a tool that is added later is denied until a rule allows it, whatever it declares."""
    policy = Policy.compile(POLICY)
    for declared in ({}, {"reversible": True}):
        decision = policy.evaluate(Request("something_new", declared=declared))
        assert decision.verdict == "deny", f"something_new, declared {declared}: {decision}"


def test_invalid_calls_are_refused() -> None:
    """Check that these never reach the policy."""
    for tool, args in REFUSED:
        try:
            bind_request(Request(tool, args), tools)
        except ArgumentError:
            continue
        raise AssertionError(f"{tool} {args} is not refused")


if __name__ == "__main__":
    test_every_call_is_decided_by_the_expected_rule()
    test_a_tool_without_a_rule_is_denied()
    test_invalid_calls_are_refused()
    print(f"{len(CASES) + len(REFUSED) + 2} calls decided as expected")
