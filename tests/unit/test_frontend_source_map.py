"""The source map: rules in evaluation order, leaves of the normal form traced to where they are written."""

from __future__ import annotations

import sys

from bobcat._core import MappingNode
from bobcat.bundle.source_map import RuleSource, SourceMap
from bobcat.diagnostics.model import Diagnostic, Span
from bobcat.frontend.profiles import lower, with_python
from bobcat.frontend.python.rules import PythonRules
from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.strict.document import Document
from bobcat.frontend.yaml.source import compose
from bobcat.ir import construct
from bobcat.ir.schema import HostRule, IrPolicy, IrRule
from bobcat.ir.visit import leaves

NO_PYTHON = PythonRules()
TEXT = """\
predicates:
  prod: {context.environment: prod}
rules:
  - id: late
    description: for people
    match:
      tool.in: [b, a]
      not: {args.force.exists: true}
      any_of:
        - args.z: 1
        - prod
    decision: deny
  - id: early
    priority: 5
    match: {tool: x}
    decision: allow
"""


def lowered(source: object, python: PythonRules = NO_PYTHON) -> tuple[IrPolicy, SourceMap]:
    found = with_python(lower(source, "p.yaml", "strict", ()), python)  # type: ignore[arg-type]
    assert found.policy is not None
    assert found.source_map is not None
    return found.policy, found.source_map


def written(span: Span | None) -> str:
    assert span is not None
    lines = TEXT.splitlines()
    if span.line == span.end_line:
        return lines[span.line - 1][span.column - 1 : span.end_column - 1]
    return "\n".join([lines[span.line - 1][span.column - 1 :], lines[span.end_line - 1][: span.end_column - 1]])


def test_rules_stand_in_evaluation_order_with_their_place_in_the_file() -> None:
    policy, source_map = lowered(TEXT)
    assert [rule.id for rule in policy.rules if isinstance(rule, IrRule)] == ["early", "late"]
    assert [place.order for place in source_map.rules] == [1, 0]
    assert written(source_map.rule_span(0)) == "id: early\n    decision: allow"
    assert written(source_map.rule_span(1)) == "id: late\n    decision: deny"
    assert source_map.rules[1].description == "for people"


def test_every_leaf_of_the_normal_form_leads_to_its_text() -> None:
    policy, source_map = lowered(TEXT)
    late = policy.rules[1]
    assert isinstance(late, IrRule)
    found = {leaf.path: written(source_map.leaf_span(1, number)) for number, leaf in enumerate(leaves(late.match))}
    assert found == {
        (): "tool.in: [b, a]",
        ("force",): "args.force.exists: true",
        ("z",): "args.z: 1",
        ("environment",): "context.environment: prod",
    }


def test_host_rules_have_a_row_and_no_place() -> None:
    host = HostRule("h", 3, "m", "h", "code")
    policy, source_map = lowered(TEXT, PythonRules((host,), (RuleSource(-1, 0, 0, 0, 0, "", 0),), files=("",)))
    assert policy.rules[1] == host
    assert source_map.rule_span(1) is None
    assert len(source_map.rules) == 3


def test_rules_lowered_from_python_lead_to_their_own_file() -> None:
    function = PythonRules(
        (construct.rule("f", construct.TRUE, "deny", priority=3),),
        (RuleSource(0, 7, 1, 9, 2, "", 0),),
        files=("rules.py",),
    )
    _, source_map = lowered(TEXT, function)
    assert source_map.files == ("p.yaml", "rules.py")
    assert source_map.rule_span(1) == Span("rules.py", 7, 1, 9, 2)


def test_a_mapping_has_paths_instead_of_lines() -> None:
    _, source_map = lowered({"rules": [{"match": {"tool": "x"}, "decision": "deny"}]})
    assert source_map.rule_span(0) == Span("p.yaml", 0, 0, 0, 0, "$.rules[0]")


def test_defaults_are_placed_when_they_are_written() -> None:
    _, source_map = lowered("defaults: {on_rule_error: deny}\nrules: []")
    assert source_map.default_span(0) is None
    assert source_map.default_span(2) == Span("p.yaml", 1, 27, 1, 31)


def test_rules_that_share_a_predicate_lead_to_its_leaves_and_each_to_its_own() -> None:
    text = "predicates:\n  gone: {args.x.exists: false}\n  both: {all_of: [gone, {args.y: 1}]}\nrules:\n"
    text += "".join(
        f"  - {{id: r{number}, match: {{tool: t{number}, not: gone, any_of: [both, gone]}}, decision: deny}}\n"
        for number in range(3)
    )
    policy, source_map = lowered(text)
    for index, rule in enumerate(policy.rules):
        assert isinstance(rule, IrRule)
        lines = [place[0] for place in source_map.rules[index].leaves]
        expected = {"tool": {5 + index}, "x": {2}, "y": {3}}
        for leaf, line in zip(leaves(rule.match), lines, strict=True):
            assert line in expected[leaf.path[-1] if leaf.path else leaf.head]


def test_lowering_lets_go_of_the_nodes_of_rules_that_it_has_read() -> None:
    text = "rules:\n" + "".join(f"  - {{id: r{n}, match: {{tool: x}}, decision: deny}}\n" for n in range(4))
    report = DiagnosticCollector("p")
    root = compose(text, report)
    assert isinstance(root, MappingNode)
    nodes = [*root.value[0][1].value]
    before = [*map(sys.getrefcount, nodes)]
    end = report.span(root)
    Document(report).lower([root], release=True)
    let_go = [held - left for held, left in zip(before, map(sys.getrefcount, nodes), strict=True)]
    assert let_go == [1, 1, 1, 0]
    assert report.span(root) == end


def test_rules_of_an_alias_are_not_let_go_of() -> None:
    item = "{id: a, match: {tool: x}, decision: deny}"
    policy, _ = lowered(f"rules:\n  - &a {item}\n  - {{id: b, match: {{tool: y}}, decision: deny}}\n")
    found = lower(f"capabilities: &c [{item}, {item}]\nrules: *c\n", "p", "strict", ()).findings
    assert [rule.id for rule in policy.rules if isinstance(rule, IrRule)] == ["a", "b"]
    assert "E0210" in {item.code for item in found if isinstance(item, Diagnostic)}
