"""Comments of a text, attached to the entries of its tree.

A comment on a line of its own belongs to the entry below, or to the end of a collection if it is indented like the
entries of that. Another one belongs to the entry whose line it ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bobcat.formatting.tree import Comment, Entry, Value


class _Place(NamedTuple):
    entry: Entry
    column: int
    above: tuple[tuple[Value, int], ...]
    """The collections around the entry, outermost first, each with the column of its entries."""
    path: tuple[Entry, ...]


def attach(text: str, root: Value, comments: Sequence[Comment]) -> None:
    """Attach every comment to an entry or to a collection, and mark the entries below an empty line."""
    places = list(_places(text, root, (), ()))
    starts = [place.entry.start for place in places]
    first: dict[int, int] = {}
    for comment in comments:
        at = bisect_left(starts, comment.start)
        before = places[at - 1] if at else None
        after = places[at] if at < len(places) else None
        if not comment.alone:
            _attach_behind(text, comment, before, root)
        elif _attach_alone(text, comment, before, after, root) and after is not None:
            first.setdefault(id(after.entry), comment.start)
    for place in places:
        if id(place.entry) in first and _blank_above(text, place.entry.start):
            place.entry.leading.append("")
        place.entry.blank = _blank_above(text, first.get(id(place.entry), place.entry.start))


def _places(text: str, value: Value, above: tuple[tuple[Value, int], ...], path: tuple[Entry, ...]) -> Iterator[_Place]:
    for entry in value.entries:
        column = entry.start - text.rfind("\n", 0, entry.start) - 1
        own = (*above, (value, column))
        yield _Place(entry, column, own, (*path, entry))
        yield from _places(text, entry.value, own, (*path, entry))


def _attach_alone(text: str, comment: Comment, before: _Place | None, after: _Place | None, root: Value) -> bool:
    """Attach a comment to the entry below it, and return true; or else to the end of a collection."""
    shown = ["", comment.text] if _blank_above(text, comment.start) else [comment.text]
    if before is not None and not (after is not None and any(entry is before.entry for entry in after.path[:-1])):
        below = None if after is None else after.above[-1][0]
        for value, column in reversed(before.above):
            if value is below:
                break
            inside = value.end > comment.start if value.flow else column <= comment.column
            if inside and (value.flow or after is None or comment.column > after.column):
                value.closing.extend(shown if value.closing else [comment.text])
                return False
    if after is None:
        root.closing.extend(shown)
        return False
    after.entry.leading.extend(shown if after.entry.leading else [comment.text])
    return True


def _attach_behind(text: str, comment: Comment, before: _Place | None, root: Value) -> None:
    if before is None:
        root.closing.insert(0, comment.text)
        return
    line = text.rfind("\n", 0, comment.start) + 1
    target = before.entry
    for entry in before.path:  # the outermost flow collection that ends on this line
        if entry.value.flow and entry.value.entries and line <= entry.value.end <= comment.start:
            target = entry
            break
    nested = bool(target.value.entries) and target.value.end > comment.start
    slot = "head" if nested else "trailing"
    if getattr(target, slot):
        target.leading.append(comment.text)
    else:
        setattr(target, slot, comment.text)


def _blank_above(text: str, index: int) -> bool:
    line = text.rfind("\n", 0, index)
    if line < 0 or text[line + 1 : index].strip(" -\t"):
        return False
    before = text.rfind("\n", 0, line)
    return before >= 0 and not text[before + 1 : line].strip() and line > 0
