"""Exceptions that leave a run: rows U-55 to U-60. Whatever goes wrong is a recorded failure of the run or action."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import ApprovalRequest, AuditEvent, Budget, MemoryStore, ToolCall, auto_approve
from kernel.scripted import Seen, call, seen


def records(store: MemoryStore) -> list[str]:
    return [record.kind for record in asyncio.run(store.load("r"))]


@pytest.mark.parametrize("reply", [lambda _: None, {"tool": "echo"}, "echo", 5, object(), [None], [[]], Exception()])
@pytest.mark.parametrize("journaled", [False, True])
# lynx-agent defect 55
def test_an_invalid_reply_fails_the_run(reply: object, journaled: bool) -> None:
    run = seen(reply, **({"store": MemoryStore(), "run_id": "r"} if journaled else {}))
    assert run.result.error is not None
    assert run.result.error.startswith("agent.step returned ")
    assert run.kinds[-1] == "run.failed"


def _cyclic() -> dict[str, Any]:
    args: dict[str, Any] = {"text": "a"}
    args["self"] = [args]
    return args


@pytest.mark.parametrize(
    "args",
    [None, 5, "text", [("text", "a")], {"text": {1: "a", "b": 2, None: 3}}, _cyclic(), {5: 1}, {"text": {(1, 2): 3}}],
    ids=["none", "number", "string", "pairs", "mixed keys", "cycle", "number as name", "tuple as key"],
)
@pytest.mark.parametrize("gate", [None, 3])
@pytest.mark.parametrize("journaled", [False, True])
# lynx-agent defect 56
def test_hostile_arguments_never_end_a_run(args: Any, gate: int | None, journaled: bool) -> None:
    options: dict[str, Any] = {"store": MemoryStore(), "run_id": "r"} if journaled else {}
    run = seen(ToolCall("echo", args), budget=Budget(max_repeated_calls=gate), **options)
    assert run.result.final_answer == "done"
    assert run.kinds[-1] == "run.succeeded"
    assert len(run.tool_messages) == 1


# lynx-agent defect 57
def test_a_result_without_a_text_is_journaled_and_reported() -> None:
    store = MemoryStore()
    run = seen(call("broken", kind="unprintable"), store=store, run_id="r")
    assert run.tool_messages == ["[ok] <Unprintable that cannot be shown: ValueError>"]
    assert records(store)[-3:] == ["action.result", "model.output", "final"]


# lynx-agent defect 58
def test_sinks_that_are_plain_or_raise_lose_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    def plain(event: AuditEvent) -> None: ...

    def raises(event: AuditEvent) -> None:
        raise OSError("disk full")

    store = MemoryStore()
    run = seen(call("echo", text="a"), sinks=[plain, raises, len], store=store, run_id="r")
    assert run.result.final_answer == "done"
    assert "action.result" in records(store)
    assert "OSError: disk full" in capsys.readouterr().err


class _Switch:
    """A kill switch without a reason."""

    cancelled = True


# lynx-agent defect 59
def test_a_kill_switch_without_a_reason_stops_the_run() -> None:
    run = seen(call("echo", text="a"), cancel=_Switch())
    assert run.result.error == "cancelled: cancelled by caller"


# lynx-agent defect 59
def test_an_approval_handler_that_returns_nothing_refuses() -> None:
    async def nothing(request: ApprovalRequest) -> Any:
        return None

    run = seen(call("deploy", version="1"), on_approval=nothing)
    assert run.tool_messages == ["[denied] approval handler returned NoneType, not ApprovalDecision"]


@pytest.mark.parametrize("loaded", [None, 5, [None], ["record"], [{"seq": 0}]])
# lynx-agent defect 59
def test_an_invalid_journal_fails_the_run(loaded: Any) -> None:
    class Broken(MemoryStore):
        async def load(self, run_id: str) -> Any:
            return loaded

    run = seen(call("echo", text="a"), store=Broken(), run_id="r")
    assert run.result.error is not None
    assert run.result.error.startswith("store.load failed: ")
    assert run.ran == []


@pytest.mark.parametrize(("kind", "name"), [("exit", "SystemExit"), ("cancelled", "CancelledError")])
@pytest.mark.parametrize("tool", ["broken", "asked"])
# lynx-agent defect 59
def test_a_tool_that_raises_what_ends_programs_has_failed(kind: str, name: str, tool: str) -> None:
    policy = "rules: [{id: r, match: {tool: broken}, decision: %s}]"
    verdict = "allow" if tool == "broken" else "approve_required"
    run: Seen = seen(call("broken", kind=kind), policy=policy % verdict, on_approval=auto_approve())
    assert run.result.final_answer == "done"
    assert name in run.tool_messages[0]
    assert run.tool_messages[0].startswith("[error] ")


# lynx-agent defect 60
def test_a_timeout_that_an_agent_raises_is_an_error_of_the_agent() -> None:
    def late(_: object) -> None:
        raise TimeoutError("provider")

    run = seen(late)
    assert run.result.error == "agent.step raised: TimeoutError: provider"
    assert "None" not in run.result.error
