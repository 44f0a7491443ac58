"""Rules of layers that always exceed the limits are an error when the layers are combined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import Policy, Request, evaluate
from bobcat.errors import BundleError
from unit.cli_runner import Run, runner

OPEN = "defaults: {on_no_match: allow, on_missing_shadow: allow}\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


def policy(*rules: str, head: str = "") -> Policy:
    return Policy.compile(f"{head}rules: [{', '.join(rules)}]")


def limits(*rules: str) -> Policy:
    return policy(*rules, head=OPEN)


PAY = "{id: pay, match: {tool: pay}, decision: allow}"
NO_PAY = "{id: no-pay, match: {tool: pay}, decision: deny}"


def finding(team: Policy, bound: Policy) -> str | None:
    try:
        Policy.layered({"org": policy(), "team": team}, limits={"org": bound})
    except BundleError as error:
        return str(error) if error.code == "limit_exceeded" else None
    return None


def test_a_permission_within_a_prohibition_is_an_error() -> None:
    assert finding(policy(PAY), limits(NO_PAY)) == (
        "`team:pay` has `allow`, and for each of its calls `org-limits:no-pay` has `deny`"
    )


@pytest.mark.parametrize(
    ("rule", "limit"),
    [
        ("{id: a, match: {tool: pay, args.amount.gt: 200}, decision: allow}",
         "{id: b, match: {tool: pay, args.amount.gt: 100}, decision: approve_required}"),
        ("{id: a, match: {tool: pay}, decision: approve_required}", NO_PAY),
        ("{id: a, match: {tool.in: [pay]}, decision: allow}",
         "{id: b, match: {tool.in: [pay, refund]}, decision: deny}"),
        ("{id: a, match: {args.path: /etc/passwd}, decision: allow}",
         "{id: b, match: {args.path.starts_with: /etc/}, decision: deny}"),
    ],
)  # fmt: skip
def test_narrower_permissions_are_errors(rule: str, limit: str) -> None:
    assert finding(policy(rule), limits(limit)) is not None


@pytest.mark.parametrize(
    ("rule", "bounds"),
    [
        ("{id: a, match: {tool: pay}, decision: allow}",
         ["{id: b, match: {tool: pay, args.amount.gt: 100}, decision: deny}"]),
        ("{id: a, match: {tool: pay}, decision: deny}", [NO_PAY]),
        (PAY, ["{id: except, priority: 2, match: {args.amount.lt: 5}, decision: allow}", NO_PAY]),
        (PAY, ["{id: no-pay, match: {tool: pay}, decision: deny, mode: monitor}"]),
        ("{id: pay, match: {tool: pay}, decision: allow, mode: monitor}", [NO_PAY]),
        ("{id: a, match: {tool: pay}, decision: transform, transform: {jsonpath: $.args.a, set: 1}}", [NO_PAY]),
    ],
)  # fmt: skip
def test_what_may_be_within_the_limits_is_no_error(rule: str, bounds: list[str]) -> None:
    assert finding(policy(rule), limits(*bounds)) is None


TOOLS = st.sampled_from(["{tool: a}", "{tool.in: [a, b]}", "{tool: b, args.n.gt: 5}", "{args.n.gt: 2}", "{args.n: 7}"])
VERDICTS = st.sampled_from(["allow", "approve_required", "dry_run", "deny"])
RULES = st.lists(st.tuples(TOOLS, VERDICTS), max_size=3)


def rules_of(items: list[tuple[str, str]]) -> list[str]:
    return [f"{{id: r{index}, match: {match}, decision: {verdict}}}" for index, (match, verdict) in enumerate(items)]


@given(RULES, RULES)
def test_a_rule_with_a_finding_never_has_its_verdict(own: list[tuple[str, str]], bound: list[tuple[str, str]]) -> None:
    team, caps = policy(*rules_of(own)), limits(*rules_of(bound))
    text = finding(team, caps)
    if text is None:
        return
    exceeded = {part.split("`")[1].removeprefix("team:") for part in text.split("; ")}
    for tool in "abc":
        for number in (0, 3, 6, 7, "x", None):
            request = Request(tool, {} if number is None else {"n": number})
            alone = evaluate(team, request)
            if exceeded & set(alone.matched_rules):
                assert evaluate(caps, request).verdict not in ("allow", alone.verdict)


def test_the_command_reports_it_and_writes_nothing(run: Run, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("team.yaml").write_text(f"rules: [{PAY}]")
    Path("caps.yaml").write_text(f"{OPEN}rules: [{NO_PAY}]")
    done = run("compile", "--layer", "team=team.yaml", "--limits", "team=caps.yaml", "-o", "p.bobcat")
    assert (done.code, Path("p.bobcat").exists()) == (3, False)
    assert "`team:pay` has `allow`, and for each of its calls `team-limits:no-pay` has `deny`" in done.err
