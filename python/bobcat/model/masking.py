"""Masking: what the built-in obligations `redact` and `tag` do to events and records. Pure.

The run itself, its journal and the tool have the exact values: a masked value is only shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from bobcat.model.decision import Obligation

MASK = "<redacted>"
"""Text in place of a redacted value."""
ARGUMENTS = ("args", "judged_args", "proposed_args", "completed_args")
"""The keys of bodies that hold arguments of the call."""
RESULTS = ("value", "message", "whole", "error")
"""The keys of bodies that hold a result or its text."""

_HEADS = ("args", "result")
_PLAIN_PATH = re.compile(r"[A-Za-z_][\w-]*(\.(\*|[\w-]+))*")

Paths = tuple[tuple[str, ...], ...]
"""Paths from `args` or `result` to redacted values; `*` is every element."""


def redacted_paths(obligations: Iterable[Obligation]) -> Paths:
    """The paths of all `redact` obligations.

    Compiled policies have paths as steps. A callable may give them as texts; everything is redacted for a value that
    is no path.
    """
    return tuple(path for each in obligations if each.name == "redact" for path in _paths(each.value))


def _paths(value: Any) -> Paths:  # Any: whatever a callable gives
    items = value if isinstance(value, list | tuple) else (value,)
    return tuple(path for item in items for path in _path(item))


def _path(item: Any) -> Paths:  # Any: as above
    steps = tuple(item.split(".")) if isinstance(item, str) and _PLAIN_PATH.fullmatch(item) else item
    if (
        isinstance(steps, list | tuple)
        and steps
        and steps[0] in _HEADS
        and all(isinstance(each, str) for each in steps)
    ):
        return (tuple(steps),)
    return tuple((head,) for head in _HEADS)


def tags_of(obligations: Iterable[Obligation]) -> dict[str, Any]:  # Any: JSON
    """The tags of all `tag` obligations; of two with one name, the later rule's."""
    found = [each.value for each in obligations if each.name == "tag" and isinstance(each.value, Mapping)]
    return {str(name): value for tags in found for name, value in tags.items()}


def masked_body(body: Mapping[str, Any], paths: Paths) -> dict[str, Any]:  # Any: JSON
    """A copy of an event's or a record's body without the redacted values."""
    arguments = tuple(path[1:] for path in paths if path[0] == "args")
    results = tuple(path[1:] for path in paths if path[0] == "result")
    found = dict(body)
    for key in ARGUMENTS:
        if arguments and key in found:
            deeper = tuple(("*", "*", *path) for path in arguments) if key == "completed_args" else arguments
            found[key] = masked(found[key], deeper)
    for key in RESULTS:
        if results and found.get(key) is not None:
            # A text holds the whole result: no path leads to a part of it.
            found[key] = masked(found[key], results) if key == "value" and _has_parts(found[key]) else MASK
    return found


def masked(value: Any, paths: Paths) -> Any:  # Any: JSON
    """A copy of a value with `MASK` at each path that leads to something."""
    if not paths:
        return value
    if () in paths:
        return value if isinstance(value, str) and value.startswith("hmac-sha256:") else MASK
    if isinstance(value, Mapping):
        return {name: masked(item, _below(paths, str(name))) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked(item, _below(paths, str(index))) for index, item in enumerate(value)]
    return value


def _has_parts(value: object) -> bool:
    return isinstance(value, Mapping | list | tuple)


def _below(paths: Paths, step: str) -> Paths:
    return tuple(path[1:] for path in paths if path[0] in (step, "*"))
