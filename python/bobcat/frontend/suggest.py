"""Suggestion of the closest known name for an unknown one. A suggestion is only displayed, never applied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

MAX_NAMES = 500
"""Maximum number of names compared with one unknown name."""
MAX_COMPARISONS = 20_000
"""Maximum number of comparisons for all unknown names of one source."""


def distance(left: str, right: str) -> int:
    """Return the edit distance of two strings: insertions, deletions, replacements, and swaps of neighbours."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before = before, row
        row = [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def closest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that `name` was probably meant to be; None if no name is close."""
    return Names(known).closest(name)


class Names:
    """Index of known names for suggestions, with a bound on the total work.

    `exhausted` is true once the budget is spent: later names are not compared.
    """

    def __init__(self, known: Collection[str], budget: int = MAX_COMPARISONS) -> None:
        self._left = budget
        self._few = len(known) <= MAX_NAMES
        # PERF: a lookup scans only the names with a similar length and the same first letter, not all of 100,000.
        self._filed: dict[tuple[int, str], list[str]] = defaultdict(list)
        for item in known:
            self._filed[len(item), self._letter(item)].append(item)

    @property
    def exhausted(self) -> bool:
        """Return true if the budget is spent."""
        return self._left <= 0

    def closest(self, name: str) -> str | None:
        """Return the known name that `name` was probably meant to be; None if no name is close."""
        if not name or len(name) > 100:
            return None
        wanted = name.casefold()
        reach = 1 if len(name) < 4 else 2 if len(name) < 9 else 3
        near: list[str] = []
        for off in sorted(range(-reach, reach + 1), key=abs):
            near += self._filed.get((len(name) + off, self._letter(name)), ())[: MAX_NAMES - len(near)]
        near = near[: max(0, self._left)]
        self._left -= len(near)
        ranked = sorted((distance(wanted, item.casefold()), index) for index, item in enumerate(near))
        if ranked and ranked[0][0] <= reach and ranked[0][0] < len(name):
            return near[ranked[0][1]]
        return None

    def _letter(self, name: str) -> str:
        return "" if self._few else name[:1].casefold()


def listed(names: Iterable[str]) -> str:
    """Format names for a help line, each between backticks."""
    return ", ".join(f"`{name}`" for name in names)


def synonyms(words: Mapping[str, str]) -> dict[str, str]:
    """Return the known name that each of some other words is meant for, from the words of each name."""
    return {word: name for name, group in words.items() for word in group.split()}
