"""Rules as people write them: nearly all are lowered, and all that are decide as their Python does."""

from __future__ import annotations

import functools
from random import Random
from typing import Any

import pytest

from bobcat.frontend.python.lower import LoweredFunction, lower_function
from oracle.code import as_rule
from pyrules.calls import outcome, request
from pyrules.differential_rules import compiled, differ, hosted
from pyrules.rules import corpus

SHARE = 0.9
CALLS = 200
# What these do has no counterpart in a policy, and the reason that is given says so.
REFUSED = {
    "idioms.counted": "E0807",
    "idioms.picked": "E0807",
    "paths.pure_path_parts": "E0807",
    "shell.by_risk": "E0807",
    "shell.parsed_host": "E0807",
    "shell.recursive": "E0807",
    "time_and_scope.maintenance": "E0808",
    "time_and_scope.from_environment": "E0808",
    "time_and_scope.recent_enough": "E0808",
    "time_and_scope.sampled": "E0808",
}


@functools.cache
def lowered(name: str) -> LoweredFunction:
    return lower_function(corpus()[name], name, 0)


LOWERED = [name for name in corpus() if name not in REFUSED]


def test_the_corpus_is_large_and_nearly_all_of_it_is_lowered() -> None:
    names = list(corpus())
    share = sum(lowered(name).rule is not None for name in names) / len(names)
    print(f"{share:.1%} of {len(names)} rules are lowered")
    assert len(names) >= 60
    assert share >= SHARE


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_lowered_is_refused_in_the_file_at_the_expression(name: str) -> None:
    refusals = lowered(name).refusals
    assert refusals
    assert {"shape": "E0807", "impure": "E0808"}[refusals[0].kind] == REFUSED[name]
    assert refusals[0].span is not None
    assert refusals[0].span.file.endswith(f"{name.partition('.')[0]}.py")


@pytest.mark.parametrize("name", LOWERED)
def test_the_nodes_mean_what_the_function_does(name: str) -> None:
    rule = lowered(name).rule
    assert rule is not None, lowered(name).refusals
    function, nodes = corpus()[name], as_rule(rule)
    kinds = set()
    for seed in range(CALLS):
        call = request(Random(f"{name} {seed}"))
        expected = outcome(function, call)
        kinds.add(expected[0])
        assert outcome(nodes, call) == expected, call.args
    assert kinds & {"decides", "raises"}, "the calls never make this rule do anything"


@pytest.mark.parametrize("name", LOWERED)
def test_the_core_decides_as_the_callable_does(name: str) -> None:
    rule: Any = lowered(name).rule
    host, function = hosted(corpus()[name], name), compiled(rule)
    for seed in range(CALLS):
        call = request(Random(f"{name} {seed}"))
        found = differ(host, function, call)
        assert found is None, call.args
