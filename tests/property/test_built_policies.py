"""The same policy, built in Python and written as YAML data, is one policy: same digest, same decisions."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
from bobcat.build import (
    Condition,
    Path,
    Policy,
    Rule,
    all_of,
    always,
    any_of,
    args,
    context,
    declared,
    path,
    tool,
    when,
)
from bobcat.compiler import compile_policy

Pair = tuple[Condition, dict[str, Any]]
"""A condition, and the match that means the same."""

SCALARS = st.sampled_from([None, True, 1, 2.5, 1.0, "a", "b c", ""])
TEXTS = st.sampled_from(["a", "b c", "/etc", "x"])
NAMES = st.sampled_from(["cmd", "to", "length", "any", "in", "a.b", "É", "matches"])
FIXED: list[tuple[Path, str]] = [
    (tool, "tool"),
    (context.environment, "context.environment"),
    (context.principal.id, "context.principal.id"),
    (declared.cost, "declared.cost"),
]


@st.composite
def paths(draw: st.DrawFn) -> tuple[Path, str]:
    """A path below `args` or `context.extra`, and its key."""
    names = draw(st.lists(NAMES, min_size=1, max_size=3))
    built = args if draw(st.booleans()) else context.extra
    key = "args" if built is args else "context.extra"
    found: Any = built
    for name in names:
        found = found[name]
        key += f'["{name}"]'
    return found, key


COMPARE = {
    "eq": lambda p, v: p == v,
    "gt": lambda p, v: p > v,
    "ge": lambda p, v: p >= v,
    "lt": lambda p, v: p < v,
    "le": lambda p, v: p <= v,
    "contains": lambda p, v: p.contains(v),
    "starts_with": lambda p, v: p.starts_with(v),
    "ends_with": lambda p, v: p.ends_with(v),
    "matches": lambda p, v: p.matches(v),
    "glob": lambda p, v: p.glob(v),
    "exists": lambda p, v: p.exists(v),
}


@st.composite
def leaves(draw: st.DrawFn) -> Pair:
    if draw(st.integers(0, 4)) == 0:
        built, key = draw(st.sampled_from(FIXED))
        word = draw(st.sampled_from(["low", "a"])) if key != "declared.cost" else "low"
        return built == word, {key: word}
    built, key = draw(paths())
    chain = draw(st.lists(st.sampled_from(["any", "all", "none"]), max_size=2))
    for name in chain:
        built, key = getattr(built, name)(), f"{key}.{name}"
    match draw(st.integers(0, 8)):
        case 0:
            op = draw(st.sampled_from(["eq", "contains"]))
            value = draw(SCALARS)
        case 1:
            op, value = draw(st.sampled_from(["gt", "ge", "lt", "le"])), draw(st.sampled_from([0, 2.5, "m"]))
        case 2:
            op, value = draw(st.sampled_from(["starts_with", "ends_with", "matches", "glob"])), draw(TEXTS)
        case 3 if not chain:
            op, value = "exists", draw(st.booleans())
        case 4:
            values = draw(st.lists(SCALARS, max_size=3))
            return built.in_(values), {f"{key}.in": values}
        case 5:
            values = draw(st.lists(TEXTS, min_size=1, max_size=3))
            every = draw(st.booleans())
            made = built.contains_all(*values) if every else built.contains_any(*values)
            return made, {f"{key}.contains_{'all' if every else 'any'}": values}
        case 6:
            other, text = draw(paths())
            op = draw(st.sampled_from(["eq", "contains", "gt", "le", "starts_with"]))
            return COMPARE[op](built, other), {f"{key}.{op}": {"ref": text}}
        case 7:
            size = draw(st.integers(0, 5))
            return built.length(gt=size, le=9), {f"{key}.length": {"gt": size, "le": 9}}
        case _:
            text = draw(TEXTS)
            return built.lower().contains(text), {f"{key}.lower": {"contains": text}}
    return COMPARE[op](built, value), {f"{key}.{op}": value}


PAIRS: st.SearchStrategy[Pair] = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        inner.map(lambda pair: (~pair[0], {"not": pair[1]})),
        st.lists(inner, min_size=2, max_size=3).map(
            lambda pairs: (_folded(pairs, "and"), {"all_of": [data for _, data in pairs]})
        ),
        st.lists(inner, min_size=2, max_size=3).map(
            lambda pairs: (_folded(pairs, "or"), {"any_of": [data for _, data in pairs]})
        ),
        st.lists(inner, max_size=3).map(
            lambda pairs: (all_of(item for item, _ in pairs), {"all_of": [data for _, data in pairs]})
        ),
        st.lists(inner, max_size=2).map(
            lambda pairs: (any_of(*(item for item, _ in pairs)), {"any_of": [data for _, data in pairs]})
        ),
    ),
    max_leaves=5,
)


def _folded(pairs: list[Pair], how: str) -> Condition:
    found = pairs[0][0]
    for item, _ in pairs[1:]:
        found = found & item if how == "and" else found | item
    return found


@st.composite
def rules(draw: st.DrawFn, index: int) -> tuple[Rule, dict[str, Any]]:
    condition, match = draw(PAIRS)
    subject = when(condition)
    if draw(st.integers(0, 5)) == 0:
        subject, match = always, {}
    data: dict[str, Any] = {"match": match}
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        options["id"] = f"r{index}"
    if draw(st.booleans()):
        options["priority"] = draw(st.integers(-2, 2))
    if draw(st.booleans()):
        options["reason"] = "because"
    verdict = draw(st.sampled_from(["allow", "deny", "dry_run", "approve_required", "transform"]))
    data |= {"decision": verdict, **options}
    match verdict:
        case "approve_required":
            people = {"approvers": ["alice", "bob"], "timeout_seconds": draw(st.sampled_from([0, 60, 1.5]))}
            return subject.approve_required(**options, **people), data | people
        case "transform":
            target, key = args["a.b"].c, 'args["a.b"].c'
            match draw(st.sampled_from(["set", "append", "delete"])):
                case "delete":
                    edit, operation = target.delete(), {"delete": True}
                case "append":
                    edit, operation = target.append("x"), {"append": "x"}
                case _:
                    value = draw(SCALARS)
                    edit, operation = target.set(value), {"set": value}
            return subject.transform(edit, **options), data | {"transform": {"jsonpath": f"$.{key}", **operation}}
        case _:
            return getattr(subject, verdict)(**options), data


@st.composite
def policies(draw: st.DrawFn) -> tuple[Policy, dict[str, Any]]:
    pairs = [draw(rules(index)) for index in range(draw(st.integers(0, 4)))]
    defaults = {"on_no_match": "allow"} if draw(st.booleans()) else {}
    data: dict[str, Any] = {"defaults": defaults, "rules": [rule for _, rule in pairs]}
    return Policy([rule for rule, _ in pairs], **defaults), data


@settings(max_examples=campaign.examples(400), deadline=None)
@given(policies())
def test_a_built_policy_has_the_digest_of_the_same_policy_in_yaml(pair: tuple[Policy, dict[str, Any]]) -> None:
    built, data = pair
    assert built.compile().id == compile_policy(data).id


@settings(max_examples=campaign.examples(200), deadline=None)
@given(policies())
def test_rules_built_beside_a_document_are_rules_of_the_document(pair: tuple[Policy, dict[str, Any]]) -> None:
    built, data = pair
    for index, rule in enumerate(data["rules"]):
        rule.setdefault("id", f"rule_{index}")
    first = {"id": "first", "match": {"tool": "x"}, "decision": "deny"}
    rules = Policy(built.rules)
    beside = compile_policy({"defaults": data["defaults"], "rules": [first]}, python_rules=[rules])
    whole = compile_policy({**data, "rules": [first, *data["rules"]]})
    assert beside.id == whole.id


@settings(max_examples=campaign.examples(200), deadline=None)
@given(policies())
def test_what_a_policy_is_shown_as_builds_it_again(pair: tuple[Policy, dict[str, Any]]) -> None:
    built, _ = pair
    names = {
        "Policy": Policy, "when": when, "always": always, "all_of": all_of, "any_of": any_of, "args": args,
        "context": context, "declared": declared, "tool": tool, "path": path,
    }  # fmt: skip
    again = eval(repr(built), names)  # the text is our own
    assert again.compile().id == built.compile().id
    assert eval(repr(again), names) == again  # nested `&` and `|` are one by now
