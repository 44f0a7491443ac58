"""The memory of a run under analysis: the core's own state, asked for the value of each definition.

INVARIANT: the state is that of `_core.RunState`, so that counts, sums and formulas have the values that decisions read.
Nothing here evaluates a definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from bobcat._core import RunState
from bobcat.bundle.model import Policy
from bobcat.ir import construct
from bobcat.ir.schema import (
    Definition,
    Formerly,
    Formula,
    FormulaDefinition,
    Measure,
    Previous,
    Since,
    Source,
)
from bobcat.ir.visit import formula_parts
from bobcat.model.decision import ActionRequest

Values: TypeAlias = dict[str, Any]  # Any: a bool, a number, or `{"error": code}`
BASE = "#before"
"""Suffix of the name of a measure that leaves the proposed call out."""


def definitions_of(policies: Iterable[Policy]) -> dict[str, Definition]:
    """Return the definitions of some policies."""
    found: dict[str, Definition] = {}
    for policy in policies:
        found |= {} if isinstance(policy.ir.memory, UnsetType) else policy.ir.memory
    return found


@dataclass(frozen=True, slots=True)
class Event:
    """A call that ran with its effective arguments, and the value of its result, or None where it failed."""

    request: ActionRequest
    result: tuple[Any] | None  # Any: JSON


class Memory:
    """The definitions that some policies read, and the values that they have after some events."""

    def __init__(self, definitions: Mapping[str, Definition]) -> None:
        self.definitions = dict(definitions)
        own = {name: unshared(definition) for name, definition in self.definitions.items()}
        for name, definition in list(own.items()):
            if isinstance(definition, Measure) and definition.this:
                own[name + BASE] = msgspec.structs.replace(definition, this=False)
            if isinstance(definition, FormulaDefinition):
                parts = _parts(definition.formula)
                own |= {f"{name}#{number}": FormulaDefinition(part) for number, part in enumerate(parts)}
        self._probe = Policy.from_policy(construct.policy(_readers(own), memory=own)) if own else None
        windows = {window for definition in own.values() for window in windows_of(definition)}
        self.gaps = (timedelta(0), *(timedelta(microseconds=window + 1) for window in sorted(windows)[:2]))
        """Times between two calls that make a difference: none, and past each window."""

    def values(self, events: tuple[Event, ...], request: ActionRequest) -> Values:
        """Return the values for a decision on a request after some events."""
        return {} if self._probe is None else self._state(events).values(request)

    def _state(self, events: tuple[Event, ...]) -> RunState:
        assert self._probe is not None  # without definitions there is nothing to ask
        return state_after(self._probe, events, None)


def state_after(policy: Policy, events: tuple[Event, ...], task: str | None) -> RunState:
    """Return the state of a run of a policy after some events."""
    state = RunState(policy, task=task)
    for number, event in enumerate(events):
        state.call(event.request, str(number))
        if event.result is None:
            state.failed(str(number), event.request.context.timestamp)
        else:
            state.result(str(number), event.result[0], event.request.context.timestamp)
        state.next_reply()
    return state


def unshared(definition: Definition) -> Definition:
    """Return a measure as one of the run alone: the sequence is all that its scope has seen."""
    is_shared = isinstance(definition, Measure) and definition.by is not UNSET
    return msgspec.structs.replace(definition, by=UNSET) if is_shared else definition


def windows_of(definition: Definition) -> Iterator[int]:
    """Yield the windows in a definition, in microseconds."""
    if isinstance(definition, Measure):
        if not isinstance(definition.within, UnsetType):
            yield definition.within
    elif isinstance(definition, FormulaDefinition):
        waiting: list[Formula] = [definition.formula]
        while waiting:
            item = waiting.pop()
            waiting += formula_parts(item)
            if isinstance(item, Previous | Formerly | Since) and not isinstance(item.within, UnsetType):
                yield item.within


def is_sum(definition: Definition) -> bool:
    """Return true for a measure that sums an argument."""
    return isinstance(definition, Measure) and not isinstance(definition.field, UnsetType)


def is_open(definition: Definition) -> bool:
    """Return true if the value depends on more than the kinds of calls and their order."""
    return is_sum(definition) or any(True for _ in windows_of(definition))


def _parts(formula: Formula) -> Iterator[Formula]:
    """Yield the parts of a formula whose values are its state."""
    for item in formula_parts(formula):
        yield item
        yield from _parts(item)


def _readers(definitions: Mapping[str, Definition]) -> Iterator[Any]:  # Any: rules
    for name, definition in definitions.items():
        if isinstance(definition, Source):
            match = construct.leaf("args", ("x",), "from", construct.sources([name]))
        else:
            value: Any = isinstance(definition, FormulaDefinition) or 0  # Any: a constant
            match = construct.leaf("run", (name,), "eq", value)
        yield construct.rule(name, match, "deny")
