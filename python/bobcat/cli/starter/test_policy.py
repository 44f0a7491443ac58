"""Tests of policy.yaml. Run `python test_policy.py` or pytest; add a line for every rule you add.

Calls are evaluated as in a run: with the declarations and the argument checks of policy_tools.py.
"""

from pathlib import Path
from typing import Any

from policy_tools import tools

from bobcat import Policy, Request, bind_request
from bobcat.errors import ArgumentError

POLICY = Path(__file__).with_name("policy.yaml")

# (tool, arguments, expected verdict, deciding rule)
CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("read_file", {"path": "README.md"}, "allow", "reading-project-text"),
    ("read_file", {"path": "src/shop/cart.py"}, "allow", "reading-project-text"),
    ("list_files", {}, "allow", "listing-directories"),
    ("list_files", {"path": "src"}, "allow", "listing-directories"),
    ("shell", {"cmd": "git status"}, "allow", "shell-known-commands"),
    ("write_file", {"path": "notes/today.md", "content": "x"}, "allow", "taking-notes"),
    ("write_file", {"path": "docs/install.md", "content": "x"}, "approve_required", "documentation-needs-approval"),
    ("read_file", {"path": ".env"}, "deny", "hidden-and-outside"),
    ("read_file", {"path": "docs/.env.local"}, "deny", "hidden-and-outside"),
    ("read_file", {"path": "/etc/shadow"}, "deny", "hidden-and-outside"),
    ("read_file", {"path": "/proc/self/environ"}, "deny", "hidden-and-outside"),
    ("read_file", {"path": "docs/../../x.md"}, "deny", "hidden-and-outside"),
    ("read_file", {"path": "src/secrets.py"}, "deny", "names-of-secrets"),
    ("read_file", {"path": "policy.yaml"}, "deny", "other-files"),
    ("list_files", {"path": "build"}, "deny", "other-files"),
    ("write_file", {"path": "policy.yaml", "content": ""}, "deny", "other-files"),
    ("write_file", {"path": "policy_tools.py", "content": ""}, "deny", "other-files"),
    ("write_file", {"path": ".git/hooks/pre-commit", "content": ""}, "deny", "hidden-and-outside"),
    ("write_file", {"path": "notes/../policy.yaml", "content": ""}, "deny", "hidden-and-outside"),
    ("write_file", {"path": "src/cart.py", "content": ""}, "deny", "other-files"),
    ("shell", {"cmd": "rm -rf /"}, "deny", "other-commands"),
    ("shell", {"cmd": "git status; id"}, "deny", "other-commands"),
    ("shell", {"cmd": "git log --oneline -n 20 --output=policy.yaml"}, "deny", "other-commands"),
    ("shell", {"cmd": "git diff --no-index / /etc"}, "deny", "other-commands"),
]

# Calls that a run refuses before any rule: arguments that the tool does not accept, and unknown tools.
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("shell", {"cmd": "git status", "env": {"GIT_DIR": "/tmp"}}),
    ("write_file", {}),
    ("read_file", {"path": "README.md", "root": "/etc"}),
    ("deploy", {"service": "shop"}),
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
