"""The case corpus read from `tests/cases`: groups expanded to single cases, tagged values made real.

The runners in `tests/unit` and the vector generator call `load`. The format is in `tests/cases/README.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Principal, ToolMetadata

CASES = Path(__file__).parent.parent / "cases"

_DECLARED: dict[str, Any] = {
    "cost": "high",
    "reversible": False,
    "scope": [],
    "blast_radius_hint": None,
    "has_shadow": False,
    "isolation": None,
    "effect": "unsafe",
}
_CONTEXT: dict[str, Any] = {
    "principal": {"kind": "user", "id": "anonymous"},
    "environment": "dev",
    "workspace": ".",
    "correlation_id": "",
    "step_seq": 0,
    "timestamp": "1970-01-01T00:00:00Z",
    "extra": {},
    "task": None,
}


@dataclass(frozen=True)
class Case:
    """One request to one policy. `request` still holds tagged values; `decision` only the fields that matter."""

    name: str
    policy: Any
    request: Mapping[str, Any]
    decision: Mapping[str, Any]

    def build(self) -> ActionRequest:
        return build_request(self.request)

    def failures(self, actual: Decision) -> list[str]:
        """Differences of `actual` from the case's expectation."""
        found = []
        for name, expected in self.decision.items():
            value = getattr(actual, name)
            if name in ("matched_rules", "approvers"):
                value, expected = list(value), list(expected)
            elif name == "verdict":
                value = str(value)
            elif name == "transform_args":
                value, expected = plain(value), plain(untag(expected))
            if typed(value) != typed(expected):
                found.append(f"{name}: expected {expected!r}, got {value!r}")
        return found


@dataclass
class Group:
    """A policy with its cases, as the vectors need them."""

    name: str
    policy: Any
    cases: list[Case] = field(default_factory=list)


def load() -> list[Group]:
    """Every group of every file, tables expanded; groups of a table are one policy each."""
    groups: list[Group] = []
    for path in sorted(CASES.glob("*.yaml")):
        for raw in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader):
            groups.extend(_groups(path.stem, raw))
    return groups


def cases() -> list[Case]:
    return [case for group in load() for case in group.cases]


def _groups(topic: str, raw: Mapping[str, Any]) -> Iterator[Group]:
    name = f"{topic}: {raw['name']}"
    if "policy" in raw:
        assert set(raw) == {"name", "policy", "cases"}, raw
        group = Group(name, raw["policy"])
        for index, case in enumerate(raw["cases"]):
            assert set(case) == {"request", "decision"}, case
            assert {"verdict", "matched_rules"} <= set(case["decision"]) <= set(Decision.__dataclass_fields__), case
            group.cases.append(Case(f"{name} [{index}]", group.policy, case["request"], case["decision"]))
        yield group
        return
    assert set(raw) == {"name", "clause", "table"}, raw
    for label, clause, flip in (("", raw["clause"], False), (", negated", {"not": raw["clause"]}, True)):
        for verdict, default in (("allow", "deny"), ("deny", "allow")):
            policy = {
                "defaults": {"on_no_match": default},
                "rules": [{"id": "r", "match": clause, "decision": verdict}],
            }
            group = Group(f"{name}, {verdict}{label}", policy)
            for value, outcome in raw["table"]:
                group.cases.append(_row(group, value, outcome, verdict=verdict, flip=flip))
            yield group


def _row(group: Group, value: Any, outcome: Any, *, verdict: str, flip: bool) -> Case:
    args = {} if value == {"$absent": 1} else {"x": value}
    request = {"tool": "t", "args": args, "declared": {"reversible": True}}
    default = {"verdict": "deny" if verdict == "allow" else "allow", "matched_rules": ["<default:on_no_match>"]}
    fires: dict[str, Any] = {"verdict": verdict, "matched_rules": ["r"]}
    if outcome == "absent":
        decision = fires if flip and verdict == "deny" else default
    elif isinstance(outcome, bool):
        decision = fires if outcome is not flip else default
    elif verdict == "allow":
        decision = {**default, "matched_rules": [f"<rule_error:r:{outcome}>", "<default:on_no_match>"]}
    else:
        decision = {
            "verdict": "deny",
            "matched_rules": [f"<rule_error:r:{outcome}>"],
            "reason": f"rule `r` could not be judged ({outcome}); denied",
        }
    return Case(f"{group.name}: {value!r}", group.policy, request, decision)


class OpaqueThing:
    """A value of a type that no policy knows."""


def untag(value: Any) -> Any:
    """A value of the corpus with its tags made real."""
    if isinstance(value, list):
        return [untag(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$float": text}:
            return float(text)
        case {"$pow2": exponent, **rest}:
            return 2**exponent + rest.get("plus", 0)
        case {"$str16": units}:
            return b"".join(unit.to_bytes(2, "little") for unit in units).decode("utf-16-le", "surrogatepass")
        case {"$pairs": pairs}:
            return {untag(key): untag(item) for key, item in pairs}
        case {"$bytes": text}:
            return text.encode()
        case {"$tuple": items}:
            return tuple(untag(items))
        case {"$set": items}:
            return set(untag(items))
        case {"$decimal": text}:
            return Decimal(text)
        case {"$date": text}:
            return date.fromisoformat(text)
        case {"$datetime": text}:
            return datetime.fromisoformat(text)
        case {"$opaque": _}:
            return OpaqueThing()
        case {"$value": inner}:
            return inner
    assert not any(str(key).startswith("$") for key in value), value
    return {key: untag(item) for key, item in value.items()}


def build_request(raw: Mapping[str, Any]) -> ActionRequest:
    """A request of the corpus as the Python value; broken fields become attributes of a stand-in."""
    assert set(raw) <= {"tool", "args", "declared", "context"}, raw
    declared = {**_DECLARED, **raw.get("declared", {})}
    context = {**_CONTEXT, **raw.get("context", {})}
    assert set(declared) == set(_DECLARED), raw
    assert set(context) == set(_CONTEXT), raw
    fields = {key: untag(item) for key, item in declared.items() if item != {"$missing": 1}}
    fields["scope"] = tuple(fields["scope"])
    metadata: Any = ToolMetadata(**fields) if len(fields) == len(_DECLARED) else SimpleNamespace(**fields)
    timestamp = context["timestamp"]
    moment = datetime.fromisoformat(timestamp).astimezone(UTC) if isinstance(timestamp, str) else untag(timestamp)
    principal = Principal(**context["principal"])
    extra = untag(context["extra"])
    fixed = [context[key] for key in ("environment", "workspace", "correlation_id", "step_seq")]
    return ActionRequest(
        raw["tool"],
        untag(raw.get("args", {})),
        metadata,
        ExecutionContext(principal, *fixed, moment, extra, context["task"]),
    )


def plain(value: Any) -> Any:
    """Mappings as dicts and lists as lists, all the way down. A mapping that cannot be read has its identity."""
    if isinstance(value, Mapping):
        try:
            items = list(value.items())
        except ZeroDivisionError:  # `strategies.BrokenMapping`
            return f"unreadable {id(value)}"
        return {key: plain(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def typed(value: Any) -> Any:
    """`value` in a form whose equality tells `1` from `True` and from `1.0`, and finds NaN equal to itself."""
    if isinstance(value, dict):
        return ("map", sorted(((key, typed(item)) for key, item in value.items()), key=repr))
    if isinstance(value, list | tuple):
        return ("list", [typed(item) for item in value])
    return (
        type(value).__name__ if not isinstance(value, str) else "str",
        repr(value) if isinstance(value, float) and value != value else value,
    )
