"""Lints about what a run remembers, and the other lints beside conditions that read the run."""

from __future__ import annotations

import pytest

from bobcat.lint.check import check_source


def codes(text: str) -> list[str]:
    return [item.code for item in check_source(text, "p") if item.code[0] != "N" and item.suppressed is None]


PAY = "{id: pay, match: {tool: pay, args.amount.gt: 0}, decision: allow}"
FINE = {
    "a counted tool that another rule permits": f"""
rules: [{PAY}, {{match: {{run.count.pay.gt: 3}}, decision: deny, priority: 1}}]
""",
    "a counted tool that an approver permits": """
rules:
  - {match: {tool: pay}, decision: approve_required}
  - {match: {run.count.pay.gt: 3}, decision: deny}
""",
    "a counted tool that a glob permits": """
rules:
  - {match: {tool.glob: pay_*, args.x: 1}, decision: allow}  # bobcat: ignore W0131 because it is short
  - {match: {run.count.pay_now.gt: 3}, decision: deny, priority: 1}
""",
    "one of several tools": f"""
rules:
  - {PAY}
  - {{match: {{run.count: {{of: {{tool.in: [pay, send]}}, gt: 3}}}}, decision: deny, priority: 1}}
""",
    "a sum with a lower bound by a rule that denies": """
rules:
  - {id: no, match: {tool: pay, args.amount.lt: 0}, decision: deny}
  - {id: pay, match: {tool: pay, run.sum.pay.amount.with_this.le: 9}, decision: allow}
""",
    "a sum with a range": """
rules: [{id: pay, match: {tool: pay, args.amount.between: [0, 9], run.sum.pay.amount.with_this.le: 9}, decision: allow}]
""",
    "a sum that an approver sees": """
rules:
  - {id: a, match: {tool: pay, args.amount.gt: 0, run.sum.pay.amount.with_this.le: 9}, decision: allow}
  - {id: b, match: {tool: pay}, decision: approve_required}
""",
    "a sum without an upper bound": """
rules: [{id: pay, match: {tool: pay, run.sum.pay.amount.with_this.ge: 9}, decision: allow}]
""",
    "a source of a source": """
sources:
  a: {tool: search, fields: [x]}
  b: {tool: read, fields: [y], asked_with: a}
rules:
  - {match: {tool.in: [search, read]}, decision: allow}
  - {match: {tool: pay, args.x.from: b}, decision: allow}
""",
    "a sequence over results": f"""
rules:
  - {PAY}
  - match: {{run.never: {{event: {{call: {{tool: edit}}}}, since: {{result: {{tool: pay}}}}}}}}
    decision: deny
    priority: 1
""",
}
FOUND = {
    "W0146": f"rules: [{PAY}, {{match: {{run.count.send.gt: 3}}, decision: deny, priority: 1}}]",
    "W0147": """
sources: {a: {tool: search, fields: [x]}, b: {tool: read, fields: [y], asked_with: a}}
rules: [{match: {tool: read}, decision: allow}, {match: {tool: pay, args.x.from: b}, decision: allow}]
""",
    "W0148": f"""
rules:
  - {PAY}
  - match: {{not: {{run.formerly: {{all_of: [{{call: {{tool: pay}}}}, {{call: {{tool: send}}}}]}}}}}}
    decision: deny
    priority: 1
""",
    "W0149": """
rules:
  - {id: a, match: {tool: pay, args.amount.gt: 0, run.sum.pay.amount.with_this.le: 9}, decision: allow}
  - {id: b, match: {tool: pay, args.to: me}, decision: allow}
""",
}


@pytest.mark.parametrize("name", FINE)
def test_what_a_call_can_change_is_fine(name: str) -> None:
    assert codes(FINE[name]) == []


@pytest.mark.parametrize("code", FOUND)
def test_what_no_call_can_change_is_found(code: str) -> None:
    assert codes(FOUND[code]) == [code]


@pytest.mark.parametrize("code", ["W0146", "W0147"])
def test_nothing_is_known_where_the_default_allows(code: str) -> None:
    found = codes(f"defaults: {{on_no_match: allow}}\n{FOUND[code]}")
    assert code not in found
    assert "W0103" in found


def test_a_call_that_gets_through_is_found_beside_conditions_on_the_run() -> None:
    text = """
rules:
  - {id: pay, match: {tool: pay, args.amount.le: 500, run.count.pay.lt: 3}, decision: allow}
  - {id: late, match: {tool: pay, run.after: {tool: pay}}, decision: deny, priority: 5}
"""
    (found,) = [item for item in check_source(text, "p") if item.code == "W0126"]
    assert "-" in found.message.split("`pay` with")[1]


def test_a_condition_on_the_run_is_no_reason_for_a_shadow() -> None:
    text = """
rules:
  - {id: few, match: {tool: pay, run.count.pay.lt: 3}, decision: allow}
  - {id: fewer, match: {tool: pay, run.count.pay.lt: 2}, decision: allow}
  - {id: rest, match: {tool: pay, run.count.pay.lt: 9}, decision: approve_required}
"""
    assert codes(text) == ["W0101"]
