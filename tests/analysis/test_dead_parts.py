"""`analysis.dead`, `surface` and `holes`, beside the decisions of a small domain."""

from __future__ import annotations

import random
from itertools import islice

import msgspec
import pytest

import campaign
from analysis.enumeration import Enumeration, requests
from analysis.generated_policies import DOMAIN, compiled, policy_source
from analysis.long_policies import long_source
from bobcat import Policy, Request
from bobcat.analysis import Unknown, Witness, dead, diff, holes, surface
from bobcat.analysis.dead_clauses import dead_places, without
from bobcat.analysis.dead_rules import without_rule
from bobcat.analysis.deciding import DecidingRules
from bobcat.analysis.engine import Effort, Questions
from bobcat.analysis.findings import dead_findings
from bobcat.analysis.variations import KINDS
from bobcat.ir.schema import IrRule

PARTS = 4
SEEDS = campaign.rounds(60)
REQUESTS = list(requests(DOMAIN))


def decided(policy: Policy) -> list[tuple[str, object]]:
    return [
        (decisions[0].verdict.value, decisions[0].transform_args)
        for _, _, decisions in Enumeration([policy], REQUESTS).each()
    ]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_dead_clause_changes_no_decision(part: int) -> None:
    for seed in campaign.seeds(SEEDS, part, PARTS):
        policy = compiled(policy_source(random.Random(seed), transforms=False))
        before = decided(policy)
        indexes = range(len(policy.ir.rules))
        for index, at in islice(dead_places(policy, indexes, Effort()), 6):
            rule = policy.ir.rules[index]
            assert isinstance(rule, IrRule)
            rules = [*policy.ir.rules]
            rules[index] = msgspec.structs.replace(rule, match=without(rule.match, at))
            changed = Policy.from_policy(msgspec.structs.replace(policy.ir, rules=tuple(rules)))
            assert decided(changed) == before, (seed, index, at)


def test_a_dead_clause_is_listed_with_its_text_and_place() -> None:
    text = "rules:\n  - id: a\n    match: {tool: t, args.x.gt: 5, all_of: [{args.x.gt: 3}]}\n    decision: allow\n"
    (clause,) = dead(Policy.compile(text, source_path="p.yaml")).clauses
    assert clause.text == "args.x > 3"
    assert clause.span is not None
    assert (clause.span.file, clause.span.line) == ("p.yaml", 3)


def test_several_rules_together_take_all_calls_of_another() -> None:
    found = dead("""
rules:
  - {id: low, match: {tool: t, args.n.lt: 5}, decision: allow}
  - {id: high, match: {tool: t, args.n.ge: 5}, decision: deny}
  - {id: other, match: {tool: u}, decision: allow}
  - {id: some, match: {tool: t, args.n.between: [1, 9]}, decision: deny}
""")
    (rule,) = found.rules
    assert (rule.rule.id, rule.why) == ("some", "shadowed")
    assert [item.id for item in rule.culprits] == ["low", "high"]


def test_a_contradiction_and_a_shadowed_rule_have_different_reasons() -> None:
    found = dead("rules: [{id: a, match: {tool: t, args.n.lt: 1, args.n.gt: 2}, decision: allow}]")
    assert [(item.rule.id, item.why) for item in found.rules] == [("a", "contradiction")]


@pytest.mark.parametrize("others", [0, 300])
def test_a_transform_that_is_an_error_on_every_call_has_a_reason_of_its_own(others: int) -> None:
    more = "".join(f"  - {{id: o{n}, match: {{tool: t, args.n: {n}}}, decision: deny}}\n" for n in range(others))
    found = dead(f"""
rules:
  - {{id: number, match: {{tool: t, args.x: 1}}, decision: transform, transform: {{jsonpath: $.args.x, append: y}}}}
  - {{id: below, match: {{tool: t, args.x: a}}, decision: transform, transform: {{jsonpath: $.args.x.y, set: 1}}}}
  - {{id: text, match: {{tool: t, args.x: b}}, decision: transform, transform: {{jsonpath: $.args.x, append: y}}}}
{more}""")
    assert [(item.rule.id, item.why, item.culprits) for item in found.rules] == [
        ("number", "cannot_transform", ()),
        ("below", "cannot_transform", ()),
    ]
    assert [item.message for item in dead_findings(found)] == [
        f"the rule `{name}` decides no call: its transform is an error on each one that it matches"
        for name in ("number", "below")
    ]


@pytest.mark.parametrize("small", ["args.n: 0", "args.n.lt: 1, args.n.gt: 7"])
def test_a_transform_takes_the_calls_that_another_rule_decides_on_its_arguments(small: str) -> None:
    """The second rule is in error on the text, and never true."""
    found = dead(
        f"""
rules:
  - {{id: small, match: {{tool: t, {small}}}, decision: deny}}
  - {{id: zero, match: {{tool: t, args.n: 5}}, decision: transform, transform: {{jsonpath: $.args.n, set: VALUE}}}}
  - {{id: five, match: {{tool: t, args.n: 5}}, decision: allow}}
""".replace("VALUE", "0" if "0" in small else "x"),
        clauses=False,
    )
    assert {item.rule.id: (item.why, [rule.id for rule in item.culprits]) for item in found.rules} == {
        "zero": ("overruled", ["small"]),
        "five": ("shadowed", ["zero"]),
    }
    assert "on the arguments that it makes, rules before it decide, such as `small`" in [
        item.message.partition(": ")[2] for item in dead_findings(found)
    ]


def test_culprits_that_are_known_for_some_tools_only_are_not_listed() -> None:
    """Which rules take the calls of other tools is unknown: a clause compares two values."""
    found = dead(
        """
rules:
  - {id: compares, match: {args.a.eq: {ref: args.b}, args.b: 2.5}, decision: deny}
  - {id: all, match: {tool: t}, decision: dry_run}
  - {id: texts, match: {args.b.lower.eq: x}, decision: deny}
  - {id: missing, match: {args.b.k.exists: false}, decision: deny}
  - {id: last, match: {args.a.exists: true}, decision: allow}
""",
        clauses=False,
    )
    (last,) = (item for item in found.rules if item.rule.id == "last")
    assert last.culprits == ()


def test_a_transform_that_cannot_be_made_is_no_culprit() -> None:
    found = dead("""
rules:
  - {id: none, match: {tool: t, args.n.ge: 5}, decision: transform, transform: {jsonpath: $.args.n, append: x}}
  - {id: large, match: {tool: t, args.n.gt: 1}, decision: deny}
  - {id: five, match: {tool: t, args.n: 5}, decision: allow}
""")
    shadowed = {item.rule.id: [rule.id for rule in item.culprits] for item in found.rules if item.why == "shadowed"}
    assert shadowed == {"five": ["large"]}


def test_a_clause_that_changes_the_terms_of_a_permission_is_not_dead() -> None:
    rules = """
rules:
  - {id: told, match: {tool: t, args.x.exists: true}, decision: %s}
  - {id: rest, match: {tool: t}, decision: allow}
"""
    with_terms = rules % "allow, obligations: [{notify: ann}]"
    assert [(clause.rule.id, clause.text) for clause in dead(rules % "allow").clauses] != []
    assert dead(with_terms).clauses == ()


@pytest.mark.parametrize(
    ("org", "team"),
    [
        ("approve_required, approvers: [ann]", "approve_required, approvers: [bob]"),
        ("allow", "allow, obligations: [{notify: ann}]"),
        ("allow", "allow"),
    ],
)
def test_a_rule_of_a_layer_is_not_dead_if_calls_are_decided_otherwise_without_it(org: str, team: str) -> None:
    def layers(lower: str) -> Policy:
        return Policy.layered(
            {
                "org": Policy.compile(f"rules: [{{id: a, match: {{tool: pay}}, decision: {org}}}]"),
                "team": Policy.compile(f"rules: [{{id: b, match: {{tool: pay}}, decision: {lower}}}]"),
            }
        )

    policy = layers(team)
    assert "team:b" not in {item.rule.id for item in dead(policy).rules}
    assert not diff(policy, without_rule(policy, 1)).same


def test_a_rule_of_a_layer_without_which_nothing_changes_is_dead() -> None:
    asks = "{match: {tool: pay, args.n.gt: %d}, decision: deny, id: %s}"
    policy = Policy.layered(
        {
            "org": Policy.compile(
                f"rules: [{asks % (1, 'a')}]\ndefaults: {{on_no_match: allow, on_missing_shadow: allow}}"
            ),
            "team": Policy.compile(f"rules: [{asks % (1, 'a')}, {asks % (5, 'b')}]"),
        }
    )
    assert {item.rule.id for item in dead(policy).rules} >= {"team:b"}
    for item in dead(policy).rules:
        assert item.rule.index is not None
        assert diff(policy, without_rule(policy, item.rule.index)).same


def test_rules_of_one_tool_are_no_culprits_where_a_rule_of_all_tools_takes_every_call() -> None:
    (found,) = dead("""
rules:
  - {id: one, match: {tool: w, args.n.gt: 3}, decision: dry_run}
  - {id: all, match: {args.n.gt: 1}, decision: allow}
  - {id: last, match: {args.n.gt: 5}, decision: allow}
""").rules
    assert found.rule.id == "last"
    assert [culprit.id for culprit in found.culprits] == ["all"]


def test_a_monitored_rule_is_not_dead() -> None:
    assert not dead("rules: [{id: a, match: {tool: t}, decision: allow, mode: monitor}]").rules


@pytest.mark.parametrize("part", range(PARTS))
def test_every_verdict_of_a_small_domain_is_on_the_surface(part: int) -> None:
    for seed in campaign.seeds(SEEDS, part, PARTS):
        policy = compiled(policy_source(random.Random(seed)))
        found = surface(policy)
        rows = {(row.tool, row.verdict) for row in found.rows}
        named = {row.tool for row in found.rows}
        for _, request, decisions in Enumeration([policy], REQUESTS).each():
            tool = request.tool if request.tool in named else None
            assert (tool, decisions[0].verdict.value) in rows
        for row in found.rows:
            if isinstance(row.answer, Witness):
                assert row.answer.decision.verdict.value == row.verdict


def test_permissions_without_a_recorded_call_are_unused() -> None:
    policy = """
rules:
  - {id: a, match: {tool: t, args.x: 1}, decision: allow}
  - {id: b, match: {tool: t, args.x: 2}, decision: allow}
"""
    found = surface(policy, traffic=[Request("t", {"x": 1})])
    unused = {(row.tool, rule.id) for row in found.unused for rule in row.rules}
    assert ("t", "b") in unused
    assert ("t", "a") not in unused


def test_the_call_of_each_row_gets_the_verdict_of_the_row() -> None:
    """A rule that restricts gives its own verdict, and denies by its error."""
    policy = Policy.compile(
        "rules: [{id: mid, match: {tool: pay, args.n.between: [1, 9]}, decision: approve_required}]"
    )
    found = surface(policy, traffic=[])
    assert {(row.verdict, row.rules[0].id) for row in found.rows if row.tool == "pay"} >= {
        ("approve_required", "mid"),
        ("deny", "mid"),
    }
    for row in found.rows:
        assert isinstance(row.answer, Witness)
        decision = policy.evaluate(row.answer.request)
        assert decision.verdict.value == row.verdict
        assert row.rules[0].id == DecidingRules(policy).of(decision)


def test_a_row_without_a_call_has_a_reason_also_for_other_tools() -> None:
    rule = "{id: few, match: {run.count.pay.lt: 3}, decision: allow}"
    rows = surface(f"rules: [{rule}]\ndefaults: {{on_missing_shadow: deny}}").rows
    unknown = {row.tool: row.answer.reasons for row in rows if isinstance(row.answer, Unknown)}
    assert {tool: [reason.code for reason in reasons] for tool, reasons in unknown.items()} == {
        "pay": ["memory"],
        None: ["memory"],
    }


def test_a_rule_that_may_give_a_verdict_is_in_its_row() -> None:
    policy = """
defaults: {on_missing_shadow: deny}
rules:
  - {id: few, match: {tool: pay, run.count.pay.lt: 3}, decision: allow}
  - {id: same, match: {tool: t, args.b.contains: {ref: args.a}}, decision: approve_required}
  - {id: never, match: {tool: t, args.a: 1, args.a.gt: 2}, decision: allow}
"""
    rows = {(row.tool, row.verdict): row for row in surface(policy).rows}
    few = rows["pay", "allow"]
    assert isinstance(few.answer, Unknown)
    assert ([rule.id for rule in few.rules], [rule.id for rule in few.unknown_rules]) == ([], ["few"])
    denied = rows["t", "deny"]  # by a default, and by the error of `same`
    assert {rule.id for rule in (*denied.rules, *denied.unknown_rules)} == {"same", "<default>"}
    assert ("t", "allow") not in rows


def test_holes_are_found_for_each_kind_that_a_denial_misses() -> None:
    policy = Policy.compile("""
rules:
  - {id: no-host, match: {tool: get, args.url: 'https://evil.example/x'}, decision: deny, priority: 1}
  - {id: get, match: {tool: get}, decision: allow}
""")
    found = holes(policy)
    assert {hole.kind for hole in found.holes} >= set(KINDS) - {"wrong_type", "list_of_one"}
    for hole in found.holes:
        assert policy.evaluate(hole.missed.request).verdict.value == "allow"
        assert policy.evaluate(hole.taken.request).verdict.value == "deny"


def test_holes_of_a_rule_that_permits_are_refused() -> None:
    with pytest.raises(ValueError, match="permits"):
        holes("rules: [{id: a, match: {tool: t}, decision: allow}]", "a")
    with pytest.raises(ValueError, match="no rule"):
        holes("rules: []", "a")


@pytest.mark.filterwarnings("ignore")  # random rules are what `check` warns of
def test_clauses_that_a_call_shows_to_matter_are_not_dead() -> None:
    policy = Policy.compile(long_source(random.Random(3), 60))
    rules = Questions([policy]).ask("rules", policy=0)["rules"]
    calls = {item["index"]: item["witness"] for item in rules if item["decides"] == "witness"}
    compared = list(dead_places(policy, list(calls), Effort()))
    assert compared
    assert list(dead_places(policy, list(calls), Effort(), calls)) == compared
