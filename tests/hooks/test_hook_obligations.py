"""Hooks refuse calls with an obligation before the effect, and do not perform those after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bobcat import Decision, Obligation, Policy, Verdict
from hooks.hosts import HOSTS, call, native, python

POLICY = """
rules:
  - {id: before, match: {tool: Bash}, decision: allow, obligations: [{notify: boss}, {reserve: 4}]}
  - {id: after, match: {tool: allowed}, decision: allow, obligations: [{notify: boss}]}
  - {id: person, match: {tool: person}, decision: approve_required, obligations: [{redact: args.path}]}
  - {id: 'no', match: {tool: denied}, decision: deny, reason: not here, obligations: [{reserve: 4}]}
  - id: reasoned
    match: {tool: silent}
    decision: allow
    obligations: [{require_reason: args.why}]
  - {id: watch, match: {tool: allowed}, decision: deny, priority: 1, mode: monitor}
  - id: moves
    match: {tool: moved}
    decision: transform
    transform: {jsonpath: $.args.path, set: /safe}
    obligations: [{page: 4}]
"""
HOOKS = pytest.mark.parametrize("hook", (native, python), ids=lambda hook: hook.__name__)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "policy.bobcat"
    Policy.compile(POLICY).save(path)
    return path


@HOOKS
@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("allowed", None),
        ("moved", "the obligation `page` must be performed before the call (transform by rule `moves`)"),
        ("person", "the obligation `redact` must be performed before the call (approve_required by rule `person`)"),
        ("denied", "not here"),
        ("silent", "a reason is required in `args.why`"),
    ],
)
def test_a_hook_refuses_what_it_cannot_perform(hook: Any, bundle: Path, tool: str, text: str | None) -> None:
    ended = hook("codex", bundle, call("codex", tool))
    assert (ended.code, ended.err) == (0, b"")
    if text is None:
        assert ended.out == b""
        return
    output = ended.answer["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    assert text in output["permissionDecisionReason"]


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_gets_the_same_refusal(host: str, bundle: Path) -> None:
    answers = [hook(host, bundle, call(host, "moved")) for hook in (native, python)]
    assert answers[0] == answers[1]
    assert b"obligation `page`" in answers[0].out


def test_an_approval_cannot_replace_an_obligation(bundle: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/approvals.db"
    ended = python("codex", bundle, call("codex", "person"), "--approvals", url)
    assert "obligation `redact`" in ended.answer["hookSpecificOutput"]["permissionDecisionReason"]


def by_function(request: Any, context: Any) -> Any:
    if request.tool == "allowed":
        return Decision(Verdict.ALLOW, obligations=(Obligation("notify", "boss", "after"),))
    if request.tool == "moved":
        args = {"path": "/safe"}
        return Decision(Verdict.TRANSFORM, transform_args=args, obligations=(Obligation("page", 4),))
    if request.tool == "person":
        return Decision(Verdict.APPROVE_REQUIRED, request.tool, obligations=(Obligation("redact", "args.path"),))
    return None


@HOOKS
@pytest.mark.parametrize(("tool", "name"), [("allowed", None), ("moved", "page"), ("person", "redact")])
def test_obligations_of_functions_are_refused_alike(hook: Any, tmp_path: Path, tool: str, name: str | None) -> None:
    path = tmp_path / "policy.bobcat"
    Policy.compile({"rules": []}, python_rules=[by_function]).save(path)
    ended = hook("codex", path, call("codex", tool))
    assert (ended.code, ended.err) == (0, b"")
    if name is None:
        assert ended.out == b""
        return
    output = ended.answer["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    assert f"the obligation `{name}` must be performed before the call" in output["permissionDecisionReason"]
