"""Events of a thread without what a kill may change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bobcat.threads import Asked, CallStarted, Decided, ReplyDiscarded, ThreadEvent, ThreadText, ThreadThinking
from threads.killed_agent import DATE


def canonical(events: Sequence[ThreadEvent]) -> list[list[Any]]:
    """The events that must be the same however often the turn was continued: a discarded reply is left out, and a call
    is decided and started once.
    """
    found: list[list[Any]] = []
    open_text: list[list[Any]] = []
    again = asked_again(events)
    for event in events:
        fields = {name: getattr(event, name) for name in event.__dataclass_fields__ if name not in ("seq", "at")}  # type: ignore[attr-defined]
        line = [type(event).__name__, event.turn, DATE.sub("", repr(fields))]
        if isinstance(event, (ThreadText, ThreadThinking)):
            if open_text and open_text[-1][0] == line[0]:
                open_text[-1][2] += event.text
            else:
                open_text.append([line[0], event.turn, event.text])
            continue
        if isinstance(event, ReplyDiscarded):
            open_text.clear()
            continue
        found += open_text
        open_text.clear()
        if event in again:
            continue
        if isinstance(event, Asked):
            line[2] = str(event.step)
        if not isinstance(event, (Decided, CallStarted)) or line not in found:
            found.append(line)
    return found + open_text


def asked_again(events: Sequence[ThreadEvent]) -> list[ThreadEvent]:
    """Questions about a call whose earlier attempt had begun."""
    begun: set[tuple[int, int]] = set()
    found: list[ThreadEvent] = []
    for event in events:
        if isinstance(event, CallStarted):
            begun.add((event.turn, event.step))
        elif isinstance(event, Asked) and (event.turn, event.step) in begun:
            found.append(event)
    return found
