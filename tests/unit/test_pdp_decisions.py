"""The decision point: deciding, explaining, and what it must never load."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bobcat
from bobcat import _core, compile_policy, pdp, request_from_json
from bobcat.bundle.explanation import Connective, ExplainedComparison
from bobcat.model.decision import Decision, Verdict

POLICY = """\
rules:
  - id: first
    priority: 9
    match:
      tool: pay
      args.amount.gt: 100
      not: {args.memo.matches: "^ok"}
    decision: deny
    reason: too much
  - id: second
    match: {tool: pay}
    decision: allow
  - id: third
    match: {}
    decision: deny
"""


def call(**args: Any) -> bobcat.ActionRequest:
    return request_from_json({"tool": "pay", "args": args})


def test_evaluate_is_the_core_s_own_function() -> None:
    assert pdp.evaluate is _core.evaluate
    assert bobcat.evaluate is _core.evaluate
    assert pdp.evaluate_many is _core.evaluate_many


def test_every_way_to_ask_gives_the_same_decision() -> None:
    bundle = compile_policy(POLICY)
    requests = [
        call(),
        call(amount=500),
        call(amount=500, memo="ok"),
        call(amount="x"),
        request_from_json({"tool": "x"}),
    ]
    expected = [bundle.evaluate(request) for request in requests]
    assert [item.verdict for item in expected] == ["allow", "deny", "allow", "deny", "deny"]
    assert [pdp.evaluate(bundle, request) for request in requests] == expected
    assert [pdp.evaluate(bundle, request, request.context) for request in requests] == expected
    assert pdp.evaluate_many(bundle, requests) == expected
    assert [bundle.explain(request).decision for request in requests] == expected
    lines = "\n".join(bobcat.request_to_json(request) for request in requests).encode()
    assert pdp.evaluate_json(bundle, lines) == expected


def test_an_explanation_shows_each_rule_and_clause() -> None:
    bundle = compile_policy(POLICY, "pay.yaml")
    explanation = pdp.explain(bundle, call(amount=500, memo="no"))
    first, second, third = explanation.rules
    assert explanation.bundle_id == bundle.id
    assert explanation.decision.matched_rules == ("first",)
    assert [rule.outcome for rule in explanation.rules] == ["true", "not_reached", "not_reached"]
    assert (first.id, first.verdict, first.error) == ("first", "deny", None)
    assert second.clause is None
    assert third.clause is None
    assert isinstance(first.clause, Connective)
    comparisons = {item.path: item for item in first.clause.children if isinstance(item, ExplainedComparison)}
    amount = comparisons["args.amount"]
    assert (amount.outcome, amount.operator, amount.operand, amount.value) == ("true", "gt", "100", "500")
    assert amount.span is not None
    assert (amount.span.file, amount.span.line) == ("pay.yaml", 6)


def test_an_explanation_names_absence_and_errors() -> None:
    bundle = compile_policy(POLICY)
    wrong = bundle.explain(call(amount="many")).rules[0]
    assert (wrong.outcome, wrong.error) == ("error", "wrong_type")
    assert isinstance(wrong.clause, Connective)
    missing = bundle.explain(call()).rules[0]
    assert isinstance(missing.clause, Connective)
    amount = next(
        item for item in missing.clause.children if isinstance(item, ExplainedComparison) and item.path == "args.amount"
    )
    assert (missing.outcome, amount.value) == ("false", None)


def test_an_explanation_has_a_text_and_a_json_form() -> None:
    bundle = compile_policy(POLICY, "pay.yaml")
    explanation = bundle.explain(call(amount=500, memo="no"))
    data = json.loads(json.dumps(explanation.to_json()))
    assert data["bundle"] == bundle.id
    assert data["decision"]["verdict"] == "deny"
    assert [rule["outcome"] for rule in data["rules"]] == ["true", "not_reached", "not_reached"]
    assert data["rules"][0]["match"]["kind"] == "all"
    text = explanation.to_text()
    assert text.startswith("deny: too much\ndecided by first\n")
    assert "args.amount > 100" in text
    assert "[value 500]" in text
    assert "pay.yaml:6:" in text
    assert "second (allow): not reached" in text


def test_a_host_rule_is_explained_by_its_outcome() -> None:
    def guard(request: Any, context: Any) -> Decision:
        raise KeyError("x")

    rule = compile_policy("rules: []", python_rules=(guard,)).explain(call()).rules[0]
    assert (rule.id, rule.outcome, rule.error, rule.clause, rule.verdict) == ("guard", "error", "KeyError", None, None)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (bobcat.allow(), Decision(Verdict.ALLOW)),
        (bobcat.allow("r", ("a",)), Decision(Verdict.ALLOW, "r", ("a",))),
        (bobcat.deny("r"), Decision(Verdict.DENY, "r")),
        (bobcat.dry_run(), Decision(Verdict.DRY_RUN)),
        (bobcat.approve_required(), Decision(Verdict.APPROVE_REQUIRED, timeout_seconds=1800)),
        (
            bobcat.approve_required(("a",), 5, "r", ("m",)),
            Decision(Verdict.APPROVE_REQUIRED, "r", ("m",), ("a",), None, 5),
        ),
        (bobcat.transform({"x": 1}, "r"), Decision(Verdict.TRANSFORM, "r", (), (), {"x": 1})),
    ],
)
def test_the_constructors_fill_in_their_fields(made: Decision, expected: Decision) -> None:
    assert made == expected


WORKER = """
import sys
import bobcat
bundle = bobcat.load_bundle(sys.argv[1])
request = bobcat.request_from_json('{"tool": "pay", "args": {"amount": 500}}')
assert bobcat.evaluate(bundle, request).verdict == "deny"
assert bundle.explain(request).rules
import bobcat.pdp
loaded = set(sys.modules)
banned = {"yaml", "re2", "click", "rich", "asyncio", "bobcat.compiler", "bobcat.frontend", "bobcat.lint"}
print(*sorted(name for name in loaded if name in banned or name.startswith("bobcat.frontend")))
"""


def test_a_worker_loads_no_compiler_and_no_parser(tmp_path: Path) -> None:
    path = tmp_path / "pay.bobcat"
    compile_policy(POLICY).save(path)
    run = subprocess.run([sys.executable, "-c", WORKER, str(path)], capture_output=True, check=False, text=True)
    assert (run.returncode, run.stdout.strip()) == (0, ""), run.stderr


def test_importing_the_package_loads_next_to_nothing() -> None:
    program = "import sys; before = set(sys.modules); import bobcat; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, check=False, text=True, env={
        "PYTHONPATH": str(Path(bobcat.__file__).parents[1])
    })  # fmt: skip
    assert [name for name in run.stdout.split() if name.startswith("bobcat")] == ["bobcat", "bobcat.lazy"], run.stderr


def test_every_public_name_can_be_had() -> None:
    for name in bobcat.__all__:
        assert getattr(bobcat, name) is not None
    assert set(bobcat.__all__) <= set(dir(bobcat))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = bobcat.no_such_name  # type: ignore[attr-defined]
