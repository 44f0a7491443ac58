"""The mediator alone: what each decision lets happen."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from bobcat import (
    ActionRequest,
    ActionResult,
    ApprovalDecision,
    ApprovalRequest,
    Decision,
    ExecutionContext,
    Principal,
    ToolSet,
    Verdict,
    auto_approve,
    auto_deny,
    mediate,
    tool,
)
from bobcat.approvals import Pending

CONTEXT = ExecutionContext(Principal("user", "u"), "dev", ".", "c", 0, datetime(2026, 1, 31, tzinfo=UTC))
RAN: list[Any] = []


@tool()
async def act(items: list[int]) -> str:
    RAN.append([*items])
    items.append(99)
    return "acted"


@act.shadow  # type: ignore[attr-defined]
async def act_shadow(items: list[int]) -> str:
    if not items:
        raise ValueError("nothing to preview")
    return f"would act on {items}"


@tool()
async def bare() -> None: ...


TOOLS = ToolSet.from_functions(act, bare)


def result(decision: Decision, name: str = "act", approve: Any = None, **options: Any) -> ActionResult:
    RAN.clear()
    args = {"items": [1]} if name == "act" else {}
    declared = act.__bobcat_meta__.metadata  # type: ignore[attr-defined]
    request = ActionRequest(name, args, declared, CONTEXT)
    outcome = asyncio.run(mediate(request, decision, TOOLS, approve or auto_deny("no"), **options))
    assert args in ({"items": [1]}, {}), "the caller's arguments were changed"
    return outcome


def test_allow_runs_the_tool_on_a_copy_of_the_arguments() -> None:
    assert result(Decision(Verdict.ALLOW)).value == "acted"
    assert RAN == [[1]]


@pytest.mark.parametrize(("reason", "error"), [("", "denied: Policy denied this action"), ("no", "denied: no")])
def test_deny_runs_nothing(reason: str, error: str) -> None:
    assert result(Decision(Verdict.DENY, reason)) == ActionResult(False, error=error)
    assert RAN == []


@pytest.mark.parametrize("verdict", ["allow", "deny", None, "alow", 1, object])
def test_an_unknown_verdict_runs_nothing(verdict: Any) -> None:
    outcome = result(Decision(verdict))
    assert outcome.ok is False
    assert outcome.error == f"denied: unknown verdict {verdict!r}"
    assert RAN == []


def test_dry_run_previews_and_says_so_when_it_cannot() -> None:
    assert result(Decision(Verdict.DRY_RUN)).value == {"dry_run": True, "preview": "would act on [1]"}
    assert result(Decision(Verdict.DRY_RUN), "bare").error == "tool 'bare' has no shadow; cannot dry-run"
    assert result(Decision(Verdict.DRY_RUN, transform_args={"items": []})).error == "ValueError: nothing to preview"
    assert RAN == []


def test_effective_arguments_run_whatever_the_permitting_verdict() -> None:
    seen: list[Any] = []

    async def approves(request: ApprovalRequest) -> ApprovalDecision:
        seen.append(request.request.args)
        return ApprovalDecision(True, "alice")

    changed = {"items": [7]}
    assert result(Decision(Verdict.TRANSFORM, transform_args=changed)).ok
    assert RAN == [[7]]
    assert result(Decision(Verdict.APPROVE_REQUIRED, transform_args=changed), approve=approves).ok
    assert (RAN, seen) == ([[7]], [{"items": [7]}])
    assert result(Decision(Verdict.DRY_RUN, transform_args=changed)).value["preview"] == "would act on [7]"  # type: ignore[index]
    assert changed == {"items": [7]}


NO_ARGS = "transform decision missing transform_args (must be a Mapping). Refusing to fall through to original args."


@pytest.mark.parametrize("args", [None, [1], "x"])
def test_a_transform_without_arguments_runs_nothing(args: Any) -> None:
    assert result(Decision(Verdict.TRANSFORM, transform_args=args)).error == NO_ARGS
    assert RAN == []


@pytest.mark.parametrize("verdict", [Verdict.ALLOW, Verdict.DRY_RUN, Verdict.APPROVE_REQUIRED])
@pytest.mark.parametrize("args", [[1], "x", 0])
def test_invalid_effective_arguments_run_nothing_whatever_the_verdict(verdict: Verdict, args: Any) -> None:
    assert result(Decision(verdict, transform_args=args), approve=auto_approve()).error == NO_ARGS
    assert RAN == []


def test_approval_grants_only_to_those_named() -> None:
    named = Decision(Verdict.APPROVE_REQUIRED, approvers=("alice",))
    assert result(named, approve=auto_approve("alice")).ok
    assert result(named, approve=auto_approve("bob")).error == "denied: 'bob' is not among the approvers (alice)"
    assert result(named).error == "denied: approval refused by system — no"


def test_a_bare_string_of_approvers_is_one_name() -> None:
    named = Decision(Verdict.APPROVE_REQUIRED, approvers="alice")  # type: ignore[arg-type]
    assert result(named, approve=auto_approve("ali")).error == "denied: 'ali' is not among the approvers (alice)"
    assert result(named, approve=auto_approve("alice")).ok


def test_an_approver_cannot_change_what_runs_even_by_force() -> None:
    async def meddles(request: ApprovalRequest) -> ApprovalDecision:
        list.append(request.request.args["items"], 2)
        dict.__setitem__(request.request.args, "items", [3])  # type: ignore[arg-type]
        return ApprovalDecision(True, "alice")

    assert result(Decision(Verdict.APPROVE_REQUIRED), approve=meddles).ok
    assert RAN == [[1]]


def test_a_pending_approval_is_refused_without_a_journal() -> None:
    async def later(_: object) -> Pending:
        return Pending("a-1")

    assert result(Decision(Verdict.APPROVE_REQUIRED), approve=later).error == (
        "denied: the approval is pending, and this call cannot wait"
    )
    assert RAN == []


def test_an_approvers_edit_is_refused_where_it_cannot_be_evaluated() -> None:
    async def edits(_: object) -> ApprovalDecision:
        return ApprovalDecision(True, "alice", "", {"items": [2]})

    assert result(Decision(Verdict.APPROVE_REQUIRED), approve=edits).error == (
        "denied: the approver edited the arguments; not evaluated again"
    )
    assert RAN == []


def test_an_unknown_tool_is_a_failed_result() -> None:
    assert result(Decision(Verdict.ALLOW), "nope").error == "unknown tool: 'nope'"


def test_executors_cannot_crash_the_caller() -> None:
    async def returns_none(*_: object) -> Any:
        return None

    async def exits(*_: object) -> Any:
        raise SystemExit(1)

    assert result(Decision(Verdict.ALLOW), executor=returns_none).error == (
        "executor returned NoneType, not ActionResult (tool 'act')"
    )
    assert result(Decision(Verdict.ALLOW), executor=exits).error == "executor raised SystemExit: 1"


def test_cancelling_the_caller_goes_through() -> None:
    async def hangs(*_: object) -> Any:
        await asyncio.sleep(60)

    async def main() -> None:
        request = ActionRequest("act", {"items": []}, act.__bobcat_meta__.metadata, CONTEXT)  # type: ignore[attr-defined]
        for decision, options in (
            (Decision(Verdict.ALLOW), {"executor": hangs}),
            (Decision(Verdict.APPROVE_REQUIRED), {}),
        ):
            task = asyncio.create_task(mediate(request, decision, TOOLS, hangs, **options))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


@tool()
async def resize(path: str, width: int = 80, height: int = 25) -> str:
    RAN.append((path, width, height))
    return "resized"


def resized(decision: Decision, args: dict[str, Any], approve: Any = None) -> ActionResult:
    RAN.clear()
    declared = resize.__bobcat_meta__.metadata  # type: ignore[attr-defined]
    request = ActionRequest("resize", args, declared, CONTEXT)
    return asyncio.run(mediate(request, decision, ToolSet.from_functions(resize), approve or auto_deny("no")))


def test_an_approver_sees_the_defaults_that_will_run() -> None:
    seen: list[Any] = []

    async def approve(asked: ApprovalRequest) -> ApprovalDecision:
        seen.append(dict(asked.request.args))
        return ApprovalDecision(True, "alice")

    assert resized(Decision(Verdict.APPROVE_REQUIRED), {"path": "a", "width": 5}, approve).ok
    assert seen == [{"path": "a", "width": 5, "height": 25}]
    assert RAN == [("a", 5, 25)]


@pytest.mark.parametrize("verdict", [Verdict.ALLOW, Verdict.APPROVE_REQUIRED, Verdict.DRY_RUN])
@pytest.mark.parametrize(
    ("args", "problem"),
    [({"path": "a", "depth": 5}, "unknown argument `depth`"), ({"width": 5}, "missing argument `path`")],
)
def test_arguments_that_a_tool_does_not_take_or_lacks_are_refused(
    verdict: Verdict, args: dict[str, Any], problem: str
) -> None:
    outcome = resized(Decision(verdict), args, auto_approve())
    assert not outcome.ok
    assert problem in str(outcome.error)
    assert RAN == []
