"""Definitions of memory in the IR: canonical bytes, names, listings."""

from __future__ import annotations

import msgspec
import pytest

from bobcat.ir import canonical, construct
from bobcat.ir.pretty import policy_text
from bobcat.ir.schema import (
    AllFormula,
    CallEvent,
    Definition,
    Formerly,
    FormulaDefinition,
    IrPolicy,
    Measure,
    NotFormula,
    Previous,
    ResultEvent,
    Since,
    Source,
)
from bobcat.ir.visit import definition_exprs

PAY = construct.leaf("tool", (), "eq", "pay")
TESTS = construct.leaf("result", ("exit_code",), "eq", 0)
HOUR = 3_600_000_000
DEFINITIONS: list[Definition] = [
    Measure(PAY),
    Measure(PAY, ("amount",)),
    Measure(PAY, ("amount",), within=HOUR),
    Measure(PAY, ("amount",), by="tenant"),
    Measure(PAY, ("amount",), this=True),
    FormulaDefinition(CallEvent(PAY)),
    FormulaDefinition(Formerly(CallEvent(PAY))),
    FormulaDefinition(Formerly(CallEvent(PAY), within=HOUR)),
    FormulaDefinition(Previous(ResultEvent(TESTS))),
    FormulaDefinition(Since(NotFormula(CallEvent(PAY)), AllFormula((ResultEvent(TESTS), CallEvent(PAY))))),
    Source(PAY, (("email",),)),
    Source(PAY, (("email",),), links=True),
    Source(PAY, (("email",), ("a", "b")), where=TESTS, asked_with=("task",)),
]


def policy(*definitions: Definition) -> IrPolicy:
    named = {canonical.definition_name(item, "directory"): item for item in definitions}
    return construct.policy([construct.rule("pay", PAY, "allow")], memory=named)


def test_definitions_survive_their_canonical_bytes() -> None:
    whole = policy(*DEFINITIONS)
    data = canonical.encode(whole)
    assert msgspec.json.decode(data, type=IrPolicy) == whole
    assert canonical.encode(msgspec.json.decode(data, type=IrPolicy)) == data


def test_each_definition_has_a_name_of_its_own() -> None:
    names = [canonical.definition_name(item, "directory") for item in DEFINITIONS]
    assert len(set(names)) == len(names)
    assert [name.partition("-")[0] for name in names] == ["count"] + ["sum"] * 4 + ["formula"] * 5 + ["directory"] * 3


def test_defaults_are_absent_from_the_bytes() -> None:
    assert b"this" not in canonical.encode(Measure(PAY))
    assert b"within" not in canonical.encode(Measure(PAY))
    assert b"where" not in canonical.encode(Source(PAY, (("email",),)))


def test_a_policy_without_definitions_has_no_such_key() -> None:
    assert b"memory" not in canonical.encode(policy())


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_headers_are_compared_apart_from_the_memory(definition: Definition) -> None:
    plain = canonical.header(construct.policy([]))
    data = canonical.encode(policy(definition))
    assert canonical.has_header(data, plain)
    assert not canonical.has_header(data.replace(b'"profile":"strict"', b'"profile":"lynx"'), plain)
    assert not canonical.has_header(data.replace(b'"memory":{', b'"memory":[', 1), plain)


def test_listings_show_definitions() -> None:
    text = policy_text(policy(*DEFINITIONS))
    assert "sum of args.amount within 3600 s" in text
    assert "with this call" in text
    assert "by tenant" in text
    assert "since: start, then holds" in text
    assert "links in record.email" in text
    assert "asked with task" in text
    drawn = construct.leaf("args", ("to",), "from", construct.sources(["task", "directory-1", "task"]))
    assert "args.to from directory-1, task" in policy_text(construct.policy([construct.rule("a", drawn, "allow")]))


def test_expressions_are_visited_in_order() -> None:
    visited = [list(definition_exprs(item)) for item in DEFINITIONS[-4:]]
    assert visited == [[PAY, TESTS, PAY], [PAY], [PAY], [PAY, TESTS]]
