"""The closest known name to one that is not known. A suggestion is only ever shown, never acted on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

MAX_NAMES = 500
"""Names that one unknown name is compared with."""
MAX_COMPARISONS = 20_000
"""Names compared for all unknown names of one source."""


def distance(left: str, right: str) -> int:
    """Edits between two strings: insert, delete, replace, or swap two neighbours."""
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
    """The known name that `name` was probably meant to be; None when nothing is near."""
    return Names(known).closest(name)


class Names:
    """Known names, for looking up what unknown ones were meant to be: the work for all of them is bounded.

    `exhausted` is true once the budget is spent: the names looked up from then on are not compared.
    """

    def __init__(self, known: Collection[str], budget: int = MAX_COMPARISONS) -> None:
        self._left = budget
        self._few = len(known) <= MAX_NAMES
        # PERF: a lookup scans the names of its length and first letter only, not all of 100,000.
        self._filed: dict[tuple[int, str], list[str]] = defaultdict(list)
        for item in known:
            self._filed[len(item), self._letter(item)].append(item)

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent."""
        return self._left <= 0

    def closest(self, name: str) -> str | None:
        """The known name that `name` was probably meant to be; None when nothing is near."""
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
    """Names for a help line: each between backticks."""
    return ", ".join(f"`{name}`" for name in names)
