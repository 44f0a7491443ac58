"""Python rules that read the run: they decide as the same condition does in YAML, and as a slow reading of the page."""

from __future__ import annotations

import itertools
import json
import linecache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import Policy, Request
from bobcat._core import RunState
from campaign import examples
from oracle.memory_reading import SOURCES, Reading
from property.memory_conditions import conditions
from property.memory_steps import Step, propose, steps, take

SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=="}
HEADER = "from bobcat import allow, deny\n\n\n"
ALLOW_ALL = {"id": "all", "match": {}, "decision": "allow", "priority": -1}
numbers = itertools.count()


def rule_of(condition: str, decision: str) -> Any:
    """A rule with one condition, whose source can be read."""
    file = f"run_rule_{next(numbers)}.py"
    text = f"{HEADER}def r(request, context):\n    if {condition}:\n        return {decision}\n    return None\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": "run_rules"}
    exec(compile(text, file, "exec", dont_inherit=True), namespace)
    return namespace["r"]


def in_python(key: str, operand: Any) -> str:
    """The condition of a match as Python."""
    head, _, rest = key.partition(".")
    if head == "args":
        return f"request.origin('who.to') & {set(operand)!r}"
    word, _, rest = rest.partition(".")
    if word in ("count", "sum"):
        return measure(word, rest, operand)
    within = f", within={operand['within']!r}" if "within" in operand else ""
    bare = {name: item for name, item in operand.items() if name != "within"}
    match word:
        case "after" | "last":
            return f"request.run.{word}({operand!r})"
        case "formerly" | "previous":
            return f"request.run.{word}({bare!r}{within})"
        case "since":
            return f"request.run.since(holds={bare['holds']!r}, start={bare['start']!r}{within})"
        case _:
            return f"request.run.never({bare['event']!r}, since={bare['since']!r})"


def measure(word: str, rest: str, operand: Any) -> str:
    if rest:
        name, *parts = rest.split(".")
        argument = ", 'n'" if word == "sum" else ""
        this = ", with_this=True" if "with_this" in parts else ""
        return f"request.run.{word}({name!r}{argument}{this}) {SIGNS[parts[-1]]} {operand!r}"
    options = [f"of={operand['of']!r}", *(["argument='n'"] if word == "sum" else [])]
    options += [f"within={operand['within']!r}"] if "within" in operand else []
    tests = operand.get("with_this", operand)
    options += ["with_this=True"] if "with_this" in operand else []
    ((op, bound),) = [(op, bound) for op, bound in tests.items() if op in SIGNS]
    return f"request.run.{word}({', '.join(options)}) {SIGNS[op]} {bound!r}"


def policies(match: dict[str, Any], *, negated: bool, decision: str) -> list[Policy]:
    """The policy with the rule `r` in YAML, and with it in Python. A rule that denies has one that allows behind it."""
    ((key, operand),) = match.items()
    head: dict[str, Any] = {"defaults": {"on_missing_shadow": "deny"}, "sources": SOURCES}
    rest = [ALLOW_ALL] if decision == "deny" else []
    rule = {"id": "r", "match": {"not": match} if negated else match, "decision": decision}
    condition = f"not ({in_python(key, operand)})" if negated else in_python(key, operand)
    made = "allow()" if decision == "allow" else "deny('r')"
    return [
        Policy.compile(json.dumps({**head, "rules": [rule, *rest]})),
        Policy.compile(json.dumps({**head, "rules": rest}), python_rules=[rule_of(condition, made)]),
    ]


@pytest.mark.campaign
@settings(max_examples=examples(150), deadline=None)
@given(conditions, st.booleans(), st.lists(steps, max_size=8))
def test_a_python_rule_decides_as_the_slow_reading(match: dict[str, Any], negated: bool, run: list[Step]) -> None:
    plain = any("result.code" in str(part) for part in match.values())
    both = policies(match, negated=negated, decision="allow")
    states, reading = [RunState(policy) for policy in both], Reading()
    assert both[0].ir.memory == both[1].ir.memory
    ((key, operand),) = match.items()
    for step in run:
        request = propose(step, reading)
        found = [policy.evaluate(request, state=state) for policy, state in zip(both, states, strict=True)]
        expected = reading.condition(key, operand, step) is not negated
        for decision in found:
            assert not [name for name in decision.matched_rules if name.startswith("<rule_error")]
            assert (decision.verdict == "allow") is expected
        take(step, request, reading, states, plain=plain)


hostile = st.sampled_from(["ann", "bob", "", None, 5, 2.5, True, ["ann"], {"a": 1}, float("nan"), float("inf"), 2**200])
broken_args = st.fixed_dictionaries(
    {},
    optional={
        "to": hostile,
        "n": hostile,
        "who": st.one_of(hostile, st.fixed_dictionaries({}, optional={"to": hostile})),
    },
)
broken_steps = st.tuples(st.sampled_from(["pay", "read", "find"]), broken_args, hostile)


@pytest.mark.campaign
@settings(max_examples=examples(200), deadline=None)
@given(conditions, st.booleans(), st.booleans(), st.lists(broken_steps, min_size=1, max_size=5))
def test_errors_and_missing_values_are_those_of_the_same_condition_in_yaml(
    match: dict[str, Any], negated: bool, remembers: bool, run: list[tuple[str, dict[str, Any], Any]]
) -> None:
    both = policies(match, negated=negated, decision="deny")
    states = [RunState(policy) if remembers else None for policy in both]
    for number, (tool, args, value) in enumerate(run):
        request = Request(tool, args)
        found = [policy.evaluate(request, state=state) for policy, state in zip(both, states, strict=True)]
        assert found[0].verdict == found[1].verdict
        assert found[0].matched_rules == found[1].matched_rules
        for state in filter(None, states):
            state.call(request, f"c{number}")
            state.result(f"c{number}", {"name": value, "code": 1}, request.context.timestamp)
            state.next_reply()
