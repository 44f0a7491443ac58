"""Notes for an approver: where the values of a call came from, and what the run has done before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UnsetType

from bobcat._core import RunState as CoreState
from bobcat.bundle import Policy
from bobcat.ir.schema import Measure, Source
from bobcat.ir.spelling import run_path, source_name
from bobcat.model.decision import ActionRequest
from bobcat.model.exact import path_text as place_text
from bobcat.text.json_text import json_text

MAX_NOTES = 32
"""Largest number of values of one call whose origins are listed."""
_TASK = "the user's own words"

Json = Any  # Any: JSON


def notes_of(policy: Policy, state: CoreState, request: ActionRequest) -> tuple[str, ...]:
    """One line for each text and number among the arguments, and one for each count and sum that rules read."""
    memory = policy.ir.memory
    if isinstance(memory, UnsetType):
        return ()
    notes = []
    if any(isinstance(each, Source) for each in memory.values()):
        for number, (place, value) in enumerate(_leaves(request.args, ("args",))):
            if number == MAX_NOTES:
                notes.append("more values are not listed")
                break
            notes.append(f"{place}: {_origins(state, value)}")
    values = state.values(request)
    for name, definition in memory.items():
        if isinstance(definition, Measure):
            read: object = values.get(name)
            text = f"unknown ({read['error']})" if isinstance(read, Mapping) else json_text(read)
            notes.append(f"{run_path(name, memory)}: {text}")
    return tuple(notes)


def _origins(state: CoreState, value: str | float) -> str:
    found = []
    for origin in state.origins(value):
        if "tool" in origin:
            found.append(f"{source_name(origin['source'])} (result of {origin['tool']}, {origin['field']})")
        else:
            found.append(_TASK)
    return ", ".join(found) or f"not from {_TASK}, nor from a source"


def _leaves(value: Json, place: tuple[str | int, ...]) -> Iterator[tuple[str, str | float]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(item, (*place, name))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _leaves(item, (*place, index))
    elif value != "" and isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield place_text(place), value
