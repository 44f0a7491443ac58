"""Arguments and results as rules remember them: plain JSON data, the same live and read back from a journal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from bobcat.text.json_text import is_exact, json_text

MAX_RESULT_CHARS = 1_048_576
"""Length of the JSON of a result that rules can read. A longer one cannot be judged: what reads it is in error."""

_UNREADABLE = "the result is not remembered"

Json = Any  # Any: JSON


class NotRemembered(Mapping[str, Any]):
    """Stands for a result that rules cannot read. What reads it is in error."""

    def __getitem__(self, name: str) -> Any:
        raise ValueError(_UNREADABLE)

    def __iter__(self) -> Iterator[str]:
        raise ValueError(_UNREADABLE)

    def __len__(self) -> int:
        raise ValueError(_UNREADABLE)


class RememberedResult(NamedTuple):
    """A result in the form that rules read, and its fields in the journal."""

    value: Json
    fields: Mapping[str, Json]


def remembered(value: object) -> RememberedResult:
    """A result as JSON data: what it is after a resume, too. Text that is a JSON object or list is read as such."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        value = dump(mode="json")
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    text = json_text(value)
    if len(text) > MAX_RESULT_CHARS:
        return RememberedResult(NotRemembered(), {"value_chars": len(text)})
    plain = json.loads(text)
    return RememberedResult(plain, {"value": plain})


def exact(args: Mapping[str, Json]) -> Mapping[str, Json]:
    """The arguments as a journal gives them back."""
    if is_exact(args):
        return args
    data: dict[str, Json] = json.loads(json_text(args))
    return data
