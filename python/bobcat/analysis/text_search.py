r"""The shortest text that some patterns are found in and others are not: a search over their automata at once.

    find_text([("^git .*$", True), ("--force", False), ("[;|]", True)])    "git ;"

One pattern is a non-deterministic automaton; a state of the search holds, for each pattern, the set of its states. The
search is breadth first over one character for each set of characters that no pattern tells apart, so the answer is
exact as long as the budget lasts. `\b`, `(?m)^` and `$` look at the characters on both sides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias, assert_never

from bobcat.analysis.pattern_syntax import (
    LAST,
    SPACE,
    WORD,
    Alt,
    Assert,
    Cat,
    Chars,
    Repeat,
    Tree,
    Unreadable,
    cases,
    class_ranges,
    is_fixed,
)

MAX_STATES = 4_000
"""States of the automaton of one pattern."""
MAX_CHARACTERS = 80
"""Sets of characters told apart in one search."""
STATES_PER_STEP = 8
"""States of automata that count as one step of the search."""
LONGEST = 400
"""Characters of a text that is found."""

_Set: TypeAlias = frozenset[int]
_State: TypeAlias = "tuple[_Set, str] | None"
_FOUND: _State = None
_NICE = "x/a1. -_0A;|&$\n@:~e"


class OutOfBudget(Exception):
    """The search was ended before it had an answer."""


@dataclass(slots=True)
class Budget:
    """Steps that are left for searches."""

    steps: int

    def spend(self, steps: int = 1) -> None:
        """Take steps off. Raises `OutOfBudget`."""
        self.steps -= steps
        if self.steps < 0:
            raise OutOfBudget


@dataclass(slots=True)
class Automaton:
    """The automaton of a pattern that is searched anywhere in a text. `lower` reads the text in lower case."""

    tree: Tree
    lower: bool = False
    _edges: list[list[tuple[Chars, int]]] = field(default_factory=list)
    _free: list[list[tuple[Assert | None, int]]] = field(default_factory=list)
    _known: dict[tuple[_Set, str, str], _State] = field(default_factory=dict)
    work: int = 0
    """States looked at, those that were remembered aside."""
    _end: int = 0
    _again: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        # PERF: a pattern that only the start of a text can match is over, and the search with it, once it has failed.
        self._again = () if is_fixed(self.tree, "text_start") else (0,)
        start = self._state()
        self._end = self._build(self.tree, start)

    @property
    def start(self) -> _State:
        """The state before the first character."""
        return frozenset((0,)), ""

    def step(self, state: _State, char: str) -> _State:
        """The state after one more character."""
        if state is None:
            return _FOUND
        char = char.lower()[:1] if self.lower else char
        key = (*state, char)
        if key not in self._known:
            here = self._closure(state[0], state[1], char)
            self.work += len(here)
            if self._end in here:
                self._known[key] = _FOUND
            else:
                moved = {target for item in here for chars, target in self._edges[item] if chars.holds(char)}
                self._known[key] = frozenset((*self._again, *moved)), _kind(char)
        return self._known[key]

    def accepts(self, state: _State) -> bool:
        """Whether the pattern is found in the text that led to a state."""
        return state is None or self._end in self._closure(state[0], state[1], "")

    def _closure(self, states: _Set, before: str, after: str) -> set[int]:
        found = set(states)
        waiting = list(states)
        while waiting:
            for assertion, target in self._free[waiting.pop()]:
                if target not in found and (assertion is None or _holds(assertion, before, after)):
                    found.add(target)
                    waiting.append(target)
        return found

    def _state(self) -> int:
        if len(self._edges) >= MAX_STATES:
            raise Unreadable("the pattern has too many states")
        self._edges.append([])
        self._free.append([])
        return len(self._edges) - 1

    def _build(self, tree: Tree, start: int) -> int:
        """Add a tree behind a state; the state that its end leads to."""
        match tree:
            case Chars():
                end = self._state()
                self._edges[start].append((tree, end))
                return end
            case Assert():
                end = self._state()
                self._free[start].append((tree, end))
                return end
            case Cat(items):
                for item in items:
                    start = self._build(item, start)
                return start
            case Alt(items):
                end = self._state()
                for item in items:
                    first = self._state()
                    self._free[start].append((None, first))
                    self._free[self._build(item, first)].append((None, end))
                return end
            case Repeat(item, low, high):
                for _ in range(low):
                    start = self._build(item, start)
                end = self._state()
                self._free[start].append((None, end))
                if high is None:
                    first = self._state()
                    self._free[start].append((None, first))
                    last = self._build(item, first)
                    self._free[last] += [(None, first), (None, end)]
                for _ in range(0 if high is None else high - low):
                    first = self._state()
                    self._free[start].append((None, first))
                    start = self._build(item, first)
                    self._free[start].append((None, end))
                return end
            case _:
                assert_never(tree)


@lru_cache(maxsize=128)
def automaton(tree: Tree, *, lower: bool = False) -> Automaton:
    """The automaton of a pattern. PERF: those of goals are asked again and again, and remember their steps."""
    return Automaton(tree, lower)


def find_text(wanted: Sequence[tuple[Automaton, bool]], budget: Budget, longest: int = LONGEST) -> str | None:
    """The shortest text that every automaton judges as wanted, the empty one only for want of others; None for none.

    Raises `OutOfBudget` when the steps do not suffice, `Unreadable` when too many characters are told apart.
    """
    machines = [machine for machine, _ in wanted]
    alphabet = characters(frozenset(machine.tree for machine in machines))
    first = tuple(machine.start for machine in machines)
    waiting: deque[tuple[tuple[_State, ...], str]] = deque([(first, "")])
    seen = {first}
    empty: str | None = None
    done = sum(machine.work for machine in machines) // STATES_PER_STEP
    while waiting:
        states, text = waiting.popleft()
        if all(machine.accepts(state) is want for (machine, want), state in zip(wanted, states, strict=True)):
            if text:
                return text
            empty = text
        if len(text) >= longest or any(_over(state) is want for (_, want), state in zip(wanted, states, strict=True)):
            continue
        budget.spend(len(alphabet) + sum(machine.work for machine in machines) // STATES_PER_STEP - done)
        done = sum(machine.work for machine in machines) // STATES_PER_STEP
        for char in alphabet:
            after = tuple(machine.step(state, char) for machine, state in zip(machines, states, strict=True))
            if after not in seen:
                seen.add(after)
                waiting.append((after, text + char))
    return empty


def _over(state: _State) -> bool | None:
    """Whether an automaton has failed for good, or found its pattern; None where the rest of the text decides."""
    if state is None:
        return False
    return None if state[0] else True


@lru_cache(maxsize=128)
def characters(trees: frozenset[Tree]) -> list[str]:
    """One character for each set of characters that the trees do not tell apart, the readable ones first."""
    sets = {chars for tree in trees for chars in _sets(tree)}
    bounds = {0, 128, 0xD800, 0xE000, LAST + 1}
    classes = [bound for chars in sets for name, _ in chars.categories for bound in class_ranges(name)]
    for low, high in (*SPACE, *WORD, (10, 10), *classes, *(bound for chars in sets for bound in chars.ranges)):
        bounds |= {low, high + 1}
    ordered = sorted(bounds)
    candidates = [*_NICE]
    for low, after in sorted(pairwise(ordered), key=lambda bounds: not 97 <= bounds[0] <= 122):
        if low != 0xD800:
            candidates.append(next((char for char in _NICE if low <= ord(char) < after), chr(low)))
    if any(chars.categories for chars in sets):
        candidates += "éÉ¹—"
    if any(chars.fold for chars in sets):
        candidates += [other for char in candidates for other in sorted(cases(char))]
    found: dict[tuple[bool, ...], str] = {}
    for char in candidates:
        kind = _kind(char)
        signature = (kind == "w", kind == "n", *(chars.holds(char) for chars in sets))
        found.setdefault(signature, char)
    if len(found) > MAX_CHARACTERS:
        raise Unreadable("the patterns tell too many characters apart")
    return list(found.values())


def _sets(tree: Tree) -> set[Chars]:
    found: set[Chars] = set()
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        match item:
            case Chars():
                found.add(item)
            case Assert():
                pass
            case Cat(items) | Alt(items):
                waiting.extend(items)
            case Repeat(inner):
                waiting.append(inner)
            case _:
                assert_never(item)
    return found


def _kind(char: str) -> str:
    """What assertions see of a character: `n` a line feed, `w` a letter, digit or `_`, `o` another, empty an edge."""
    if not char:
        return ""
    if char == "\n":
        return "n"
    return "w" if char == "_" or (char.isascii() and char.isalnum()) else "o"


def _holds(assertion: Assert, before: str, after: str) -> bool:
    match assertion.kind:
        case "text_start":
            return before == ""
        case "text_end":
            return after == ""
        case "line_start":
            return before in ("", "n")
        case "line_end":
            return after in ("", "\n")
        case "word":
            return (before == "w") is not (_kind(after) == "w")
        case "not_word":
            return (before == "w") is (_kind(after) == "w")
        case _:
            assert_never(assertion.kind)
