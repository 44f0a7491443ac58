"""Replay of a case under our policies: the verdict at each time point, beside the expected one."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from bobcat import Policy, Request
from bobcat._core import RunState
from differential.dogwood.corpus import Case
from differential.dogwood.syntax import Point, Reader, Rule, Unreadable, trace_of
from differential.dogwood.translate import NeedsCall, NotThere, Translator, Untranslatable, arguments, plain

START = datetime(2026, 1, 1, tzinfo=UTC)
EXPECTED = re.compile(r"@(\d+) \(time point (\d+)\): (true|false)")


@dataclass(frozen=True)
class Replayed:
    """How a case was translated, the number of verdicts, of those that permit, and the time points that differ.

    For a case without a translation, `how` is the reason, and nothing was compared.
    """

    how: str
    compared: int
    permitted: int = 0
    different: tuple[str, ...] = ()


def replay(case: Case) -> Replayed:
    """Translate a case and replay its traces."""
    points = sum(len(EXPECTED.findall(expected)) for _, expected in case.traces)
    try:
        if case.own_events:
            raise Untranslatable("traces that are split by a key (pins)")
        rules = Reader(case.policies).rules()
        traces = [trace_of(log) for log, _ in case.traces]
        for trace in traces:
            check_trace(trace)
        try:
            whole: Policy | None = compiled([(rule, Translator(None).rule(rule)) for rule in rules])
        except NeedsCall:
            whole = None
        different: list[str] = []
        permitted = 0
        for trace, (_, expected) in zip(traces, case.traces, strict=True):
            found = verdicts(whole or grounded(rules, trace), trace)
            wanted = {int(at): word == "true" for _, at, word in EXPECTED.findall(expected)}
            permitted += sum(found.values())
            different += [f"{case.name}: {at}" for at in sorted(found.keys() | wanted.keys())
                          if found.get(at) is not wanted.get(at)]  # fmt: skip
    except (Unreadable, Untranslatable) as error:
        return Replayed(str(error), points)
    return Replayed("whole" if whole else "for the calls of the trace", points, permitted, tuple(different))


def check_trace(trace: Sequence[Point]) -> None:
    """Raise for a trace that has no translation: a result belongs to the call before it with the same id."""
    calls: dict[Any, Point] = {}
    for before, point in zip([None, *trace], trace, strict=False):
        if before is not None and point.at < before.at:
            raise Untranslatable("times that go back")
        if point.kind == "request":
            calls[point.fields.get("requestId")] = point
            continue
        call = calls.pop(point.fields.get("requestId"), None)
        if point.kind != "response" or call is None:
            raise Untranslatable("results without a call")
        own = {name: value for name, value in point.fields.items() if name != "output"}
        if call.action != point.action or own != {name: call.fields.get(name) for name in own}:
            raise Untranslatable("results with other arguments than their call")


def grounded(rules: Sequence[Rule], trace: Sequence[Point]) -> Policy:
    """The rules, once for each kind of call of a trace."""
    found: list[tuple[Rule, Any]] = []
    for point in trace:
        if point.kind != "request":
            continue
        for rule in rules:
            if rule.action not in ("", point.action):
                continue
            try:
                made = rule, Translator(arguments(point)).rule(rule)
            except NotThere:
                continue
            if made not in found:
                found.append(made)
    return compiled(found)


def compiled(rules: Sequence[tuple[Rule, Any]]) -> Policy:
    """Our policy: a forbidden call is denied whatever permits it."""
    texts: list[dict[str, Any]] = []
    for number, (rule, match) in enumerate(rules):
        if match is False:
            continue
        decision = {"decision": "allow"} if rule.effect == "permit" else {"decision": "deny", "priority": 9}
        texts.append({"id": f"rule-{number}", "match": {} if match is True else match, **decision})
    texts.append({"id": "rest", "match": {"tool.eq": "no such tool"}, "decision": "allow"})
    return _policy(json.dumps({"rules": texts}))


@cache
def _policy(text: str) -> Policy:
    return Policy.compile(text)


def verdicts(policy: Policy, trace: Sequence[Point]) -> dict[int, bool]:
    """True for each request that is permitted, by its time point."""
    state, found, keys = RunState(policy), {}, {}
    for number, point in enumerate(trace):
        at, id_ = START + timedelta(seconds=point.at), point.fields.get("requestId")
        if point.kind == "request":
            request = Request(point.action, arguments(point), timestamp=at)
            decision = policy.evaluate(request, state=state)
            assert not any(each.startswith("<rule_error") for each in decision.matched_rules), decision
            found[number] = decision.verdict == "allow"
            keys[id_] = str(number)
            state.call(request, keys[id_])
        else:
            state.result(keys[id_], plain({"output": point.fields.get("output", {})}), at)
        state.next_reply()
    return found
