"""Case table of the doors: policies, calls that a model proposes, and the outcome that every framework must show.

Data only. `tools.py` has the tools, `test_cases.py` runs the table, `DOOR/door.py` drives a real framework.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_POLICY = """
defaults: {on_no_match: deny, on_missing_shadow: deny}
rules:
  - {id: secret, match: {tool: echo, args.text: secret}, decision: deny, reason: not permitted, priority: 9}
  - {id: echo, match: {tool: echo}, decision: allow}
  - id: pay
    match: {tool: pay, args.amount.between: [1, 99]}
    decision: approve_required
    approvers: [alice]
    reason: money
  - {id: move, match: {tool: move}, decision: approve_required, approvers: [alice, bob, carol], approvals_needed: 2}
  - {id: leak, match: {tool: query, args.text: secret!}, decision: deny, reason: leaks, priority: 9}
  - {id: query, match: {tool: query}, decision: transform, transform: {jsonpath: $.args.text, append: "!"}}
  - {id: delete, match: {tool: delete}, decision: dry_run}
  - {id: broken, match: {tool: broken}, decision: allow}
  - {id: heavy, match: {tool: weigh, args.amount.gt: 5}, decision: deny, priority: 9}
  - {id: weigh, match: {tool: weigh}, decision: allow}
  - {id: greet, match: {tool: greet, args.name: you}, decision: allow}
"""
"""Rule `heavy` cannot be evaluated on a string: the decision is deny."""


def policy_text(prefix: str) -> str:
    """The policy for a framework that puts `prefix` before the names of tools."""
    return re.sub(r"\btool: (?=\w)", f"tool: {prefix}", _POLICY)


@dataclass(frozen=True)
class Call:
    """A proposed call and its expected outcome.

    `status` is that of its record; `reply` is part of the text that the model gets; `ran` are the arguments that
    the tool got, None when it did not run. `id` is the id that the model gives the call, by default a new one.
    """

    tool: str
    args: Mapping[str, Any]
    status: str
    reply: str = ""
    ran: Mapping[str, Any] | None = None
    id: str = ""


@dataclass(frozen=True)
class Case:
    """Turns of calls, one case. `answers` are the approvers' answers by tool; a tool that has none is not answered.

    `needs_tools`: the guard must know the tools, to check and complete the arguments before the decision.
    """

    name: str
    turns: tuple[tuple[Call, ...], ...]
    answers: Mapping[str, Any] = field(default_factory=dict)
    needs_tools: bool = False

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of all turns."""
        return tuple(call for turn in self.turns for call in turn)


def one(name: str, *calls: Call, needs_tools: bool = False, **answers: Any) -> Case:
    """A case of one turn."""
    return Case(name, (calls,), answers, needs_tools)


ALLOWED = Call("echo", {"text": "a"}, "ok", "a", {"text": "a"})
DENIED = Call("echo", {"text": "secret"}, "denied", "not permitted")
TRANSFORMED = Call("query", {"text": "q"}, "ok", "q!", {"text": "q!"})
PREVIEWED = Call("delete", {"path": "p"}, "previewed", "[previewed]")
UNMATCHED = Call("pay", {"amount": 100}, "denied", "[denied]")
PAID = Call("pay", {"amount": 40}, "ok", "paid 40", {"amount": 40})
UNPAID = Call("pay", {"amount": 40}, "denied", "[denied]")
MOVED = Call("move", {"to": "x"}, "ok", "moved to x", {"to": "x"})
UNMOVED = Call("move", {"to": "x"}, "denied", "[denied]")
BROKEN = Call("broken", {}, "failed", "", {})  # frameworks word the failure of a tool themselves, or end the run
GRANT = {"granted": True, "approver": "alice"}
BOB = {"granted": True, "approver": "bob"}

CASES = [
    one("allow", ALLOWED),
    one("deny", DENIED),
    one("no rule matches", UNMATCHED),
    one("transform", TRANSFORMED),
    one("a transform is decided again", Call("query", {"text": "secret"}, "denied", "leaks")),
    one("dry run", PREVIEWED),
    one("a default counts as an argument", Call("greet", {}, "ok", "hello you", {"name": "you"}), needs_tools=True),
    one("a rule that cannot be evaluated", Call("weigh", {"amount": "9"}, "denied", "[denied]")),
    one("a tool that raises", BROKEN),
    one("an unknown tool", Call("nothing", {"text": "a"}, "unknown")),
    one("an argument of the wrong type", Call("pay", {"amount": "many"}, "invalid"), needs_tools=True, pay=GRANT),
    one("a missing argument", Call("echo", {}, "invalid"), needs_tools=True),
    one("granted", PAID, pay=GRANT),
    one("granted by another", UNPAID, pay={"granted": True, "approver": "mallory"}),
    one("granted, not by true", UNPAID, pay={"granted": "yes", "approver": "alice"}),
    one("an answer without a form", UNPAID, pay=True),
    one(
        "refused",
        Call("pay", {"amount": 40}, "denied", "too much"),
        pay={**GRANT, "granted": False, "reason": "too much"},
    ),
    one(
        "granted with other arguments",
        Call("pay", {"amount": 40}, "ok", "paid 3", {"amount": 3}),
        pay={**GRANT, "args": {"amount": 3}},
    ),
    one("granted with arguments that no rule allows", UNPAID, pay={**GRANT, "args": {"amount": 500}}),
    one("two approvers of three", MOVED, move=[GRANT, BOB]),
    one("one approver of two", UNMOVED, move=[GRANT]),
    one("one approver twice", UNMOVED, move=[GRANT, GRANT]),
    one("mixed verdicts in one turn", ALLOWED, DENIED, TRANSFORMED, PREVIEWED, UNMATCHED),
    one("the same call twice in one turn", ALLOWED, ALLOWED),
    one("an approval beside other calls", ALLOWED, PAID, TRANSFORMED, DENIED, pay=GRANT),
    one("two approvals in one turn", PAID, Call("pay", {"amount": 7}, "ok", "paid 7", {"amount": 7}), pay=GRANT),
    one("an approval granted and one refused", PAID, UNMOVED, pay=GRANT, move=[]),
    one("a tool that raises beside other calls", ALLOWED, BROKEN),
    Case("an approval in a later turn", ((ALLOWED,), (PAID, TRANSFORMED), (ALLOWED,)), {"pay": GRANT}),
    Case(
        "ids that a model uses again",
        tuple((Call("echo", {"text": "a"}, "ok", "a", {"text": "a"}, id="call_0"),) for _ in range(2)),
    ),
]
UNANSWERED = one("an approval without an answer", PAID)
"""Nothing runs; the framework waits for the answer, or the call is denied."""

FAULTS = ["the log is full", "the guard is closed", "submit raises", "check raises", "the answer raises"]
FAULT_CASES = [one("an allowed call", ALLOWED), one("a granted call", PAID, pay=GRANT)]
