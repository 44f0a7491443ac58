"""Generated calls of a run with what becomes of each, taken into states of the core and into a slow reading."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from bobcat import Request
from bobcat._core import RunState
from bobcat.model.decision import ActionRequest
from oracle.memory_reading import SECOND, Event, Reading
from property.memory_conditions import NAMES, TOOLS, results

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Step:
    """One proposed call: how much later it is proposed, what becomes of it, and if the next one is in another reply."""

    tool: str
    args: dict[str, Any]
    later: int
    end: str
    value: Any
    reply_ends: bool


steps = st.builds(
    Step,
    st.sampled_from(TOOLS),
    st.builds(lambda to, n: {"to": to, "n": n, "who": {"to": to}}, st.sampled_from(NAMES), st.integers(0, 2)),
    st.integers(0, 30),
    st.sampled_from(["result", "result", "failed", "released", "open"]),
    results,
    st.booleans(),
)


def propose(step: Step, reading: Reading) -> ActionRequest:
    """Move the time of the reading to that of a step, and return the request of the step."""
    reading.now += step.later * SECOND
    return Request(step.tool, step.args, timestamp=START + timedelta(microseconds=reading.now))


def take(step: Step, request: ActionRequest, reading: Reading, states: list[RunState], *, plain: bool) -> None:
    """Take what becomes of a permitted step into the reading and the states. `plain`: results are mappings."""
    at, key = request.context.timestamp, f"c{len(reading.events)}"
    intent = Event("call", step, reading.now)
    reading.events.append(intent)
    asked = all(reading.source("people", leaf) for leaf in (step.args["to"], step.args["n"]))
    value = {"name": "ann", "code": 0} if plain and isinstance(step.value, list) else step.value
    for state in states:
        state.call(request, key)
        match step.end:
            case "result":
                state.result(key, value, at)
            case "failed":
                state.failed(key, at)
            case "released":
                state.release(key)
        if step.reply_ends:
            state.next_reply()
    if step.end == "result":
        reading.events.append(Event("result", step, reading.now, value, asked=asked))
    intent.released = step.end == "released"
    if step.reply_ends:
        for event in reading.events:
            event.shown = True
