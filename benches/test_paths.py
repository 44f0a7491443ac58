"""pytest-benchmark suites for the paths a user waits for: `.venv/bin/python -m pytest benches`."""

from __future__ import annotations

import json

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import bobcat
from bobcat.model.request_json import request_from_json
from corpora.mixed import workload

SIZES = (1, 100, 10_000)


@pytest.mark.parametrize("rules", SIZES)
def test_evaluate(benchmark: BenchmarkFixture, rules: int) -> None:
    work = workload(rules)
    bundle = bobcat.compile_policy(work.text)
    requests = [request_from_json(call) for call in work.requests]
    benchmark(lambda: [bobcat.evaluate(bundle, request) for request in requests])


@pytest.mark.parametrize("rules", SIZES)
def test_evaluate_json_lines(benchmark: BenchmarkFixture, rules: int) -> None:
    from bobcat._core import evaluate_json

    work = workload(rules)
    bundle = bobcat.compile_policy(work.text)
    lines = "\n".join(json.dumps(call) for call in work.requests).encode()
    benchmark(evaluate_json, bundle, lines)


@pytest.mark.parametrize("rules", SIZES)
def test_explain(benchmark: BenchmarkFixture, rules: int) -> None:
    work = workload(rules)
    bundle = bobcat.compile_policy(work.text)
    request = request_from_json(work.requests[0])
    benchmark(bobcat.explain, bundle, request)


@pytest.mark.parametrize("rules", (100, 1_000))
def test_compile(benchmark: BenchmarkFixture, rules: int) -> None:
    text = workload(rules, requests=4).text
    benchmark(bobcat.compile_policy, text)


@pytest.mark.parametrize("rules", SIZES)
def test_load_bundle(benchmark: BenchmarkFixture, rules: int) -> None:
    data = bobcat.compile_policy(workload(rules, requests=4).text).to_bytes()
    benchmark(bobcat.load_bundle, data)
