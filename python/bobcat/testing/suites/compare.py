"""Comparison of a decision with an expectation: what differs, and what the policy has in its place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import ndiff
from functools import lru_cache

from bobcat import _core
from bobcat.bundle import Policy
from bobcat.frontend.suggest import closest
from bobcat.ir.schema import IrRule
from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.model.markers import default_of
from bobcat.testing.suites.model import Expectation, Json
from bobcat.text.json_text import any_json_text

_RULE_ERROR = "<rule_error:"


@dataclass(frozen=True, slots=True)
class Difference:
    """One part of a decision that is not as expected. Values are JSON."""

    key: str
    expected: Json
    actual: Json
    help: str | None = None


def deciding_rule(decision: Decision) -> str:
    """Return the rule that decided, or the marker in its place: `<default:on_no_match>`, `<rule_error:RULE:CODE>`."""
    return str(decision.matched_rules[-1]) if decision.matched_rules else ""


def named_rule(decision: Decision) -> str:
    """Return the deciding rule by its id, also where its error decided."""
    name = deciding_rule(decision)
    return name.removeprefix(_RULE_ERROR).rpartition(":")[0] if name.startswith(_RULE_ERROR) else name


def error_codes(decision: Decision) -> tuple[str, ...]:
    """Return the codes of errors: of rules, and of a call that was refused before any rule."""
    names = [str(name) for name in decision.matched_rules]
    of_rules = [name[:-1].rpartition(":")[2] for name in names if name.startswith(_RULE_ERROR)]
    refused = [name[1:-1] for name in names[:1] if name.startswith("<") and ":" not in name]
    return (*of_rules, *refused)


def effective_args(request: ActionRequest, decision: Decision) -> Mapping[str, Json]:
    """Return the arguments with which the call runs."""
    return request.args if decision.transform_args is None else decision.transform_args


def differences(
    expect: Expectation, request: ActionRequest, decision: Decision, policy: Policy
) -> Iterator[Difference]:
    """Compare the parts of a decision that the expectation has."""
    if expect.verdict is not None and expect.verdict != str(decision.verdict):
        yield Difference("verdict", expect.verdict, str(decision.verdict))
    if expect.rule is not None and expect.rule not in _names(decision):
        yield Difference("rule", expect.rule, deciding_rule(decision), _rule_help(expect.rule, policy))
    if expect.reason_matches is not None and not _pattern(expect.reason_matches).search(str(decision.reason)):
        yield Difference("reason_matches", expect.reason_matches, str(decision.reason))
    if expect.args is not None and not same(expect.args, effective_args(request, decision)):
        yield Difference("args", expect.args, plain(effective_args(request, decision)))
    codes = error_codes(decision)
    if expect.error is not None and expect.error not in codes:
        yield Difference("error", expect.error, ", ".join(codes) or None)
    if expect.no_error and codes:
        yield Difference("error", None, ", ".join(codes))
    if expect.approvers is not None and sorted(expect.approvers) != sorted(map(str, decision.approvers)):
        yield Difference("approvers", list(expect.approvers), [str(name) for name in decision.approvers])


def _names(decision: Decision) -> tuple[str, ...]:
    """Return the names of the deciding rule; of a transform, those of each rule behind it."""
    behind = decision.matched_rules if decision.verdict is Verdict.TRANSFORM else ()
    return (deciding_rule(decision), named_rule(decision), *map(str, behind))


@lru_cache(maxsize=1024)
def _pattern(text: str) -> _core.Pattern:
    return _core.Pattern(text, "re2")


def _rule_help(name: str, policy: Policy) -> str | None:
    if name.startswith("<") or default_of(name):
        return None
    known = [str(rule.id) if isinstance(rule, IrRule) else rule.name for rule in policy.ir.rules]
    if name in known:
        return None
    near = closest(name, known)
    return f"the policy has no rule `{name}`" + (f"; did you mean `{near}`?" if near else "")


def same(left: Json, right: Json) -> bool:
    """Return true if two values are the same JSON: a bool is not a number, NaN is NaN."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return bool(left == right) and isinstance(left, str) == isinstance(right, str)


def plain(value: Json) -> Json:
    """Return a value of a request as plain lists and dicts."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def diff_lines(expected: Json, actual: Json) -> list[str]:
    """Return the differences of two JSON values by line: `- ` expected, `+ ` actual."""
    found = ndiff(_lines(expected), _lines(actual))
    return [line for line in found if not line.startswith("?")]


def _lines(value: Json) -> list[str]:
    try:
        return json.dumps(plain(value), indent=2, sort_keys=True, ensure_ascii=False).split("\n")
    except (TypeError, ValueError):
        return [any_json_text(value)]
