"""Layout of a tree: lines with two spaces a level, keys of rules in one order, and flow collections that fit a line."""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.formatting.orders import KeyOrders
from bobcat.formatting.scalars import STEP, block_lines, inline, is_block, keeps_lines
from bobcat.formatting.tree import Entry, Value

WIDTH = 120
"""Columns of a line; a longer flow collection is written with an entry on each line."""

Path = tuple[str, ...]


class Layout:
    """The lines of a tree. `orders` has the orders of keys."""

    def __init__(self, orders: KeyOrders) -> None:
        self._orders = orders

    def text(self, root: Value, *, marked: bool) -> str:
        """Return the text of a document; `marked`: it begins with `---`."""
        whole = Entry(0, None, root)
        lines = ["---"] * marked
        if root.entries and self._is_nested(whole, -STEP, ()):
            lines.extend(self._lines(root, 0, ()))
        else:
            lines.extend([self._flow(root, ()), *root.closing])
        return "\n".join(lines) + "\n"

    def _lines(self, value: Value, indent: int, path: Path, *, hoisted: bool = False) -> Iterator[str]:
        """Yield the lines of a block collection; `hoisted`: without the comments above its first entry."""
        pad = " " * indent
        before: Entry | None = None
        for entry in self._ordered(value, path):
            if before is not None and entry.blank and not keeps_lines(_last(before.value)):
                yield ""
            if before is not None or not hoisted:
                yield from (f"{pad}{comment}".rstrip() for comment in self._above(entry, indent, path))
            yield from self._entry(entry, indent, path)
            before = entry
        yield from (f"{pad}{comment}".rstrip() for comment in value.closing)

    def _above(self, entry: Entry, indent: int, path: Path) -> list[str]:
        """Return the comments above an entry; those of the first key of an item stand above the item."""
        found = list(entry.leading)
        while entry.key is None and self._is_nested(entry, indent, path):
            found += [comment for comment in (entry.head, entry.trailing) if comment]
            if entry.value.anchor:
                break
            path, indent = (*path, "*"), indent + STEP
            entry = self._ordered(entry.value, path)[0]
            found += entry.leading
        else:
            found += [entry.head] if entry.head and entry.trailing else []
        return found

    def _entry(self, entry: Entry, indent: int, path: Path) -> Iterator[str]:
        pad, value, below = " " * indent, entry.value, (*path, _step(entry))
        name = "-" if entry.key is None else _key(entry.key)
        behind = _behind(entry.trailing or entry.head)
        if is_block(value):
            header, comment, lines = block_lines(value, indent)
            yield f"{pad}{name} {header}{_behind(comment)}"
            yield from lines
        elif not self._is_nested(entry, indent, path):
            yield f"{pad}{name} {self._flow(value, below)}".rstrip() + behind
        elif entry.key is not None or value.anchor:
            anchor = f" &{value.anchor}" if value.anchor else ""
            yield f"{pad}{name}{anchor}{behind if entry.key is not None else ''}"
            yield from self._lines(value, indent + STEP, below)
        else:
            first, *others = self._lines(value, indent + STEP, below, hoisted=True)
            yield f"{pad}- {first[indent + STEP :]}"
            yield from others

    def _is_nested(self, entry: Entry, indent: int, path: Path) -> bool:
        """Return true if a value is written in lines of its own."""
        value = entry.value
        if not value.entries:
            return False
        if not value.flow or _has_comments(value):
            return True
        key = 1 if entry.key is None else len(_key(entry.key))
        return indent + key + 1 + len(self._flow(value, (*path, _step(entry)))) > WIDTH

    def _flow(self, value: Value, path: Path) -> str:
        """Return a value in one line."""
        anchor = f"&{value.anchor} " if value.anchor else ""
        if value.kind == "sequence":
            items = (self._flow(entry.value, (*path, "*")) or "null" for entry in value.entries)
            return f"{anchor}[{', '.join(items)}]"
        if value.kind == "mapping":
            return f"{anchor}{{{', '.join(self._pair(entry, path) for entry in self._ordered(value, path))}}}"
        return inline(value)

    def _pair(self, entry: Entry, path: Path) -> str:
        key = "" if entry.key is None else _key(entry.key)
        return f"{key} {self._flow(entry.value, (*path, _step(entry))) or 'null'}"

    def _ordered(self, value: Value, path: Path) -> list[Entry]:
        order = self._orders.get(path)
        if order is None or value.kind != "mapping" or _has_anchors(value):
            return value.entries
        rank = {name: number for number, name in enumerate(order)}
        return sorted(value.entries, key=lambda entry: rank.get(_step(entry), len(rank)))


def _has_anchors(value: Value) -> bool:
    """Return true if an anchor or an alias stands in a value: its order matters then."""
    return (
        bool(value.anchor)
        or value.kind == "alias"
        or any(
            _has_anchors(entry.value) or (entry.key is not None and _has_anchors(entry.key)) for entry in value.entries
        )
    )


def _has_comments(value: Value) -> bool:
    return bool(value.closing) or any(
        entry.leading or entry.trailing or entry.head or _has_comments(entry.value) for entry in value.entries
    )


def _last(value: Value) -> Value:
    return _last(value.entries[-1].value) if value.entries and not value.flow else value


def _key(key: Value) -> str:
    return f"{inline(key)}{' ' * (key.kind == 'alias')}:"


def _step(entry: Entry) -> str:
    return "*" if entry.key is None else entry.key.text


def _behind(comment: str) -> str:
    return f"  {comment}" if comment else ""
