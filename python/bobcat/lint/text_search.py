r"""Search for the shortest text that matches some patterns and not others, over the product of their automata.

    find_text([("^git .*$", True), ("--force", False), ("[;|]", True)])    "git ;"

Each pattern is a non-deterministic automaton; a search state holds, for each pattern, the set of its states. The
search is breadth-first over one character for each class of characters that no pattern distinguishes, so the result is
exact as long as the budget lasts. `\b`, `(?m)^` and `$` test the characters on both sides.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias, assert_never

from bobcat.lint.pattern_syntax import (
    LAST,
    SPACE,
    WORD,
    Alt,
    Assert,
    Cat,
    Chars,
    PatternSyntaxError,
    Repeat,
    Tree,
    cases,
    class_ranges,
    is_fixed,
    walk,
)

MAX_STATES = 4_000
"""States of the automaton of one pattern."""
MAX_CHARACTERS = 80
"""Character classes distinguished in one search."""
STATES_PER_STEP = 8
"""States of automata that count as one step of the search."""
LONGEST = 400
"""Characters of a text that is found."""

_Set: TypeAlias = frozenset[int]
_State: TypeAlias = "tuple[_Set, str] | None"
_FOUND: _State = None
_PREFERRED = "x/a1. -_0A;|&$\n@:~e"
_PREFERRED_CODES = sorted(map(ord, _PREFERRED))


class OutOfBudget(Exception):
    """The search ended without a result because its budget is spent."""


@dataclass(slots=True)
class SearchBudget:
    """Remaining steps of searches."""

    steps: int

    def spend(self, steps: int = 1) -> None:
        """Spend steps. Raises `OutOfBudget`."""
        self.steps -= steps
        if self.steps < 0:
            raise OutOfBudget


@dataclass(slots=True)
class Automaton:
    """The automaton of a pattern that is searched anywhere in a text. `lower` searches the lower-case text."""

    tree: Tree
    lower: bool = False
    _edges: list[list[tuple[Chars, int]]] = field(default_factory=list)
    _free: list[list[tuple[Assert | None, int]]] = field(default_factory=list)
    _known: dict[tuple[_Set, str, str], _State] = field(default_factory=dict)
    _closures: dict[tuple[_Set, str, str], frozenset[int]] = field(default_factory=dict)
    _moves: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    work: int = 0
    """States visited, except cached ones."""
    _end: int = 0
    _again: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        # PERF: a pattern anchored at the start cannot match after a failure, so the search stops.
        self._again = () if is_fixed(self.tree, "text_start") else (0,)
        start = self._state()
        self._end = self._build(self.tree, start)

    @property
    def start(self) -> _State:
        """Return the state before the first character."""
        return frozenset((0,)), ""

    def step(self, state: _State, char: str) -> _State:
        """Return the state after one more character."""
        if state is None:
            return _FOUND
        char = char.lower()[:1] if self.lower else char
        key = (*state, char)
        if key not in self._known:
            kind = _kind(char)
            here = self._closure(*state, kind)
            self.work += len(here)
            self._known[key] = _FOUND if self._end in here else (self._moved(here, char), kind)
        return self._known[key]

    def accepts(self, state: _State) -> bool:
        """Return true if the pattern is found in the text that led to a state."""
        return state is None or self._end in self._closure(*state, "")

    def _moved(self, states: frozenset[int], char: str) -> _Set:
        moves = self._moves
        found = set(self._again)
        for item in states:
            if (item, char) not in moves:
                moves[item, char] = [target for chars, target in self._edges[item] if chars.holds(char)]
            found.update(moves[item, char])
        return frozenset(found)

    def _closure(self, states: _Set, before: str, after: str) -> frozenset[int]:
        """Return the states reached without a character, between two kinds of characters."""
        key = states, before, after
        known = self._closures.get(key)
        if known is not None:
            return known
        found = set(states)
        waiting = list(states)
        while waiting:
            for assertion, target in self._free[waiting.pop()]:
                if target not in found and (assertion is None or _holds(assertion, before, after)):
                    found.add(target)
                    waiting.append(target)
        self._closures[key] = closed = frozenset(found)
        return closed

    def _state(self) -> int:
        if len(self._edges) >= MAX_STATES:
            raise PatternSyntaxError("the pattern has too many states")
        self._edges.append([])
        self._free.append([])
        return len(self._edges) - 1

    def _build(self, tree: Tree, start: int) -> int:
        """Add a tree after a state; return the state at its end."""
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
    """Return the automaton of a tree. PERF: goal automata are reused and cache their steps."""
    return Automaton(tree, lower)


def find_text(wanted: Sequence[tuple[Automaton, bool]], budget: SearchBudget, longest: int = LONGEST) -> str | None:
    """Return the shortest text with the wanted result of every automaton, the empty text last; None if no text has it.

    Raises `OutOfBudget` when the steps do not suffice, `PatternSyntaxError` for too many character classes.
    """
    machines = [machine for machine, _ in wanted]
    alphabet = characters(frozenset(machine.tree for machine in machines))
    first = tuple(machine.start for machine in machines)
    waiting: deque[tuple[tuple[_State, ...], str]] = deque([(first, "")])
    seen = {first}
    empty: str | None = None
    work = sum(machine.work for machine in machines)
    goals = [want for _, want in wanted]
    while waiting:
        states, text = waiting.popleft()
        if all(machine.accepts(state) is want for (machine, want), state in zip(wanted, states, strict=True)):
            if text:
                return text
            empty = text
        if len(text) >= longest or any(_over(state) is want for want, state in zip(goals, states, strict=True)):
            continue
        done, work = work, sum(machine.work for machine in machines)
        budget.spend(len(alphabet) + work // STATES_PER_STEP - done // STATES_PER_STEP)
        for char in alphabet:
            after = tuple([machine.step(state, char) for machine, state in zip(machines, states, strict=True)])
            if after not in seen:
                seen.add(after)
                waiting.append((after, text + char))
    return empty


def _over(state: _State) -> bool | None:
    """Return the final result of an automaton if further text cannot change it; otherwise None."""
    if state is None:
        return False
    return None if state[0] else True


@lru_cache(maxsize=128)
def characters(trees: frozenset[Tree]) -> list[str]:
    """Return one character for each class that the trees do not distinguish, readable ones first."""
    sets = {chars for tree in trees for chars in walk(tree) if isinstance(chars, Chars)}
    bounds = {0, 128, 0xD800, 0xE000, LAST + 1}
    classes = [bound for chars in sets for name, _ in chars.categories for bound in class_ranges(name)]
    for low, high in (*SPACE, *WORD, (10, 10), *classes, *(bound for chars in sets for bound in chars.ranges)):
        bounds |= {low, high + 1}
    ordered = sorted(bounds)
    candidates = [*_PREFERRED]
    for low, after in sorted(pairwise(ordered), key=lambda bounds: not 97 <= bounds[0] <= 122):
        preferred = bisect_left(_PREFERRED_CODES, low)
        if low != 0xD800 and not (preferred < len(_PREFERRED_CODES) and _PREFERRED_CODES[preferred] < after):
            candidates.append(chr(low))
    if any(chars.categories for chars in sets):
        candidates += "éÉ¹—"
    if any(chars.fold for chars in sets):
        candidates += [other for char in candidates for other in sorted(cases(char))]
    found: dict[int, str] = {}
    for char, signature in zip(candidates, _signatures(candidates, sets), strict=True):
        found.setdefault(signature, char)
    if len(found) > MAX_CHARACTERS:
        raise PatternSyntaxError("the patterns distinguish too many characters")
    return list(found.values())


def _signatures(candidates: Sequence[str], sets: Iterable[Chars]) -> list[int]:
    """Return a number for each character, equal for two that no set and no assertion distinguishes."""
    signatures = [{"n": 1, "w": 2}.get(_kind(char), 0) for char in candidates]
    order = sorted(range(len(candidates)), key=candidates.__getitem__)
    codes = [ord(candidates[index]) for index in order]
    for number, chars in enumerate({replace(chars, negated=False) for chars in sets}, 2):
        if chars.categories or chars.fold:
            held = [index for index in order if chars.holds(candidates[index])]
        else:  # PERF: most sets are one character, and contain one candidate
            held = [i for low, high in chars.ranges for i in order[bisect_left(codes, low) : bisect_right(codes, high)]]
        for index in held:
            signatures[index] |= 1 << number
    return signatures


def _kind(char: str) -> str:
    """Return the kind of a character for assertions: `n` a line feed, `w` a letter, digit or `_`, `o` another, empty an
    edge.
    """
    if not char:
        return ""
    if char == "\n":
        return "n"
    return "w" if char == "_" or (char.isascii() and char.isalnum()) else "o"


def _holds(assertion: Assert, before: str, after: str) -> bool:
    """Return true if an assertion holds between two kinds of characters."""
    match assertion.kind:
        case "text_start":
            return before == ""
        case "text_end":
            return after == ""
        case "line_start":
            return before in ("", "n")
        case "line_end":
            return after in ("", "n")
        case "word":
            return (before == "w") is not (after == "w")
        case "not_word":
            return (before == "w") is (after == "w")
        case _:
            assert_never(assertion.kind)
