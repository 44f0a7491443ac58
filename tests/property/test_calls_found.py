"""Conclusions of the lints about patterns and policies hold: by the core, on generated patterns, policies and calls."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
import strategies
from bobcat._core import Pattern
from bobcat.bundle import PolicyBundle
from bobcat.bundle.source_map import RuleSource, SourceMap
from bobcat.frontend.strict.patterns import check_pattern
from bobcat.ir import construct
from bobcat.ir.schema import IrPolicy
from bobcat.lint.calls import ExampleCall
from bobcat.lint.pattern_syntax import PatternSyntaxError, is_anchored, parse
from bobcat.lint.registry import run_lints
from bobcat.lint.subject import LintContext
from bobcat.lint.text_search import Automaton, OutOfBudget, SearchBudget, find_text
from bobcat.model.request_json import request_from_json
from pattern_grammar import pattern, texts

PARTS = 4


def found_in(text: str, machine: Automaton) -> bool:
    state = machine.start
    for char in text:
        state = machine.step(state, char)
    return machine.accepts(state)


@pytest.mark.parametrize("part", range(PARTS))
def test_the_tree_of_a_pattern_means_what_the_core_means(part: int) -> None:
    read = unread = 0
    for seed in campaign.seeds(600, part, PARTS):
        rng = Random(seed)
        text = pattern(rng, "re2")
        if check_pattern(text, "re2"):
            continue
        try:
            machine = Automaton(parse(text))
            core = Pattern(text, "re2")
            for sample in texts(rng, 12):
                if "\\B" in text and not sample.isascii():
                    continue  # the core finds `\B` between the bytes of a character
                assert found_in(sample, machine) == core.search(sample), (text, sample)
        except PatternSyntaxError:  # scripts, and counts of many states
            unread += 1
        else:
            read += 1
    assert read > 5 * unread + 50


@pytest.mark.parametrize("part", range(PARTS))
def test_an_anchored_pattern_is_found_in_whole_texts_only(part: int) -> None:
    seen = 0
    for seed in campaign.seeds(1_000, part, PARTS):
        rng = Random(seed)
        text = pattern(rng, "re2")
        if rng.random() < 0.5:
            text = f"^{text}$"
        if check_pattern(text, "re2") or not is_anchored(text):
            continue
        seen += 1
        try:
            start, end = Automaton(parse(f"^(?:{text})")), Automaton(parse(f"(?:{text})$"))
            machine = Automaton(parse(text))
            for other in (start, end):
                found = find_text([(machine, True), (other, False)], SearchBudget(5_000))
                assert found is None, (text, found)
        except (PatternSyntaxError, OutOfBudget):
            continue
    assert seen > 20


def bundle_of(policy: IrPolicy) -> tuple[PolicyBundle, SourceMap]:
    places = SourceMap(("p",), tuple(RuleSource(0, 1, 1, 1, 2, "", index) for index in range(len(policy.rules))))
    return PolicyBundle.from_policy(policy), places


@given(strategies.policies())
@settings(max_examples=campaign.examples(60), deadline=None)
def test_lints_end_on_every_policy(policy: IrPolicy) -> None:
    _, places = bundle_of(policy)
    run_lints(policy, places)


@given(strategies.policies(), strategies.leaves(), st.data())
@settings(max_examples=campaign.examples(120), deadline=None)
def test_a_call_that_is_found_is_permitted_and_none_is_certain(
    policy: IrPolicy, goal: Any, data: st.DataObject
) -> None:
    bundle, places = bundle_of(policy)
    subject = LintContext(policy, places)
    goal_rule = PolicyBundle.from_policy(construct.policy([construct.rule("goal", goal, "allow")]))
    for facts in subject.permitting:
        answer = subject.find(facts, goal)
        if isinstance(answer, ExampleCall):
            request = request_from_json(answer.request)
            assert facts.rule.id in bundle.evaluate(request).matched_rules
            assert bundle.evaluate(request).verdict in ("allow", "transform")
        elif answer is None:
            for request in data.draw(st.lists(strategies.requests, max_size=5)):
                decision = bundle.evaluate(request)
                permitted = decision.verdict in ("allow", "transform") and decision.matched_rules[0] == facts.rule.id
                assert not (permitted and goal_rule.evaluate(request).verdict == "allow")
