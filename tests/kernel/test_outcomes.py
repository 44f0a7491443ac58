"""Outcomes and error codes are values of a result; its text is for people, and is not read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, get_args

import pytest

from bobcat import (
    Budget,
    CancelToken,
    FinalAnswer,
    MemoryStore,
    Principal,
    RunErrorCode,
    RunResult,
    durable_approvals,
    jsonl_sink,
)
from bobcat.errors import FILE_CODES, AttachmentError, IncompleteReply
from bobcat.graph.model import GraphResult
from bobcat.stores.protocol import LeaseLost
from kernel.scripted import call, seen

SWITCH = CancelToken()
SWITCH.cancel("enough")


def raises(_: object) -> None:
    raise ValueError("cancelled: superseded: store.append failed: ")


def incomplete(code: str) -> Callable[[object], None]:
    """An adapter's failure with a code of its own."""

    def fail(_: object) -> None:
        raise IncompleteReply("not a reply", code)  # type: ignore[arg-type]

    return fail


def no_file(code: str) -> Callable[[object], None]:
    """The failure of an adapter that cannot pass an attachment on."""

    def fail(_: object) -> None:
        raise AttachmentError(code, "not an attachment")

    return fail


async def sleeps(_: object) -> None:
    await asyncio.sleep(9)


def foreign() -> MemoryStore:
    """A store with a run of another principal."""
    store = MemoryStore()
    assert seen(call("echo", text="x"), raises, store=store, run_id="r").result.outcome == "failed"
    return store


class Away(MemoryStore):
    """Keeps nothing."""

    async def append_fenced(self, *args: Any, **options: Any) -> None:
        raise OSError("away")


class Leased(MemoryStore):
    """Another worker has every run."""

    async def acquire(self, run_id: str, **options: Any) -> Any:
        await super().acquire(run_id, owner="another", seconds=60)
        return await super().acquire(run_id, **options)


class Overtaken(MemoryStore):
    """Another worker takes the run as soon as it has begun."""

    async def append_fenced(self, record: Any, lease: Any) -> None:
        raise LeaseLost("taken")


def failing_sink() -> Any:
    class Closed:
        def write(self, _: str) -> None:
            raise OSError("closed")

        def flush(self) -> None: ...

    return jsonl_sink(Closed(), required=True)  # type: ignore[arg-type]


ENDS: dict[str, tuple[str, tuple[object, ...], dict[str, Any]]] = {
    "agent_failed": ("failed", (raises,), {}),
    "agent_timed_out": ("failed", (sleeps,), {"budget": Budget(step_timeout_seconds=0.01)}),
    "invalid_reply": ("failed", ("nothing",), {}),
    "budget_exhausted": ("failed", (call("echo", text="x"),), {"budget": Budget(steps=1)}),
    "repeated_call": ("failed", (call("echo", text="x"),) * 2, {"budget": Budget(max_repeated_calls=1)}),
    "sink_failed": ("failed", (), {"sinks": (failing_sink(),)}),
    "store_failed": ("failed", (), {"store": Away(), "run_id": "r"}),
    "journal_refused": ("failed", (), {"store": foreign(), "run_id": "r", "principal": Principal("user", "other")}),
    "busy": ("superseded", (), {"store": Leased(), "run_id": "r"}),
    "lease_lost": ("superseded", (), {"store": Overtaken(), "run_id": "r"}),
    "cancelled": ("cancelled", (), {"cancel": SWITCH}),
    "suspended": ("suspended", (call("deploy", version="1"),), {}),
    "reply_cut_off": ("failed", (incomplete("reply_cut_off"),), {}),
    "reply_refused": ("failed", (incomplete("reply_refused"),), {}),
    "unmediated_tool": ("failed", (incomplete("unmediated_tool"),), {}),
    **{code: ("failed", (no_file(code),), {}) for code in FILE_CODES},
}


@pytest.mark.parametrize("code", get_args(RunErrorCode))
def test_every_code_has_a_run_that_ends_with_it(code: RunErrorCode) -> None:
    outcome, replies, options = ENDS[code]
    if code == "suspended":
        store = MemoryStore()
        options = {"store": store, "run_id": "r", "on_approval": durable_approvals(store)}
    result = seen(*replies, **options).result
    assert (result.outcome, result.status, result.code) == (outcome, outcome, code)
    assert result.error


def test_another_code_of_an_attachment_error_is_no_code_of_a_run() -> None:
    assert seen(no_file("of my own")).result.code == "agent_failed"


def test_a_run_that_succeeds_has_no_code() -> None:
    result = seen(FinalAnswer("cancelled: no")).result
    assert (result.outcome, result.code, result.error) == ("succeeded", None, None)


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (RunResult("c", "b", "done"), "succeeded"),
        (RunResult("c", "b", error="cancelled: by a text"), "failed"),
        (RunResult("c", "b", error="superseded: by a text"), "failed"),
        (RunResult("c", "b", error="waits", approvals=("a",)), "suspended"),
        (RunResult("c", "b", error="stop", outcome="cancelled"), "cancelled"),
        (GraphResult(None, (), 0), "succeeded"),
        (GraphResult(None, (), 0, "suspended: by a text"), "failed"),
        (GraphResult(None, (), 0, "waits", "suspended"), "suspended"),
    ],
)
def test_the_outcome_of_a_result_is_given_and_not_read_from_its_text(result: Any, outcome: str) -> None:
    assert result.outcome == outcome
