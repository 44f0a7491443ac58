"""The table of `docs/reference/analysis.md`: which construct is answered exactly, and which is unknown.

`BOBCAT_UPDATE_CONSTRUCTS=1 pytest tests/analysis/test_constructs.py` writes it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bobcat import Policy, allow
from bobcat.analysis import Answer, Proof, Unknown, Witness, can

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "analysis.md"
BEGIN, END = "<!-- constructs -->\n", "<!-- /constructs -->"
UPDATE = os.environ.get("BOBCAT_UPDATE_CONSTRUCTS") == "1"

Match = dict[str, Any]
CONSTRUCTS: dict[str, Match] = {
    "`eq`, also of null, bools and numbers": {"args.x": 5},
    "`eq` of a list or a mapping": {"args.x.eq": [1, 2]},
    "`in`, `not_in`": {"args.x.in": ["a", "b", 3]},
    "`exists`, `empty`": {"args.x.empty": False},
    "`gt`, `ge`, `lt`, `le`, `between` of numbers": {"args.x.between": [3, 9]},
    "`gt`, `between` of texts": {"args.x.between": ["b", "d"]},
    "`context.timestamp`": {"context.timestamp.ge": "2026-01-31T12:00:00Z"},
    "`matches`, `glob`": {"args.x.matches": r"^(a|b)[0-9]{2}\b"},
    "`starts_with`, `ends_with`": {"args.x.starts_with": "/srv/"},
    "`contains` of a text": {"args.x.contains_any": ["key", "secret"]},
    "`length`, `byte_length` of a text": {"args.x.length.between": [2, 4]},
    "`lower`": {"args.x.lower.matches": "^rm "},
    "`contains`, `subset_of`, `length` of a list": {"args.x.subset_of": ["a", "b"]},
    "`any`, `all`, `none`, `first`": {"args.x.all": {"in": ["a", "b"]}},
    "`all_of`, `any_of`, `not`": {"any_of": [{"args.x": 1}, {"not": {"args.y": 2}}]},
    "`ref` to another path": {"args.x.eq": {"ref": "context.principal.id"}},
    "`ref` in a chain of `lt` or `ge`": {
        "args.x.lt": {"ref": "args.y"},
        "args.y.lt": {"ref": "args.z"},
        "args.v.ge": {"ref": "args.z"},
    },
    "`ref` in `any`, `all`, `none`": {"args.x.any": {"eq": {"ref": "args.y"}}},
    "`occurs_in`": {"args.x.occurs_in": "a task with words"},
    "`url`": {"args.x.url.host": "example.org"},
    "`path`": {"args.x.path.within": "/srv"},
    "`ip`, `cidr`": {"args.x.ip.within": "10.0.0.0/8"},
    "`within` of an `ip` beside its flags": {"args.x.ip": {"within": "168.0.0.0/6", "is_metadata": True}},
    "`email`, `semver`, `json`": {"args.x.semver.ge": "1.2.0"},
    "`shell`": {"args.x.shell.all": {"program": "ls"}},
    "`sql`": {"args.x.sql.verbs.subset_of": ["select"]},
    "`run.count`, `run.sum`": {"run.count.pay.lt": 3},
    "`run.after`, `run.formerly` and other sequences": {"run.after": {"tool": "review"}},
}


def by_python(request: Any, context: Any) -> Any:
    if request.tool == "t" and request.args.get("x") == 1:
        return allow("")
    return None


def by_loop(request: Any, context: Any) -> Any:
    if request.tool == "t":
        for key, value in request.args.items():
            if key == "x" and value == 1:
                return allow("")
    return None


def by_callable(request: Any, context: Any) -> Any:
    return allow("") if random.random() >= 0 and request.tool == "t" else None


def transformed(**transform: Any) -> Policy:
    rule = {"id": "a", "match": {"tool": "t", "args.x": 1}, "decision": "transform", "transform": transform}
    before = {"id": "before", "match": {"tool": "t", "args.y": 3}, "decision": "deny", "priority": 1}
    return Policy.compile({"rules": [rule, before]})


def layered() -> Policy:
    one = Policy.compile({"rules": [{"id": "a", "match": {"tool": "t"}, "decision": "allow"}]})
    two = Policy.compile({"rules": [{"id": "b", "match": {"tool": "t", "args.x": 1}, "decision": "allow"}]})
    return Policy.layered({"one": one, "two": two})


POLICIES: dict[str, Callable[[], Policy]] = {
    "`transform` with `set`": lambda: transformed(jsonpath="$.args.y", set=2),
    "`transform` with `append`": lambda: transformed(jsonpath="$.args.z", append="x"),
    "`transform` with `delete`": lambda: transformed(jsonpath="$.args.y", delete=True),
    "layers": layered,
    "compiled Python rules of [followed tests](#python-rules)": lambda: Policy.compile(
        {"rules": []}, python_rules=[by_python]
    ),
    "other compiled Python rules": lambda: Policy.compile({"rules": []}, python_rules=[by_loop]),
    "Python rules that stay callables": lambda: Policy.compile(
        {"rules": []}, python_rules=[by_callable], uncompiled="callable"
    ),
}
"""Policies that permit calls of the tool `t` in which `x` is 1, and no other ones."""
PERMITTED = ("allow", "transform")


def column(answer: Answer, expected: type[Witness] | type[Proof]) -> str:
    if isinstance(answer, Unknown):
        return f"unknown: {', '.join(f'`{code}`' for code in sorted({reason.code for reason in answer.reasons}))}"
    assert isinstance(answer, expected)
    return "found" if expected is Witness else "proved"


def compiled(match: Match) -> Policy:
    return Policy.compile({"rules": [{"id": "a", "match": {"tool": "t", **match}, "decision": "allow"}]})


def rows() -> list[str]:
    found = ["| construct | a call | a proof |", "|---|---|---|"]
    for name, match in CONSTRUCTS.items():
        policy = compiled(match)
        call = column(can(policy, tool="t"), Witness)
        guarded = Policy.compile({
            "rules": [
                {"id": "not-other", "match": {"tool": "t", "not": match}, "decision": "deny", "priority": 1},
                {"id": "all", "match": {"tool": "t"}, "decision": "allow"},
            ]
        })  # fmt: skip
        proof = column(can(guarded, tool="t", when={"not": match}), Proof)
        found.append(f"| {name} | {call} | {proof} |")
    for name, made in POLICIES.items():
        policy = made()
        call = column(can(policy, tool="t", verdict=PERMITTED), Witness)
        proof = column(can(policy, tool="t", when={"args.x": 2}, verdict=PERMITTED), Proof)
        found.append(f"| {name} | {call} | {proof} |")
    return found


def test_the_page_lists_what_is_exact() -> None:
    table = "\n".join(rows()) + "\n"
    text = PAGE.read_text(encoding="utf-8")
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    if UPDATE:
        PAGE.write_text(f"{head}{BEGIN}{table}{END}{tail}", encoding="utf-8")
    assert f"{BEGIN}{table}{END}" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_an_unknown_construct_has_a_reason(name: str) -> None:
    answer = can(compiled(CONSTRUCTS[name]), tool="t")
    assert isinstance(answer, Witness) or (isinstance(answer, Unknown) and answer.reasons)
