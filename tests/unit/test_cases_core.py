"""The case corpus, decided by the Rust core behind its Python front door; and its copy for the core's own tests."""

from __future__ import annotations

import json

import pytest

from bobcat import _core
from bobcat.bundle.model import PolicyBundle
from bobcat.compiler import compile_policy
from bobcat.model.request_json import request_from_json
from oracle.corpus import Group, load
from oracle.make_vectors import VECTORS, json_request, lower, vectors

GROUPS = load()


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_the_core_decides_as_the_case_says(group: Group) -> None:
    bundle = compile_policy(group.policy)
    failures = {}
    for case in group.cases:
        request = case.build()
        for decision in (bundle.evaluate(request), _core.explain(bundle, request)[0]):
            found = case.failures(decision)
            if found:
                failures[case.name] = found
    assert not failures


def test_the_core_decides_requests_given_as_json_as_the_cases_say() -> None:
    failures = {}
    for group in GROUPS:
        pairs = [(case, request) for case in group.cases if (request := json_request(case)) is not None]
        if not pairs:
            continue
        bundle = PolicyBundle.from_policy(lower(group.policy))
        data = "\n".join(json.dumps(request) for _, request in pairs).encode()
        for (case, _), decision in zip(pairs, _core.evaluate_json(bundle, data), strict=True):
            found = case.failures(decision)
            if found:
                failures[case.name] = found
    assert not failures


def test_requests_read_from_json_are_those_of_the_corpus() -> None:
    for group in GROUPS[:60]:
        for case in group.cases:
            request = json_request(case)
            if request is not None:
                assert request_from_json(json.dumps(request)) == case.build(), case.name


def test_the_vectors_are_those_of_the_corpus() -> None:
    text = VECTORS.read_text(encoding="utf-8")
    assert text == vectors(), "run `python tests/oracle/make_vectors.py`"
