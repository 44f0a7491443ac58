"""Conditions that read the run in YAML: what they are lowered to, and the diagnostics of mistakes."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
import yaml
from msgspec import UNSET

from bobcat.diagnostics.model import Diagnostic
from bobcat.frontend.strict.json_schema import policy_schema
from bobcat.frontend.strict.policy import compile_strict
from bobcat.ir import construct
from bobcat.ir.canonical import definition_name, encode
from bobcat.ir.schema import (
    CallEvent,
    Definition,
    Formerly,
    Formula,
    FormulaDefinition,
    IrPolicy,
    IrRule,
    Leaf,
    Measure,
    NotFormula,
    ResultEvent,
    Since,
    Source,
)

SECOND = 1_000_000
VALIDATOR = jsonschema_rs.Draft202012Validator(policy_schema())


def lowered(source: Any) -> IrPolicy:
    found = compile_strict(source, "policy.yaml")
    assert not found.errors, found.errors
    assert found.policy is not None
    return found.policy


def match_of(match: str, more: str = "") -> tuple[Any, dict[str, Definition]]:
    """The lowered match of the only rule, and the definitions."""
    policy = lowered(f"{more}\nrules:\n  - match: {match}\n    decision: allow\n")
    (rule,) = policy.rules
    assert isinstance(rule, IrRule)
    return rule.match, {} if policy.memory is UNSET else policy.memory


def tool(name: str) -> Leaf:
    return construct.leaf("tool", (), "eq", name)


MEASURES = {
    "{run.count.send_money.lt: 3}": (Measure(tool("send_money")), "lt", 3),
    "{run.count.send_money: 0}": (Measure(tool("send_money")), "eq", 0),
    "{'run.count[\"fs.write\"].lt': 5}": (Measure(tool("fs.write")), "lt", 5),
    "{'run.count[\"lt\"].lt': 5}": (Measure(tool("lt")), "lt", 5),
    "{run.count.pay.with_this.le: 1}": (Measure(tool("pay"), this=True), "le", 1),
    "{run.count.pay.in: [1, 2]}": (Measure(tool("pay")), "in", [1, 2]),
    "{run.count.pay.between: [1, 2]}": (Measure(tool("pay")), "between", [1, 2]),
    "{run.count.pay.lt: {ref: context.extra.most}}": (
        Measure(tool("pay")),
        "lt",
        {"ref": ["context", "extra", "most"]},
    ),
    "{run.sum.pay.amount.le: 10.5}": (Measure(tool("pay"), ("amount",)), "le", 10.5),
    "{run.sum.pay.a.b.with_this.le: 1}": (Measure(tool("pay"), ("a", "b"), this=True), "le", 1),
    '{\'run.sum["fs.pay"]["a.b"].le\': 1}': (Measure(tool("fs.pay"), ("a.b",)), "le", 1),
    "{'run.sum.pay[\"with_this\"].le': 1}": (Measure(tool("pay"), ("with_this",)), "le", 1),
    "{run.count.pay: {lt: 3, within: 90s}}": (Measure(tool("pay"), within=90 * SECOND), "lt", 3),
    "{run.count.pay: {lt: 3, within: 15m}}": (Measure(tool("pay"), within=900 * SECOND), "lt", 3),
    "{run.count.pay: {lt: 3, within: 1h}}": (Measure(tool("pay"), within=3600 * SECOND), "lt", 3),
    "{run.count.pay: {lt: 3, within: 2d}}": (Measure(tool("pay"), within=172_800 * SECOND), "lt", 3),
    "{run.count.pay: {lt: 3, within: 0.5}}": (Measure(tool("pay"), within=SECOND // 2), "lt", 3),
    "{run.count.pay: {lt: 3, by: tenant}}": (Measure(tool("pay"), by="tenant"), "lt", 3),
    "{run.count.pay.with_this: {lt: 3, by: session}}": (Measure(tool("pay"), by="session", this=True), "lt", 3),
    "{run.count: {of: {tool: pay}, with_this: {le: 3}}}": (Measure(tool("pay"), this=True), "le", 3),
    "{run.sum: {of: {tool: pay}, field: a.b, le: 3}}": (Measure(tool("pay"), ("a", "b")), "le", 3),
}


@pytest.mark.parametrize("text", MEASURES)
def test_a_measure_is_a_leaf_with_the_name_of_its_definition(text: str) -> None:
    definition, op, operand = MEASURES[text]
    name = definition_name(definition)
    match, memory = match_of(text)
    assert match == Leaf("run", (name,), op, operand)
    assert memory == {name: definition}


def test_two_operators_of_one_measure_share_a_definition() -> None:
    match, memory = match_of("{run.count.pay: {gt: 1, lt: 3}}")
    name = definition_name(Measure(tool("pay")))
    assert match == construct.all_([Leaf("run", (name,), "gt", 1), Leaf("run", (name,), "lt", 3)])
    assert list(memory) == [name]


def test_a_measure_with_and_without_the_call_has_two_definitions() -> None:
    _, memory = match_of("{run.count.pay: {lt: 3, with_this: {le: 5}}}")
    assert {definition.this for definition in memory.values() if isinstance(definition, Measure)} == {True, False}


def test_an_operand_can_be_a_measure() -> None:
    name = definition_name(Measure(tool("pay")))
    match, memory = match_of("{args.n.eq: {ref: run.count.pay}}")
    assert match == Leaf("args", ("n",), "eq", {"ref": ["run", name]})
    assert list(memory) == [name]


EDIT, TESTS = CallEvent(tool("edit")), ResultEvent(
    construct.all_([tool("test"), construct.leaf("result", ("exit_code",), "eq", 0)])
)  # fmt: skip
_EDIT, _TESTS = "{call: {tool: edit}}", "{result: {tool: test, result.exit_code: 0}}"
SEQUENCES: dict[str, Formula] = {
    "{run.after: {tool: edit}}": Formerly(EDIT),
    f"{{run.formerly: {_EDIT}}}": Formerly(EDIT),
    "{run.formerly: {call: {tool: edit}, within: 1h}}": Formerly(EDIT, 3600 * SECOND),
    "{run.formerly: {result: {tool: test, result.exit_code: 0}}}": Formerly(TESTS),
    f"{{run.previous: {_EDIT}}}": EDIT,
    f"{{run.since: {{holds: {{not: {_EDIT}}}, start: {_TESTS}}}}}": Since(NotFormula(EDIT), TESTS),
    f"{{run.since: {{holds: {{not: {_EDIT}}}, start: {_TESTS}, within: 5m}}}}": Since(
        NotFormula(EDIT), TESTS, 300 * SECOND
    ),
    f"{{run.never: {{event: {_EDIT}, since: {_TESTS}}}}}": Since(NotFormula(EDIT), TESTS),
    "{run.last: {tool: edit}}": Since(NotFormula(CallEvent(construct.TRUE)), EDIT),
    f"{{run.formerly: {{formerly: {_EDIT}, within: 5m}}}}": Formerly(Formerly(EDIT), 300 * SECOND),
    f"{{run.formerly: {{not: {{formerly: {_EDIT}, within: 5m}}}}}}": Formerly(NotFormula(Formerly(EDIT, 300 * SECOND))),
    f"{{run.formerly: {{all_of: [{_EDIT}, {_EDIT}]}}}}": Formerly(EDIT),
    f"{{run.formerly: {{not: {{not: {_EDIT}}}}}}}": Formerly(EDIT),
}


@pytest.mark.parametrize("text", SEQUENCES)
def test_a_sequence_is_a_leaf_that_is_true(text: str) -> None:
    definition = FormulaDefinition(SEQUENCES[text])
    name = definition_name(definition)
    match, memory = match_of(text)
    assert match == Leaf("run", (name,), "eq", True)
    assert memory == {name: definition}


SOURCES = """
sources:
  directory: {tool: search, fields: [email, address.mail], asked_with: task}
  mine: {tool.in: [list, find], fields: [id_], where: {name.starts_with: a, args.q: 5, record.args: 6}}
  posted: {tool: read, links_in: [body], asked_with: [task, directory], description: links of the channel}
"""


def test_sources_are_named_by_their_content() -> None:
    directory = Source(tool("search"), (("address", "mail"), ("email",)), asked_with=("task",))
    mine = Source(
        construct.leaf("tool", (), "in", ["list", "find"]),
        (("id_",),),
        where=construct.all_(
            [
                construct.leaf("record", ("name",), "starts_with", "a"),
                construct.leaf("args", ("q",), "eq", 5),
                construct.leaf("record", ("args",), "eq", 6),
            ]
        ),
    )
    names = {name: definition_name(item, name) for name, item in (("directory", directory), ("mine", mine))}
    posted = Source(tool("read"), (("body",),), links=True, asked_with=(names["directory"], "task"))
    names["posted"] = definition_name(posted, "posted")
    match, memory = match_of("{args.who.from: [task, posted], args.f.from: mine, args.x.any: {from: task}}", SOURCES)
    assert memory == {names["directory"]: directory, names["mine"]: mine, names["posted"]: posted}
    assert match == construct.all_(
        [
            Leaf("args", ("who",), "from", {"sources": sorted(["task", names["posted"]])}),
            Leaf("args", ("f",), "from", {"sources": [names["mine"]]}),
            construct.leaf("args", ("x",), "any", {"tests": [{"op": "from", "operand": {"sources": ["task"]}}]}),
        ]
    )


def test_only_definitions_that_rules_read_are_in_the_policy() -> None:
    _, memory = match_of("{args.f.from: mine}", SOURCES)
    assert [name.partition("-")[0] for name in memory] == ["mine"]
    assert lowered(SOURCES + "rules: []").memory is UNSET
    unused = "predicates: {few: {run.count.pay.lt: 3}}\nrules: [{match: {tool: x}, decision: deny}]"
    assert lowered(unused).memory is UNSET


def test_a_policy_without_memory_has_the_bytes_that_it_had() -> None:
    assert b"memory" not in encode(lowered("rules: [{match: {tool: x}, decision: deny}]"))


def test_equal_definitions_have_one_name_however_they_are_written() -> None:
    first, _ = match_of("{run.count.pay: {lt: 3, within: 1h}}")
    for other in ("{run.count.pay: {within: 60m, lt: 3}}", "{run.count: {of: {tool: pay}, lt: 3, within: 3600}}"):
        assert match_of(other)[0] == first


def test_predicates_hold_conditions_on_the_run() -> None:
    more = "predicates: {few: {run.count.pay.lt: 3}}"
    match, memory = match_of("few", more)
    assert match == Leaf("run", (definition_name(Measure(tool("pay"))),), "lt", 3)
    assert len(memory) == 1


def test_a_predicate_of_calls_is_part_of_a_definition() -> None:
    match, _ = match_of("{run.count: {of: paying, lt: 3}}", "predicates: {paying: {tool.in: [pay, send]}}")
    of = construct.leaf("tool", (), "in", ["pay", "send"])
    assert match == Leaf("run", (definition_name(Measure(of)),), "lt", 3)


def rule(match: str) -> str:
    return f"rules:\n  - match: {match}\n    decision: allow\n"


MISTAKES = {
    "{run: 5}": ("E0309", "run.count"),
    "{run.cuont.pay.lt: 3}": ("E0302", "did you mean `run.count.pay.lt`?"),
    "{run.total.pay.amount.lt: 3}": ("E0302", "did you mean `run.sum.pay.amount.lt`?"),
    "{run.count.fs.write.lt: 5}": ("E1005", 'run.count["fs.write"].lt'),
    "{run.count.lt: 5}": ("E1005", "run.count.send_money.lt"),
    "{run.count: 5}": ("E0204", "run.count.NAME.le: 3"),
    "{run.sum.send_money.le: 5}": ("E1005", "run.sum.send_money.amount.le"),
    "{'run.sum[\"fs.pay\"].le': 5}": ("E1005", 'run.sum["fs.pay"].amount.le'),
    "{run.count.pay.exists: true}": ("E0406", "`lt`"),
    "{run.count.pay.matches: x}": ("E0406", "`lt`"),
    "{run.count.pay.lt: many}": ("E0401", "write a number"),
    "{run.count.pay.equals: 3}": ("E0303", "run.count.pay.eq"),
    "{run.count.pay: {within: 1h}}": ("E1005", "le: 3"),
    "{run.count.pay: {lte: 3}}": ("E0202", "did you mean `le`?"),
    "{run.count.pay: {lt: 3, wihtin: 1h}}": ("E0202", "did you mean `within`?"),
    "{run.count.pay: {lt: 3, by: user}}": ("E0206", "did you mean `principal`?"),
    "{run.count.pay: {lt: 3, of: {tool: x}}}": ("E0202", "its keys are"),
    "{run.count: {lt: 3}}": ("E0203", "of: {tool: NAME}"),
    "{run.sum: {of: {tool: x}, lt: 3}}": ("E0203", "field: amount"),
    "{run.count.pay: {lt: 3, within: 1 hour}}": ("E1006", "write `1h`"),
    "{run.count.pay: {lt: 3, within: 1h30m}}": ("E1006", "write `90m`"),
    "{run.count.pay: {lt: 3, within: 2 weeks}}": ("E1006", "write `14d`"),
    "{run.count.pay: {lt: 3, within: -5}}": ("E1006", "`1h`"),
    "{run.count.pay: {lt: 3, within: 0}}": ("E1006", "whole run"),
    "{run.count.pay: {lt: 3, within: 0s}}": ("E1006", "whole run"),
    "{run.count.pay: {lt: 3, within: soon}}": ("E1006", "`1h`"),
    "{run.count.pay: {lt: 3, within: true}}": ("E1006", "`1h`"),
    "{run.count.pay: {lt: 3, within: [1h]}}": ("E1006", "`1h`"),
    "{run.count.pay: {lt: 3, within: 99999d}}": ("E1006", "whole run"),
    "{run.count.pay: {with_this: 3}}": ("E0204", "with_this: {le: 3}"),
    "{run.count.pay.with_this: {with_this: {le: 3}}}": ("E1005", "keep one"),
    "{run.count: {of: {run.count.pay.lt: 3}, lt: 3}}": ("E1008", "write it in a rule"),
    "{run.count: {of: {args.x.from: task}, lt: 3}}": ("E1008", "write it in a rule"),
    "{run.count: {of: few, lt: 3}}": ("E1008", "write it in a rule"),
    "{run.count: {of: {result.x: 1}, lt: 3}}": ("E1009", "run.formerly"),
    "{result.exit_code: 0}": ("E1009", "run.formerly"),
    "{record.name: 0}": ("E1009", "where"),
    "{run.after.tool: x}": ("E1005", "write `run.after: {...}`"),
    "{run.after: {tool: x, within: 1h}}": ("E1007", "run.formerly"),
    "{run.after: nobody_defined}": ("E0501", "predicates"),
    "{run.formerly: {tool: x}}": ("E1007", "write `call: {tool: ...}`"),
    "{run.formerly: {result.x: 1}}": ("E1007", "write `result: {result.x: ...}`"),
    "{run.formerly: {}}": ("E1007", "write one of"),
    "{run.formerly: x}": ("E1007", "call: {tool: NAME}"),
    "{run.formerly: {call: {tool: a}, result: {tool: a}}}": ("E1007", "all_of"),
    "{run.formerly: {cal: {tool: a}}}": ("E1007", "did you mean `call`?"),
    "{run.formerly: {not: {call: {tool: a}, within: 1h}}}": ("E1007", "`since`"),
    "{run.formerly: {not: {formerly: {call: {tool: a}, within: 1h}, within: 1h}}}": ("E1007", "keep one"),
    "{run.formerly: {any_of: []}}": ("E0409", None),
    "{run.formerly: {not: {formerly: {formerly: {call: {tool: a}}, within: 1h}, within: 5m}}}": ("E1007", "keep one"),
    "{run.since: {call: {tool: x}}}": ("E0202", "`holds`"),
    "{run.since: {holds: {call: {tool: x}}}}": ("E0203", "start"),
    "{run.never: {event: {call: {tool: x}}, since: {call: {tool: y}}, within: 1h}}": ("E1007", "`since`"),
    "{args.who.from: directry}": ("E1001", "did you mean `directory`?"),
    "{args.mail.from: a@example.com}": ("E1001", 'args.mail["from"]'),
    "{args.who.from: context.task}": ("E1001", "write `task`"),
    "{args.who.from: []}": ("E0409", None),
    "{args.who.from: {ref: context.task}}": ("E0414", None),
    "{args.who.any: {from: nobody_here}}": ("E1001", "the sources are `task`, `directory`"),
}


@pytest.mark.parametrize("match", MISTAKES)
def test_a_mistake_in_a_rule_has_a_code_a_place_and_a_help(match: str) -> None:
    code, help = MISTAKES[match]
    text = "sources: {directory: {tool: search, fields: [email]}}\npredicates: {few: {run.count.pay.lt: 3}}\n" + rule(
        match
    )
    found = compile_strict(text, "policy.yaml").errors
    assert [item.code for item in found] == [code], found
    (item,) = found
    assert item.span is not None
    assert (item.span.file, item.span.line) == ("policy.yaml", 4)
    assert item.span.column >= 12
    if help is not None:
        assert help in (item.help or "")


BAD_SOURCES = {
    "{tool: search}": ("E0203", "fields: [email]"),
    "{fields: [email]}": ("E0203", "tool: search_contacts"),
    "{tool: search, fields: email}": ("E0207", "fields: [email]"),
    "{tool: search, fields: []}": ("E0409", None),
    "{tool: search, fields: [a..b]}": ("E0305", None),
    "{tool: search, fields: [5]}": ("E0204", None),
    "{tool: search, fields: [a], links_in: [b]}": ("E1003", "two sources"),
    "{tool: search, field: [a]}": ("E0202", "did you mean `fields`?"),
    "{tool: search, links: [a]}": ("E0202", "did you mean `links_in`?"),
    "{tool: search, fields: [a], asked_with: nothing}": ("E1001", "task"),
    "{tool: search, fields: [a], asked_with: s}": ("E1004", "break the cycle"),
    "{tool: search, fields: [a], where: {run.after: {tool: x}}}": ("E1008", None),
    "{tool: search, fields: [a], where: {a.from: task}}": ("E1008", None),
    "{tool: search, fields: [a], where: {result.x: 1}}": ("E1009", None),
    "{tool: search, fields: [a], run.count.x.lt: 3}": ("E1008", None),
    "{record.x: 1, fields: [a]}": ("E1009", None),
    "search": ("E0204", "fields"),
}


@pytest.mark.parametrize("body", BAD_SOURCES)
def test_a_mistake_in_a_source_has_a_code_and_a_help(body: str) -> None:
    code, help = BAD_SOURCES[body]
    text = f"sources:\n  s: {body}\n" + rule("{args.x.from: s}")
    found = compile_strict(text, "policy.yaml").errors
    assert [item.code for item in found] == [code], found
    assert found[0].span is not None
    assert found[0].span.line == 2
    assert help is None or help in (found[0].help or "")


@pytest.mark.parametrize("name", ["task", "a-b", "1a", "a.b", "", "ä", "a b"])
def test_the_name_of_a_source_is_a_word_that_is_not_reserved(name: str) -> None:
    found = compile_strict({"sources": {name: {"tool": "x", "fields": ["a"]}}, "rules": []}, "policy.yaml").errors
    assert [item.code for item in found] == ["E1002"]


def nested(levels: int) -> Any:
    formula: Any = {"call": {"tool": "x"}}
    for _ in range(levels):
        formula = {"previous": formula}
    return {"rules": [{"match": {"run.formerly": formula}, "decision": "deny"}]}


def test_a_formula_has_a_depth_and_a_size() -> None:
    assert not compile_strict(nested(14), "policy.yaml").errors
    assert [item.code for item in compile_strict(nested(15), "policy.yaml").errors] == ["E1007"]
    assert [item.code for item in compile_strict(nested(40), "policy.yaml").errors] == ["E1007"]
    calls = [{"call": {"tool": f"t{i}"}} for i in range(100)]
    rules = [{"match": {"run.formerly": {"any_of": calls[:count]}}, "decision": "deny"} for count in (98, 99)]
    assert not compile_strict({"rules": rules[:1]}, "policy.yaml").errors
    assert [item.code for item in compile_strict({"rules": rules[1:]}, "policy.yaml").errors] == ["E1007"]


def test_a_policy_has_a_number_of_definitions() -> None:
    rules = [{"match": {f"run.count.t{i}.lt": 3}, "decision": "allow"} for i in range(1_001)]
    assert not compile_strict({"rules": rules[1:]}, "policy.yaml").errors
    assert [item.code for item in compile_strict({"rules": rules}, "policy.yaml").errors] == ["E1010"]


def test_the_schema_accepts_what_the_compiler_accepts() -> None:
    texts = [*(rule(text) for text in (*MEASURES, *SEQUENCES)), SOURCES + rule("{args.x.from: posted}")]
    for text in texts:
        found = compile_strict(text, "policy.yaml")
        assert found.data is not None
        VALIDATOR.validate(found.data())


BEYOND_A_SCHEMA = ("E0501", "E1001", "E1004", "E1008", "E1009")
"""Codes of mistakes with names, and with the places of keys."""
UNSEEN = (
    "many",
    "0s}",
    "99999d",
    "keep one",
    "with_this: {with_this",
    "within: 1h}, within: 1h",
    "within: 1h}, within: 5m",
)
"""Parts of mistakes with types of operands, lengths of windows, and two of one option."""
SEEN = [
    text
    for text, (code, _) in MISTAKES.items()
    if code not in BEYOND_A_SCHEMA and not any(part in text for part in UNSEEN)
]


@pytest.mark.parametrize("match", SEEN)
def test_the_schema_refuses_most_mistakes(match: str) -> None:
    assert not VALIDATOR.is_valid(yaml.safe_load(rule(match)))


def test_all_mistakes_are_reported_at_once() -> None:
    text = "sources: {s: {tool: x}, task: {tool: x, fields: [a]}}\n" + rule("{run.cuont.x.lt: 1, run.formerly: {}}")
    codes = {item.code for item in compile_strict(text, "policy.yaml").errors}
    assert codes == {"E0203", "E1002", "E0302", "E1007"}


def test_a_source_that_no_rule_uses_is_observed() -> None:
    found = compile_strict(SOURCES + rule("{args.x.from: posted}"), "policy.yaml")
    observed = [item for item in found.findings if not isinstance(item, Diagnostic)]
    assert [(item.lint, dict(item.facts)["name"]) for item in observed] == [("unused-source", "mine")]


def test_a_plain_argument_that_is_called_from_stays_one() -> None:
    match, memory = match_of("{args.from: a@example.com, 'args.mail[\"from\"]': x}")
    assert not memory
    assert match == construct.all_(
        [construct.leaf("args", ("from",), "eq", "a@example.com"), construct.leaf("args", ("mail", "from"), "eq", "x")]
    )


def test_more_sources_than_the_table_has_bits_for_are_refused() -> None:
    sources = {f"s{i}": {"tool": "x", "fields": ["a"]} for i in range(64)}
    found = compile_strict({"sources": sources, "rules": []}, "policy.yaml").errors
    assert [item.code for item in found] == ["E1003"]
