"""Conclusions of the lints about patterns and policies hold: by the core, on generated patterns, policies and calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
import strategies
from bobcat._core import Pattern, find_text
from bobcat._core import lower as core_lower
from bobcat.bundle import PolicyBundle
from bobcat.bundle.source_map import RuleSource, SourceMap
from bobcat.frontend.strict.patterns import check_pattern
from bobcat.ir import construct
from bobcat.ir.schema import IrPolicy
from bobcat.lint.calls import ExampleCall
from bobcat.lint.pattern_syntax import (
    Alt,
    Assert,
    Cat,
    Chars,
    PatternSyntaxError,
    Repeat,
    Tree,
    is_anchored,
    parse,
)
from bobcat.lint.registry import run_lints
from bobcat.lint.subject import LintContext
from bobcat.model.request_json import request_from_json
from pattern_grammar import pattern, texts

PARTS = 4


def ends(tree: Tree, text: str, starts: set[int]) -> set[int]:
    """The places at which matches of a tree end that begin at some places: the plainest reading of a tree."""
    match tree:
        case Chars():
            return {at + 1 for at in starts if at < len(text) and tree.holds(text[at])}
        case Assert(kind):
            return {at for at in starts if asserted(kind, text[:at], text[at:])}
        case Cat(items):
            for item in items:
                starts = ends(item, text, starts)
            return starts
        case Alt(items):
            return {end for item in items for end in ends(item, text, starts)}
        case Repeat(item, low, high):
            for _ in range(low):
                starts = ends(item, text, starts)
            found, count = set(starts), low
            while starts and (high is None or count < high):
                starts = ends(item, text, starts) - (found if high is None else set())
                found |= starts
                count += 1
            return found


def asserted(kind: str, before: str, after: str) -> bool:
    def in_word(char: str) -> bool:
        return char == "_" or (char.isascii() and char.isalnum())

    at_edge = in_word(before[-1:]) is not in_word(after[:1])
    return {
        "text_start": not before,
        "text_end": not after,
        "line_start": before[-1:] in ("", "\n"),
        "line_end": after[:1] in ("", "\n"),
        "word": at_edge,
        "not_word": not at_edge,
    }[kind]


@pytest.mark.parametrize("part", range(PARTS))
def test_the_tree_of_a_pattern_means_what_the_core_means(part: int) -> None:
    read = unread = 0
    for seed in campaign.seeds(600, part, PARTS):
        rng = Random(seed)
        text = pattern(rng, "re2")
        if check_pattern(text, "re2"):
            continue
        try:
            tree = parse(text)
            core = Pattern(text, "re2")
            for sample in texts(rng, 12):
                if "\\B" in text and not sample.isascii():
                    continue  # the core finds `\B` between the bytes of a character
                found = bool(ends(tree, sample, set(range(len(sample) + 1))))
                assert found == core.search(sample), (text, sample)
        except PatternSyntaxError:  # scripts
            unread += 1
        else:
            read += 1
    assert read > 5 * unread + 50


@pytest.mark.parametrize("part", range(PARTS))
def test_an_anchored_pattern_is_found_in_whole_texts_only(part: int) -> None:
    seen = decided = 0
    for seed in campaign.seeds(1_000, part, PARTS):
        rng = Random(seed)
        text = pattern(rng, "re2")
        if rng.random() < 0.5:
            text = f"^{text}$"
        if check_pattern(text, "re2") or not is_anchored(text):
            continue
        seen += 1
        for whole in (f"^(?:{text})", f"(?:{text})$"):
            found, steps = find_text([("pattern", [text], False, True), ("pattern", [whole], False, False)], 5_000)
            assert found is None, (text, found)
            decided += steps <= 5_000
    assert seen > 20
    assert decided > seen


def wanted_results(rng: Random) -> Iterator[tuple[tuple[str, list[str], bool, bool], Callable[[str], bool]]]:
    """Tests as `find_text` takes them, each with the function that a text passes."""
    for _ in range(rng.randint(1, 4)):
        lower, want = rng.random() < 0.3, rng.random() < 0.7
        kind = rng.choice(("pattern", "", "start", "end", "both"))
        operands = [pattern(rng, "re2")] if kind == "pattern" else texts(rng, rng.randint(1, 3))
        if kind == "pattern" and check_pattern(operands[0], "re2"):
            continue
        if any("\\B" in operand for operand in operands):
            continue  # the core finds `\B` between the bytes of a character

        def passes(text: str, kind: str = kind, operands: list[str] = operands, lower: bool = lower) -> bool:
            text = core_lower(text) if lower else text
            if kind == "pattern":
                return Pattern(operands[0], "re2").search(text)
            return any(
                {"": item in text, "start": text.startswith(item), "end": text.endswith(item), "both": text == item}[
                    kind
                ]
                for item in operands
            )

        yield (kind, operands, lower, want), passes


@pytest.mark.parametrize("part", range(PARTS))
def test_a_text_that_is_found_has_the_wanted_results_and_none_is_certain(part: int) -> None:
    found_some = found_none = 0
    for seed in campaign.seeds(1_000, part, PARTS):
        rng = Random(seed)
        wanted = list(wanted_results(rng))
        text, steps = find_text([test for test, _ in wanted], 20_000)
        if text is not None:
            found_some += 1
            assert [passes(text) for _, passes in wanted] == [test[3] for test, _ in wanted], (wanted, text)
        elif steps <= 20_000:
            found_none += 1
            candidates = [*texts(rng, 30), *(operand for test, _ in wanted for operand in test[1])]
            for other in candidates:
                assert [passes(other) for _, passes in wanted] != [test[3] for test, _ in wanted], (wanted, other)
    assert found_some > 50
    assert found_none > 10


def test_a_search_that_takes_more_steps_finds_nothing() -> None:
    wanted = [("", [f"{letter}-{letter}"], False, True) for letter in "abcdefghijkl"]
    text, steps = find_text(wanted, 1_000)
    assert text is None
    assert steps > 1_000


@pytest.mark.parametrize(
    ("test", "error", "message"),
    [
        (("pattern", ["("], False, True), ValueError, "is not accepted: this group is not closed"),
        (("pattern", ["a", "b"], False, True), ValueError, "no test of a text: `pattern` with 2 texts"),
        (("whole", ["a"], False, True), ValueError, "no test of a text: `whole` with 1 texts"),
        (("both", ["\ud800"], False, True), UnicodeEncodeError, "surrogates not allowed"),
    ],
)
def test_find_text_refuses_other_kinds_of_tests(test: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        find_text([test], 1_000)


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
