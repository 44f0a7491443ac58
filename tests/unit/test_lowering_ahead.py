"""Rules that are lowered while their text is read: the same policy, places and findings as with all read first."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from yaml.nodes import Node, SequenceNode

import campaign
from bobcat.frontend.result import LoweringResult
from bobcat.frontend.strict import document
from bobcat.frontend.strict.document import Document
from bobcat.frontend.strict.policy import compile_strict
from bobcat.ir import canonical
from diagnostic_examples import profile_of, sections

POLICY = """\
version: 1
defaults:
  on_no_match: deny
rules:
  - id: a
    priority: 3
    match: {tool: x}
    decision: deny
  - id: b
    match:
      any_of:
        - args.n.gt: 1
        - args.s.matches: ^a
    decision: approve_required
    approvers: [ann]
  - match: {tool: [y]}
    decision: allow
  - id: c
    match:
      args.yes: no
    decision: deny
  - id: d
    match: {all_of: [p]}
    decision: deny
predicates:
  p: {tool: z}
"""
PLAIN = POLICY.replace("  - match: {tool: [y]}\n    decision: allow\n", "").split("  - id: d\n")[0]
"""Without what is refused, and without predicates."""


def outcome(lowered: LoweringResult) -> list[Any]:  # Any: whatever there is to compare
    policy = None if lowered.policy is None else canonical.encode(lowered.policy)
    return [policy, lowered.source_map, lowered.diagnostics, lowered.source]


def same_both_ways(text: str) -> LoweringResult:
    eager, first = compile_strict(text, "p.yaml"), compile_strict(text, "p.yaml", eager=False)
    assert outcome(eager) == outcome(first)
    return eager


def test_a_policy_is_the_same_with_its_warnings_and_places() -> None:
    lowered = same_both_ways(PLAIN)
    assert lowered.policy is not None
    assert len(lowered.policy.rules) == 3
    assert [item.code for item in lowered.diagnostics] == ["W0110"]


@pytest.fixture
def let_go(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Of each rule that was lowered ahead, whether its nodes are gone."""
    gone: list[bool] = []
    lower_ahead = Document.lower_eagerly

    def watched(self: Document, key: Node, items: SequenceNode, index: int) -> None:
        before = weakref.ref(items.value[index - 1]) if index else None
        lower_ahead(self, key, items, index)
        if before is not None:
            gone.append(before() is None)

    monkeypatch.setattr(Document, "lower_eagerly", watched)
    return gone


def test_the_nodes_of_a_rule_are_let_go_before_the_next_one_is_read(let_go: list[bool]) -> None:
    assert compile_strict(PLAIN, "p.yaml").policy is not None
    assert let_go == [True, True]


@pytest.mark.parametrize(
    "text",
    [
        PLAIN + "predicates: {p: {tool: z}}\n",
        PLAIN.replace("id: c", "id: &c c"),
        PLAIN.replace("id: c", "id: 'c\u2028'"),
    ],
)
def test_what_is_looked_at_when_all_is_read_is_not_lowered_ahead(text: str, let_go: list[bool]) -> None:
    same_both_ways(text)
    assert let_go == []


LATER = '"\\x70redicates": {p: {tool: x}}'  # no plain `predicates` in the text
PREDICATES_LATER = [
    "rules: [{id: a, match: p, decision: deny}, {id: b, match: {}, decision: deny}]\npredicates: {p: {tool: x}}",
    "rules: [{id: a, match: p, decision: deny}, {id: b, match: {}, decision: deny}]\n" + LATER,
    "rules: [{id: a, match: {}, decision: deny}, {id: b, match: p, decision: deny}]\n" + LATER,
    "rules: [{id: a, match: {}, decision: deny}, {id: b, match: {}, decision: deny}]\n" + LATER,
]


@pytest.mark.parametrize("text", PREDICATES_LATER)
def test_predicates_may_come_after_their_rules(text: str) -> None:
    lowered = same_both_ways(text)
    assert lowered.policy is not None
    assert len(lowered.policy.rules) == 2


@pytest.mark.parametrize(
    "text",
    [
        "- [1, 2]\n- [3, 4]\n",
        "? [1, 2]\n: [3, 4]\n",
        "? {rules: x}\n: [3, 4]\n",
        "{rules: [a, b], rules: [c, d]}",
        "{rules: [{decision: deny}, b], rules: [{match: {}, decision: deny}, {match: {}, decision: deny}]}",
        "rules: {rules: [{match: {}, decision: deny}, {match: {}, decision: deny}]}",
        "others: [{match: {}, decision: deny}, {match: {}, decision: deny}]\nrules: []",
        "rules: [[{match: {}, decision: deny}, {match: {}, decision: deny}]]",
        "rules: [{match: {}, decision: deny}, {match: {}, decision: deny}]\n---\nrules: [{}, {}]",
        "rules: [{match: {}, decision: deny}, {match: {}, decision: deny}]\nrules",
        "rules: [{match: {}, decision: deny}, {match: {}, decision: deny}]\nversion: 2",
        "rules: [{match: {}, decision: deny}, {match: {}, decision: deny}, {match: {}, decision: [",
    ],
)
def test_odd_texts_are_refused_alike(text: str) -> None:
    assert same_both_ways(text).policy is None


def test_too_many_rules_are_refused_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_RULES", 2)
    assert [item.code for item in same_both_ways(PLAIN).diagnostics] == ["E0212"]


@pytest.mark.parametrize("section", list(sections()), ids=lambda section: section.code)
def test_examples_of_diagnostics_are_the_same(section: Any) -> None:
    for text in (section.example, section.instead):
        if text is not None and profile_of(section.code) == "strict":
            same_both_ways(text)


@settings(max_examples=campaign.examples(400), deadline=None)
@given(st.data())
def test_a_text_with_lines_changed_comes_out_alike(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from([POLICY, PLAIN])).splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(["drop", "twice", "swap", "cut", "indent"]))
        other = data.draw(st.integers(0, len(lines) - 1))
        match change:
            case "drop":
                lines[at] = ""
            case "twice":
                lines.insert(at, lines[at])
            case "swap":
                lines[at], lines[other] = lines[other], lines[at]
            case "cut":
                lines[at] = lines[at][: data.draw(st.integers(0, len(lines[at])))]
            case "indent":
                lines[at] = "  " + lines[at]
    same_both_ways("\n".join(lines) + "\n")


SCALARS = st.sampled_from([1, 1.0, True, None, "a", "no", "x y", "", "^a+"])
MATCHES = st.dictionaries(st.sampled_from(["tool", "args.x", "args.y.gt", "args.z.in", "args.s.matches"]), SCALARS)
RULES = st.fixed_dictionaries(
    {"match": MATCHES | st.just("p"), "decision": st.sampled_from(["allow", "deny", "dry_run", "maybe"])},
    optional={"id": st.sampled_from(["a", "b", "c", 1]), "priority": SCALARS, "reason": SCALARS, "x": SCALARS},
)


@settings(max_examples=campaign.examples(300), deadline=None)
@given(st.lists(RULES, max_size=5), st.booleans(), st.booleans())
def test_written_policies_come_out_alike(rules: list[Any], flow: bool, predicates: bool) -> None:
    policy: dict[str, Any] = {"rules": rules}
    if predicates:
        policy["predicates"] = {"p": {"tool": "x"}}
    same_both_ways(yaml.safe_dump(policy, default_flow_style=flow, sort_keys=False))
