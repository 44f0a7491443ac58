"""The benchmark as a library: what it measures, the calls it makes, the baselines it reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bobcat
from bobcat.benchmark import BenchmarkReport, Calls, as_json, bench, compared, directed_calls, read_baseline, read_calls
from bobcat.benchmark.baseline import BaselineError
from bobcat.benchmark.page import page
from bobcat.errors import RequestError
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext
from hostile_json import hostile_text

POLICY = """\
rules:
  - {id: no-root, priority: 10, match: {tool: shell, args.cmd.matches: '\\bsudo\\b'}, decision: deny}
  - {id: pay, match: {tool: pay, any_of: [{args.amount.le: 100}, {args.to.in: [ann, bob]}]}, decision: allow}
  - {id: query, match: {tool: pay, args.amount.le: 100}, decision: transform,
     transform: {jsonpath: $.args.amount, set: 5}}
"""
LINES = b"""\
{"tool": "shell", "args": {"cmd": "sudo ls"}}

{"tool": "shell", "args": {"cmd": "ls"}, "declared": {"reversible": true}}
{"tool": "pay", "args": {"amount": 40}}
"""


@pytest.fixture(scope="module")
def report() -> BenchmarkReport:
    return bench(bobcat.compile_policy(POLICY, "p.yaml"), read_calls(LINES, "r.jsonl"), seconds=0.2)


def test_a_report_has_figures_that_fit_each_other(report: BenchmarkReport) -> None:
    figures = report.decisions
    assert 0 < figures.p50 <= figures.p99
    assert figures.per_second == pytest.approx(1e9 / figures.mean)
    assert figures.relative > 0
    assert figures.spread >= 0
    assert figures.samples == sum(bucket.count for bucket in report.histogram)
    assert all(bucket.low < bucket.high for bucket in report.histogram)


def test_requests_are_counted_for_the_rule_that_decides_them(report: BenchmarkReport) -> None:
    assert {cost.rule: cost.requests for cost in report.rules} == {"no-root": 1, "pay": 1, "<default:on_no_match>": 1}
    assert sum(cost.share for cost in report.rules) == pytest.approx(1)
    assert {cost.rule for cost in report.rules if cost.alone is None} == {"<default:on_no_match>"}


def test_every_distinct_clause_is_measured_once(report: BenchmarkReport) -> None:
    assert report.clauses_left_out == 0
    found = {cost.clause: (cost.rules, cost.place) for cost in report.clauses}
    assert len(found) == len(report.clauses) == 5
    assert found['tool == "pay"'][0] == found["args.amount <= 100"][0] == 2
    assert found['tool == "shell"'] == (1, "p.yaml:2:41")
    assert all(cost.cost >= 0 for cost in report.clauses)
    assert [cost.cost for cost in report.clauses] == sorted((cost.cost for cost in report.clauses), reverse=True)


def test_the_slowest_requests_are_named_by_their_line(report: BenchmarkReport) -> None:
    assert {call.place for call in report.slowest} == {1, 3, 4}
    assert [call.time for call in report.slowest] == sorted((call.time for call in report.slowest), reverse=True)


def test_a_pattern_over_a_long_text_costs_more_than_the_name_of_a_tool() -> None:
    policy = "rules: [{id: r, match: {tool: t, args.text.matches: '[a-z]{5}[0-9]'}, decision: deny}]"
    calls = Calls.of([bobcat.request_from_json({"tool": "t", "args": {"text": "word " * 20_000 + "x1"}})])
    found = bench(bobcat.compile_policy(policy), calls, seconds=0.2)
    assert found.clauses[0].clause == 'args.text =~ "[a-z]{5}[0-9]"'
    assert found.clauses[0].cost > 10_000


def burning(turns: int) -> Callable[[ActionRequest, ExecutionContext], Decision | None]:
    def slow(request: ActionRequest, context: ExecutionContext) -> Decision | None:
        sum(range(turns))
        return None

    return slow


def test_only_a_policy_that_became_slower_is_a_regression(report: BenchmarkReport) -> None:
    calls = read_calls(LINES, "r.jsonl")
    again = bench(bobcat.compile_policy(POLICY), calls, seconds=0.2, baseline=report, fail_over=3)
    assert again.comparison is not None
    assert not again.comparison.regression
    assert again.comparison.notes == ()
    reported: list[str] = []
    slow = bobcat.compile_policy(POLICY, python_rules=[burning(3_000)], python_rule_priorities=[99])
    worse = bench(slow, calls, seconds=0.2, baseline=report, fail_over=3, progress=reported.append)
    assert worse.comparison is not None
    assert worse.comparison.regression
    assert worse.comparison.change > 3
    assert reported.count("slower than the baseline; measuring again") == 2


def test_a_comparison_lists_what_makes_it_doubtful(report: BenchmarkReport) -> None:
    other = msgspec.structs.replace(
        report,
        subject=msgspec.structs.replace(report.subject, requests_digest="0" * 64),
        machine=msgspec.structs.replace(report.machine, python="CPython 3.9.1", processor="another"),
    )
    notes = " ".join(compared(report, other, 1.1).notes)
    assert "other requests" in notes
    assert "CPython 3.9.1" in notes
    assert "another machine" in notes


def test_a_saved_report_is_read_back_equal(report: BenchmarkReport) -> None:
    assert read_baseline(as_json(report).encode(), "b.json") == report
    shown = json.dumps(msgspec.structs.replace(report, comparison=compared(report, report, 1.1)).to_json())
    assert read_baseline(shown.encode(), "b.json").decisions == report.decisions


def _with(report: BenchmarkReport, **changes: Any) -> bytes:
    return json.dumps({**report.to_json(), **changes}).encode()


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b"\xff", b"[" * 5_000, b'{"format": 1, "reference": 1}', b'{"format": 1, "reference": "x"}'],
)
def test_an_invalid_baseline_is_refused(data: bytes) -> None:
    with pytest.raises(BaselineError, match=r"`b\.json` is not a baseline"):
        read_baseline(data, "b.json")


@given(st.data())
def test_an_invalid_baseline_is_refused_or_read(report: BenchmarkReport, data: st.DataObject) -> None:
    try:
        found = read_baseline(data.draw(hostile_text(report.to_json())), "b.json")
    except BaselineError as error:
        assert str(error).startswith("`b.json` is not a baseline")  # noqa: PT017  # both are right
        return
    assert compared(report, found, 1.1).change > 0
    assert json.loads(as_json(found))


def test_a_baseline_of_another_reference_loop_or_without_time_is_refused(report: BenchmarkReport) -> None:
    nothing = {**report.to_json()["decisions"], "relative": 0.0}
    for data in (_with(report, reference=0), _with(report, format=2), _with(report, decisions=nothing)):
        with pytest.raises(BaselineError):
            read_baseline(data, "b.json")


def test_a_line_that_is_no_request_is_named_by_its_number() -> None:
    with pytest.raises(RequestError, match=r"^r\.jsonl:3: the request has no `tool`$"):
        read_calls(b'{"tool": "a"}\n\n{"args": {}}\n', "r.jsonl")
    with pytest.raises(RequestError, match="the file has no request"):
        read_calls(b"\n \r\n", "r.jsonl")


def test_lines_end_where_json_lines_end() -> None:
    data = '\ufeff{"tool": "a", "args": {"t": "one\u2028two"}}\r\n{"tool": "b"}'.encode()
    assert [request.tool for request in read_calls(data, "r").requests] == ["a", "b"]


def test_calls_made_from_a_policy_meet_every_rule_and_are_the_same_every_time() -> None:
    bundle = bobcat.compile_policy(POLICY)
    calls = directed_calls(bundle)
    assert calls == directed_calls(bundle)
    assert calls.source == "generated"
    decided = {bundle.evaluate(request).matched_rules[-1] for request in calls.requests}
    assert decided >= {"no-root", "pay", "<default:on_no_match>", "<default:on_missing_shadow>"}
    assert not [name for name in decided if name.startswith("<rule_error")]


def test_a_policy_without_rules_and_one_with_very_many_have_calls_too() -> None:
    assert directed_calls(bobcat.compile_policy("rules: []")).requests
    many = {"rules": [{"id": f"r{n}", "match": {"tool": f"t{n}"}, "decision": "allow"} for n in range(1_001)]}
    calls = directed_calls(bobcat.compile_policy(many))
    assert 500 <= len(calls.requests) <= 1_000
    assert len({request.tool for request in calls.requests}) >= 500


def test_the_page_needs_nothing_else_and_escapes_what_users_wrote() -> None:
    policy = "rules: [{id: 'a <script>alert(1)</script>', match: {args.x: '<b>&'}, decision: deny}]"
    calls = Calls.of([bobcat.request_from_json({"tool": "<i>", "args": {"x": "<b>&"}})])
    found = bench(bobcat.compile_policy(policy), calls, seconds=0.1)
    text = page(found, "a <title>")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    for absent in ("<script", "<i>", "<b>", "a <title>", "http://", "https://", "src=", "@import", "url("):
        assert absent not in text


def test_a_worker_does_not_load_the_benchmark(tmp_path: Path) -> None:
    import subprocess
    import sys

    program = (
        "import sys, bobcat, bobcat.benchmark.pytest_plugin\n"
        "from bobcat import evaluate, load_bundle, run_agent\n"
        "allowed = {'bobcat.benchmark', 'bobcat.benchmark.pytest_plugin'}\n"
        "loaded = [name for name in sys.modules if name.startswith(('bobcat.benchmark', 'yaml', 're2'))]\n"
        "assert set(loaded) <= allowed, loaded"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
