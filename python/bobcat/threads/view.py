"""Events and messages of a turn, from the records of its journal. The same records give the same values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bobcat.journal.index import EFFECTFUL_VERDICTS
from bobcat.journal.records import StepRecord, usage_from_body
from bobcat.model.frozen import deep_freeze
from bobcat.model.run import Message, Usage
from bobcat.threads.events import (
    Asked,
    CallProposed,
    CallResult,
    CallStarted,
    Decided,
    Ended,
    ReplyDiscarded,
    ThreadEvent,
    ThreadText,
    ThreadThinking,
    ThreadUsage,
    TurnStarted,
)
from bobcat.threads.files import FIELD, files_of, files_to_body

ENDS = frozenset({"final", "run.failed", "run.cancelled"})
"""Records that end a turn."""
_STARTING = EFFECTFUL_VERDICTS | {"dry_run"}
_NO_RESULT = "[error] the turn ended before this call had a result"


class TurnView:
    """The events of one turn, as its records come in. `before` is the number of events of the turns before it."""

    def __init__(self, turn: int, before: int) -> None:
        self.turn = turn
        self.events = before
        """Number of the last event."""
        self.records = 0
        """Number of records taken."""
        self.ended = False
        self.suspended = False
        self._open_text = False
        self._replied_text = False

    def take(self, records: Iterable[StepRecord]) -> list[ThreadEvent]:
        """The events of further records."""
        found: list[ThreadEvent] = []
        for record in records:
            self.records = record.seq + 1
            self.suspended = record.kind == "run.suspended"
            for event_type, values in self._events(record):
                self.events += 1
                place = {"seq": self.events, "turn": self.turn, "at": record.timestamp}
                found.append(event_type(**{**values, **place}))
        return found

    # Any: the fields of an event.
    def _events(self, record: StepRecord) -> list[tuple[type[ThreadEvent], dict[str, Any]]]:
        body, kind = record.body, record.kind
        if kind == "reply.delta":
            return self._deltas(body)
        if kind == "model.output":
            return self._reply(body)
        found: list[tuple[type[ThreadEvent], dict[str, Any]]] = []
        if self._open_text and kind in ("run.resumed", "run.failed", "run.cancelled"):
            found.append((ReplyDiscarded, {}))
            self._open_text = self._replied_text = False
        match kind:
            case "run.started":
                digests = tuple(each.digest for each in files_of(body))
                found.append((TurnStarted, {"text": body["task"], "attachments": digests}))
            case "step.decided":
                decided = {"verdict": body["verdict"], "reason": body["reason"], "rules": tuple(body["rules"])}
                found.append((Decided, {"step": body["step"], **decided}))
            case "run.suspended":
                found.append((Asked, {"step": body["step"], "approvals": tuple(body["approvals"])}))
            case "action.intent" if body.get("verdict") in _STARTING:
                found.append((CallStarted, {"step": body["step"], "tool": body["tool"]}))
            case "action.result":
                result = {name: body[name] for name in ("step", "tool", "message")}
                found.append((CallResult, {**result, "ok": body["ok"] is True}))
            case "final":
                found.append((Ended, {"outcome": "succeeded", "answer": body["final_answer"]}))
            case "run.failed" | "run.cancelled":
                outcome = kind.removeprefix("run.")
                found.append((Ended, {"outcome": outcome, "error": body.get("error"), "code": body.get("code")}))
        self.ended = self.ended or bool(found and found[-1][0] is Ended)
        return found

    def _deltas(self, body: Mapping[str, Any]) -> list[tuple[type[ThreadEvent], dict[str, Any]]]:
        self._open_text = True
        found: list[tuple[type[ThreadEvent], dict[str, Any]]] = []
        for kind, text in body["deltas"]:
            self._replied_text = self._replied_text or kind == "text"
            found.append((ThreadText if kind == "text" else ThreadThinking, {"text": text}))
        return found

    def _reply(self, body: Mapping[str, Any]) -> list[tuple[type[ThreadEvent], dict[str, Any]]]:
        found: list[tuple[type[ThreadEvent], dict[str, Any]]] = []
        calls = _calls(body)
        text = body["text"] if body.get("type") == "final_answer" else calls[0].get("text", "")
        if text and not self._replied_text:
            found.append((ThreadText, {"text": text}))
        self._open_text = self._replied_text = False
        cost = body.get("cost_micros")
        for usage in _usages(body, calls):
            values = {name: getattr(usage, name) for name in Usage.__dataclass_fields__}
            found.append((ThreadUsage, {**values, "cost_micros": cost}))
            cost = None
        for step, call in enumerate(calls, int(body["step"])):
            call_id = call.get("call_id") or f"step_{step}"
            args = deep_freeze(dict(call.get("args", {})))
            found.append((CallProposed, {"step": step, "call_id": call_id, "tool": call["tool"], "args": args}))
        return found


def messages_of(records: Sequence[StepRecord], task: Message) -> tuple[Message, ...]:
    """The messages of a turn, from the user's to the answer. A call without a result has a note in its place."""
    found = [task]
    results = {int(each.body["step"]): each.body for each in records if each.kind == "action.result"}
    for record in records:
        if record.kind == "final":
            found.append(Message("assistant", record.body["final_answer"]))
        elif record.kind == "model.output":
            first = int(record.body["step"])
            calls = list(enumerate(_calls(record.body), first))
            found += [_call_message(step, call) for step, call in calls]
            found += [_result_message(step, call, results.get(step)) for step, call in calls]
    return tuple(found)


def message_to_body(message: Message) -> dict[str, Any]:
    """A message as a window's choice keeps it."""
    fields = Message.__dataclass_fields__
    found = {name: value for name in fields if (value := getattr(message, name)) not in (None, ())}
    return {**found, **files_to_body(message.attachments)}


def message_from_body(body: Mapping[str, Any]) -> Message:
    """The message of `message_to_body`."""
    data = {name: deep_freeze(body[name]) for name in _DATA if name in body}
    return Message(**{**body, **data, FIELD: files_of(body)})


_DATA = ("tool_call_args", "provider_data")


def _call_message(step: int, call: Mapping[str, Any]) -> Message:
    data = call.get("provider_data")
    args = deep_freeze(dict(call.get("args", {})))
    call_id = call.get("call_id") or f"step_{step}"
    return Message("assistant", call.get("text", ""), call["tool"], call_id, args, deep_freeze(data))


def _result_message(step: int, call: Mapping[str, Any], result: Mapping[str, Any] | None) -> Message:
    text = _NO_RESULT if result is None else str(result.get("message", ""))
    return Message("tool", text, call["tool"], call.get("call_id") or f"step_{step}")


def _calls(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if body.get("type") == "final_answer":
        return []
    return list(body["calls"]) if body.get("type") == "tool_calls" else [body]


def _usages(body: Mapping[str, Any], calls: list[Mapping[str, Any]]) -> list[Usage]:
    found = (usage_from_body(part.get("usage")) for part in (calls or [body]))
    return [usage for usage in found if usage is not None]
