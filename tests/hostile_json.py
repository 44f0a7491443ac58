"""JSON that differs a little from what was written, for hypothesis tests of readers of documents, records and files."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

HOSTILE: list[Any] = [
    None, True, False, -1, 0, 1, 2**53, -(2**63), 10**30, 1.5, 1e300, "", "x", "granted", "denied", "\ud800", "a\0b",
    "2026-01-31T12:00:00", "2026-01-31T12:00:00+00:00", "9999-12-31T23:59:59-12:00", "2026-13-45", [], {}, [None], [[]],
    {"a": 1}, {"step": "x"}, [{"granted": 1}],
]  # fmt: skip
DEEP = "[" * 3_000 + "]" * 3_000


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [place] if place else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inner:
        found += _places(item, (*place, name))
    return found


@st.composite
def hostile_json(draw: st.DrawFn, value: Any) -> Any:
    """`value` with one to three of its parts replaced, left out or put in."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        places = _places(value)
        if not places:
            break
        *above, last = draw(st.sampled_from(places))
        parent = value
        for name in above:
            parent = parent[name]
        odd = copy.deepcopy(draw(st.sampled_from(HOSTILE)))
        match draw(st.sampled_from(["replace", "replace", "leave out", "put in", "move"])):
            case "replace":
                parent[last] = odd
            case "move":
                parent[last] = copy.deepcopy(value)
            case "leave out":
                del parent[last]
            case "put in" if isinstance(parent, dict):
                parent[draw(st.sampled_from(["extra", "body", "step", ""]))] = odd
            case _:
                parent.insert(last, odd)
    return value


@st.composite
def hostile_text(draw: st.DrawFn, value: Any) -> bytes:
    """The text of a value that is nearly `value`, or such a text that is damaged itself."""
    text = json.dumps(draw(hostile_json(value))).encode()
    match draw(st.integers(0, 5)):
        case 0:
            start = draw(st.integers(0, len(text)))
            piece = draw(st.sampled_from([b"", b"\xff", b"\0", b"\n", b"{", b'"', b"1e999", b"NaN", b"\xed\xa0\x80"]))
            return text[:start] + piece + text[start + draw(st.integers(0, 5)) :]
        case 1:
            return text[: draw(st.integers(0, len(text)))]
        case 2 if draw(st.booleans()):
            return text.replace(b'"x"', DEEP.encode()) if b'"x"' in text else DEEP.encode()
    return text
