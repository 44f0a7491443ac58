"""A policy, its tools and suites on disk, for tests of `bobcat test`."""

from __future__ import annotations

from pathlib import Path

POLICY = """\
rules:
  - id: blocked
    match: {tool: pay, args.to.in: [acct-666]}
    decision: deny
    reason: this account is blocked
  - id: small
    match: {tool: pay, args.amount.between: [1, 100]}
    decision: allow
  - id: capped
    match: {tool: pay, args.amount.gt: 1000}
    decision: transform
    transform: {jsonpath: $.args.amount, set: 1000}
  - id: large
    match: {tool: pay, args.amount.gt: 100}
    decision: approve_required
    approvers: [alice]
defaults: {on_missing_shadow: deny}
"""

TOOLS = """\
from bobcat import ToolSet, tool


@tool(cost="low", reversible=True)
async def pay(amount: int, to: str = "acct-1") -> str:
    return "paid"


tools = ToolSet.from_functions(pay)
"""

MEMORY = """\
sources:
  bills: {tool: read_bill, fields: [iban]}
rules:
  - {id: read, match: {tool: read_bill}, decision: allow}
  - id: pay
    match: {tool: pay, args.amount.gt: 0, run.count.pay.lt: 2, args.to.from: [task, bills]}
    decision: allow
  - {id: refund, match: {tool: refund, run.count: {of: {tool: pay}, ge: 1, within: 1h}}, decision: allow}
  - {id: ask, match: {tool: ask}, decision: approve_required}
  - {id: after, match: {tool: note, run.after: {tool: ask}}, decision: allow}
defaults: {on_missing_shadow: deny}
"""


def write(directory: Path, cases: str, *, policy: str = POLICY, head: str = "", name: str = "pay") -> str:
    """Write a policy, its tools and a suite with `cases`; return the name of the suite."""
    (directory / "policy.yaml").write_text(policy)
    (directory / "policy_tools.py").write_text(TOOLS)
    suite = f"{name}.policytest.yaml"
    (directory / suite).write_text(f"policy: policy.yaml\n{head}cases:\n{cases}")
    return suite
