"""The states of a run under analysis: what has happened, and what rules read of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET

from bobcat.analysis.sequences.drawn import sources_of
from bobcat.analysis.sequences.fixed import SourceValues, Value, Values
from bobcat.analysis.sequences.kinds import Atoms, Kind
from bobcat.analysis.sequences.memory import BASE, Event, Memory, is_open, is_sum, state_after
from bobcat.analysis.sequences.model import SequenceStep
from bobcat.bundle.model import Policy
from bobcat.ir.memory import TASK
from bobcat.ir.schema import Definition, Expr, Leaf, Measure
from bobcat.ir.visit import leaves
from bobcat.model.decision import ActionRequest


@dataclass(frozen=True, slots=True)
class History:
    """The calls of a run so far, with their kinds and events."""

    steps: tuple[SequenceStep, ...] = ()
    kinds: tuple[Kind, ...] = ()
    events: tuple[Event, ...] = ()

    def then(self, step: SequenceStep, kind: Kind, event: Event) -> History:
        """Return the history with one call more."""
        return History((*self.steps, step), (*self.kinds, kind), (*self.events, event))


class Reader:
    """Reads what the rules in question see in a state.

    With `free`, a value that is not a function of the kinds of the calls is left open once a call has changed it: a
    sum, what is in a window, and the values of sources.
    """

    def __init__(self, memory: Memory, atoms: Atoms, exprs: Iterable[Expr], *, free: bool, transforms: bool) -> None:
        self.memory = memory
        self._atoms = atoms
        self._free = free
        self._transforms = transforms
        self._bounds = dict(_bounds(exprs))
        self._sources = sources_of(memory.definitions)

    def values(self, history: History, request: ActionRequest, kind: Kind | None) -> Values:
        """Return the values for a call of a kind; for None, without those of measures that include the call."""
        read = self.memory.values(history.events, request)
        found = {}
        for name, definition in self.memory.definitions.items():
            if name in self._sources or (self._free and self._is_touched(name, definition, history)):
                continue
            if isinstance(definition, Measure) and definition.this:
                if kind is None or (self._free and self._transforms):
                    continue
                found[name] = self._with_call(definition, read[name + BASE], self._atoms.taken(name, definition, kind))
            else:
                found[name] = Value(read[name])
        return found

    def _with_call(self, definition: Measure, base: Any, taken: str) -> Value:  # Any: a number, or an error
        if isinstance(base, dict) or taken == "false":
            return Value(base)
        if taken == "error":
            return Value({"error": "bad_state"})
        return Value(base, tuple(definition.field)) if definition.field is not UNSET else Value(base + 1)

    def drawn(self, policy: Policy, history: History, task: str | None, pool: list[str]) -> SourceValues:
        """Return the values that sources have; with `free`, only for sources that no call has fed."""
        if self._free:
            if policy.ir.defaults.on_rule_error != "deny":
                return {}
            return {name: [] for name in self._sources if not self._fed(name, history)}
        found: dict[str, list[Any]] = {name: [] for name in self._sources}
        found[TASK] = []
        if not self._sources and task is None:
            return found
        state = state_after(policy, history.events, task)
        for value in pool:
            for origin in state.origins(value):
                found.setdefault(origin["source"], []).append(value)
        return found

    def _fed(self, name: str, history: History) -> bool:
        return any(kind.outcomes[self._atoms.of[name][0]] != "false" for kind in history.kinds)

    def fed_sources(self, kind: Kind) -> list[str]:
        """Return the names of the sources that take values from a call of a kind."""
        return [name for name in self._sources if kind.outcomes[self._atoms.of[name][0]] == "true"]

    def _is_touched(self, name: str, definition: Definition, history: History) -> bool:
        if not history.kinds or not is_open(definition):
            return False
        if not isinstance(definition, Measure):
            return True
        return any(self._atoms.taken(name, definition, kind) != "false" for kind in history.kinds)

    def key(self, history: History, request: ActionRequest) -> str:
        """Return what distinguishes a state from others: equal states permit the same calls, now and later."""
        read = self.memory.values(history.events, request)
        found: list[object] = [bool(history.events)]
        for name, value in sorted(read.items()):
            own = name.partition("#")[0]
            definition = self.memory.definitions[own]
            if isinstance(definition, Measure) and definition.this and not name.endswith(BASE):
                continue
            if self._free and self._is_touched(own, definition, history):
                found.append("open")
            elif own in self._bounds and not is_sum(definition) and not isinstance(value, dict):
                found.append(min(value, self._bounds[own]))
            else:
                found.append(repr(value))
        found += [self._fed(name, history) for name in sorted(self._sources)]
        return repr(found)


def _bounds(exprs: Iterable[Expr]) -> Iterator[tuple[str, int]]:
    """Yield for counts that are compared with constants only a number past all of them."""
    most: dict[str, int | None] = {}
    for expr in exprs:
        for leaf in leaves(expr):
            for name, numbers in _compared(leaf):
                known = most.get(name, 0)
                if known is None or not all(isinstance(item, int | float) for item in numbers):
                    most[name] = None
                else:
                    most[name] = max(known, *(int(item) + 1 for item in numbers), 1)
    yield from ((name, bound) for name, bound in most.items() if bound is not None)


def _compared(leaf: Leaf) -> Iterator[tuple[str, list[Any]]]:  # Any: numbers, or other operands
    operand = leaf.operand
    if leaf.head == "run":
        yield leaf.path[0], operand if isinstance(operand, list) else [operand]
    for path in _run_refs(operand):
        yield path, [None]


def _run_refs(operand: Any) -> Iterator[str]:  # Any: an operand
    if isinstance(operand, dict):
        if operand.get("ref", ("",))[0] == "run":
            yield operand["ref"][1]
        for part in (*operand.get("places", ()), *(test["operand"] for test in operand.get("tests", ()))):
            yield from _run_refs(part)


def sum_bounds(exprs: Iterable[Expr], definitions: dict[str, Definition]) -> dict[str, list[float]]:
    """Return the constants with which the sums are compared."""
    found: dict[str, list[float]] = {}
    for expr in exprs:
        for leaf in leaves(expr):
            for name, numbers in _compared(leaf):
                if name in definitions and is_sum(definitions[name]):
                    found.setdefault(name, []).extend(item for item in numbers if isinstance(item, int | float))
    return found
