"""The closest known name to one that is not known. A suggestion is only ever shown, never acted on."""

from __future__ import annotations

from collections.abc import Iterable

_MANY = 2_000


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


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be; None when nothing is near."""
    if not name or len(name) > 100:
        return None
    wanted = name.casefold()
    reach = 1 if len(name) < 4 else 2 if len(name) < 9 else 3
    near = [item for item in known if abs(len(item) - len(name)) <= reach]
    if len(near) > _MANY:
        near = [item for item in near if item[:1].casefold() == wanted[:1]][:_MANY]
    ranked = sorted((distance(wanted, item.casefold()), index) for index, item in enumerate(near))
    if ranked and ranked[0][0] <= reach and ranked[0][0] < len(name):
        return near[ranked[0][1]]
    return None


def listed(names: Iterable[str]) -> str:
    """Names for a help line: each between backticks."""
    return ", ".join(f"`{name}`" for name in names)
