"""Decision logs like those of OPA: JSON lines with `input` and `result`, read by a map of fields to paths."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from bobcat.decision_log.redaction import parse_path
from bobcat.traffic.formats import Parsed
from bobcat.traffic.recorded import VERDICTS, Path, Recorded, Undecided, may_be_redacted

Json = Any  # Any: JSON

DEFAULT_MAP = {
    "tool": "input.tool", "args": "input.args", "declared": "input.declared", "principal": "input.principal",
    "environment": "input.environment", "workspace": "input.workspace", "extra": "input.extra", "verdict": "result",
    "time": "timestamp", "id": "decision_id",
}  # fmt: skip
"""The fields of a record, and the paths that they are read from without `--map`."""

_ERASED = ("erased", "masked")
"""Keys of OPA: JSON pointers of what was removed from an entry, or replaced in it."""
_FRACTION = re.compile(r"(\.\d{6})\d+")
_MISSING = object()
_CONTEXT = ("principal", "environment", "workspace", "extra")
_NEVER: tuple[Path, ...] = (("context", "correlation_id"), ("context", "step_seq"), ("context", "task"))


def opa_parser(given: Mapping[str, str]) -> Callable[[bytes, int], Parsed]:
    """The parser of lines with these paths beside the default ones. Raises `ValueError` for a malformed path."""
    paths = {name: parse_path(text) for name, text in {**DEFAULT_MAP, **given}.items()}

    def parse(line: bytes, number: int) -> Parsed:
        data: Json = json.loads(line)
        if not isinstance(data, dict):
            raise ValueError("not an object")
        return _record(data, paths, number)

    return parse


def _record(data: Mapping[str, Json], paths: Mapping[str, Path], number: int) -> Parsed:
    values = {name: _at(data, path) for name, path in paths.items()}
    tool, args, verdict = values["tool"], values["args"], _verdict(values["verdict"])
    at = _time(values["time"])
    if not isinstance(tool, str):
        return Undecided("not_mapped", at)
    if args is _MISSING:
        return Undecided("no_args", at)
    if verdict is not None and verdict not in VERDICTS:
        return Undecided("unknown_verdict", at)
    erased = [path for name in ("args", *_CONTEXT, "declared") for path in _erased(data, name, paths[name])]
    if ("args",) in erased:
        return Undecided("no_args", at)
    principal = values["principal"]
    if isinstance(principal, str):
        values["principal"] = {"kind": "user", "id": principal}
    missing = [*_NEVER, *erased]
    context: dict[str, Json] = {}
    for name in _CONTEXT:
        if values[name] is _MISSING:
            missing.append(("context", name))
        else:
            context[name] = values[name]
    fields: dict[str, Json] = {"context": context}
    if at:
        context["timestamp"] = at
    else:
        missing.append(("context", "timestamp"))
    if values["declared"] is _MISSING:
        missing.append(("declared",))
    else:
        fields["declared"] = values["declared"]
    text = _text(args)
    id = values["id"]
    return Recorded(
        number, id if isinstance(id, str) else "", at, _text(tool), text, b"," + _text(fields)[1:-1], verdict or "", (),
        tuple(missing), may_be_redacted(text),
    )  # fmt: skip


def _at(data: Json, path: Path) -> Json:
    """The value at a path; `_MISSING` where it leads nowhere."""
    for step in path:
        if isinstance(data, dict) and step in data:
            data = data[step]
        elif isinstance(data, list) and step.isdecimal() and int(step) < len(data):
            data = data[int(step)]
        else:
            return _MISSING
    return data


def _verdict(result: Json) -> str | None:
    """The verdict of a result: a bool, a verdict, or an object with `verdict`, `decision` or `allow`."""
    if isinstance(result, dict):
        result = next((result[name] for name in ("verdict", "decision", "allow") if name in result), None)
    if isinstance(result, bool):
        return "allow" if result else "deny"
    return result if isinstance(result, str) else None


def _erased(data: Mapping[str, Json], name: str, path: Path) -> list[Path]:
    """The paths in a request that OPA removed or replaced; an ancestor of the mapped value removes all of it."""
    head: Path = (name,) if name in ("args", "declared") else ("context", name)
    found: list[Path] = []
    for key in _ERASED:
        pointers = data.get(key)
        for pointer in pointers if isinstance(pointers, list) else ():
            steps = tuple(part.replace("~1", "/").replace("~0", "~") for part in str(pointer).split("/")[1:])
            if steps[: len(path)] == path:
                found.append((*head, *steps[len(path) :]))
            elif path[: len(steps)] == steps:
                found.append(head)
    return found


def _time(value: Json) -> str:
    """A time of OPA, which has nanoseconds, as a request takes it; empty without one."""
    return _FRACTION.sub(r"\1", value) if isinstance(value, str) else ""


def _text(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
