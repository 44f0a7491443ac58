"""A policy, three calls, three decisions. Nothing runs: the decision point only answers."""

from __future__ import annotations

from bobcat import Policy, Request

POLICY = """
rules:
  - id: no-rm
    priority: 10
    match: {tool: shell, args.cmd.shell.any.name: rm}
    decision: deny
    reason: rm is not for agents
  - id: reads
    match: {tool: shell, args.cmd.in: [ls, ls src, cat README.md]}
    decision: allow
"""

policy = Policy.compile(POLICY)
for cmd in ("ls src", "ls; rm -rf /", "reboot"):
    decision = policy.evaluate(Request("shell", {"cmd": cmd}))
    print(f"{cmd!r:16} {decision.verdict:16} {decision.matched_rules} {decision.reason}")
