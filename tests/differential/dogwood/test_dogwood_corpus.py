"""Dogwood's corpus of past-time policies: our translation has the same verdict at every time point."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from differential.dogwood.corpus import NotFetched, cases, fetch
from differential.dogwood.replay import compiled, replay, verdicts
from differential.dogwood.syntax import Reader, trace_of
from differential.dogwood.translate import NeedsCall, Translator

PAGE = Path(__file__).parents[3] / "docs" / "notes" / "dogwood-corpus.md"

# A policy and a trace of our own, in Dogwood's notation.
POLICY = """
permit (principal, action == Shop::Action::"Pay", resource)
when temporal { formerly within 10s Shop::Action::"Order"::response{ input.who: "ann", output.ok: true } }
unless temporal { !Shop::Action::"Order"::request{ input.who: _ } since within 1m Shop::Action::"Stop"::request{} };
"""
RELATED = """
permit (principal, action == Shop::Action::"Pay", resource)
when temporal { formerly within 10s Shop::Action::"Order"::request{ input.who: context.input.who } };
"""


def test_a_policy_about_literals_is_translated_for_all_calls() -> None:
    (rule,) = Reader(POLICY).rules()
    order, stop = 'Shop::Action::"Order"', 'Shop::Action::"Stop"'
    said = {"result": {"all_of": [{"tool.eq": order}, {"args.input.who.eq": "ann"}, {"result.output.ok.eq": True}]}}
    stopped = {
        "any_of": [
            {"tool.eq": stop},
            {
                "all_of": [
                    {"not": {"tool.eq": order}},
                    {"run.since": {
                        "holds": {"not": {"call": {"tool.eq": order}}},
                        "start": {"call": {"tool.eq": stop}},
                        "within": 60,
                    }},
                ]
            },
        ]
    }  # fmt: skip
    assert Translator(None).rule(rule) == {
        "all_of": [
            {"tool.eq": 'Shop::Action::"Pay"'},
            {"run.formerly": {"all_of": [said], "within": 10}},
            {"not": stopped},
        ]
    }


def test_a_policy_that_compares_a_past_event_with_the_call_is_translated_for_one_call() -> None:
    (rule,) = Reader(RELATED).rules()
    with pytest.raises(NeedsCall):
        Translator(None).rule(rule)
    made = Translator({"context": {"input": {"who": "ann"}}}).rule(rule)
    ordered = {"call": {"all_of": [{"tool.eq": 'Shop::Action::"Order"'}, {"args.input.who.eq": "ann"}]}}
    assert made == {
        "all_of": [
            {"args.context.input.who.eq": "ann"},
            {"tool.eq": 'Shop::Action::"Pay"'},
            {
                "any_of": [
                    {"all_of": [{"tool.eq": 'Shop::Action::"Order"'}, {"args.input.who.eq": "ann"}]},
                    {"run.formerly": {"all_of": [ordered], "within": 10}},
                ]
            },
        ]
    }


def test_a_trace_has_calls_results_and_a_verdict_for_each_call() -> None:
    (rule,) = Reader(POLICY).rules()
    lines = [
        '@0 scope(principal: U::"a") request_context(input: {}) Shop::Action::"Pay"::request(requestId: "1")',
        '@1 Shop::Action::"Order"::request(input: { who: "ann" }, requestId: "2")',
        '@2 Shop::Action::"Order"::response(input: { who: "ann" }, output: { ok: true }, requestId: "2")',
        '@12 Shop::Action::"Pay"::request(input: {}, requestId: "3")',
        '@13 Shop::Action::"Pay"::request(input: {}, requestId: "4")',
    ]
    policy = compiled([(rule, Translator(None).rule(rule))])
    assert verdicts(policy, trace_of("\n".join(lines))) == {0: False, 1: False, 3: True, 4: False}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo fetches the corpus")
def test_the_corpus_has_the_same_verdict_at_every_time_point(record_property: Callable[[str, object], None]) -> None:
    try:
        crate = fetch()
    except NotFetched as problem:
        pytest.skip(f"the registry cannot be reached: {problem}")
    policies: Counter[str] = Counter()
    points: Counter[str] = Counter()
    different: list[str] = []
    permitted = 0
    for case in cases(crate):
        found = replay(case)
        policies[found.how] += 1
        points[found.how] += found.compared
        permitted += found.permitted
        different += found.different
    assert different == []
    record_property("time points of dogwood", points["whole"] + points["for the calls of the trace"])
    page = PAGE.read_text(encoding="utf-8")
    rows = [f"| {how} | {count:,} | {points[how]:,} |" for how, count in policies.most_common()]
    rows.append(f"| all | {policies.total():,} | {points.total():,} |")
    missing = [row for row in rows if row not in page]
    assert not missing, "the page lacks:\n" + "\n".join(missing)
    assert f"{permitted:,} of them permit" in page
