"""The case corpus of semantics: no decision of it is proved impossible, and no policy of it breaks the analysis."""

from __future__ import annotations

from typing import Any

import pytest

from bobcat.analysis import Unknown, diff
from bobcat.analysis.engine import Questions
from bobcat.compiler import compile_policy
from bobcat.model.request_json import request_from_json
from oracle.corpus import Group, load
from oracle.make_vectors import json_request

PARTS = 8
GROUPS = [group for group in load() if any(json_request(case) is not None for case in group.cases)]
SECONDS = 5.0


def surfaces(group: Group) -> tuple[Any, dict[str | None, Any]]:
    policy = compile_policy(group.policy)
    tools = Questions([policy]).ask("tools", seconds=SECONDS)["tools"]
    return policy, {item["tool"]: item["policies"][0]["verdicts"] for item in tools}


@pytest.mark.parametrize("part", range(PARTS))
def test_the_verdict_of_each_case_is_on_the_surface(part: int) -> None:
    missing = []
    for group in GROUPS[part::PARTS]:
        policy, verdicts = surfaces(group)
        for case in group.cases:
            data = json_request(case)
            if data is None:
                continue
            request = request_from_json(data)
            given = policy.evaluate(request).verdict.value
            own = verdicts.get(request.tool, verdicts.get(None, {}))
            if own.get(given, "none") == "none":
                missing.append((group.name, case.name, given))
    assert not missing


@pytest.mark.parametrize("part", range(PARTS))
def test_each_policy_of_the_corpus_is_the_same_as_itself_or_says_why_not(part: int) -> None:
    for group in GROUPS[part::PARTS]:
        policy = compile_policy(group.policy)
        found = diff(policy, policy, budget=SECONDS)
        assert not found.found, group.name
        assert found.same or found.reasons or all(region.reasons for region in found.unknown), group.name


def test_the_corpus_is_mostly_answered() -> None:
    unknown = 0
    for group in GROUPS[::7]:
        _, verdicts = surfaces(group)
        unknown += any(state == "unknown" for own in verdicts.values() for state in own.values())
    assert unknown < len(GROUPS[::7]) / 2


def test_an_unknown_of_the_corpus_has_reasons() -> None:
    for group in GROUPS[::11]:
        answer = Questions([compile_policy(group.policy)]).find({"policy": 0, "verdicts": ["allow"]})
        if isinstance(answer, Unknown):
            assert answer.reasons
