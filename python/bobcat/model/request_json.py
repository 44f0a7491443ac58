"""Requests as JSON: a tool call from a file, a pipe or a test corpus to an `ActionRequest`, and back.

The CLI, the proxy and the tests call this. It accepts what `evaluate_json` in the core accepts, no more and no less;
`docs/reference/requests.md` is the contract. Any other input is a `RequestError` that names the location.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NoReturn, TypeVar

from bobcat import _core
from bobcat.errors import RequestError
from bobcat.model.decision import ActionRequest, ExecutionContext, Obligation, Principal, ToolMetadata
from bobcat.model.defaults import CONTEXT, DECLARED
from bobcat.model.frozen import MAX_DEPTH, deep_freeze

MAX_REQUEST_BYTES = 64 * 1024 * 1024
MAX_JSON_DEPTH = MAX_DEPTH
MAX_REQUEST_VALUES = 1_000_000
MAX_INT_DIGITS = 10_000

JsonObject = Mapping[str, Any]  # Any: JSON

Default = TypeVar("Default", ExecutionContext, ToolMetadata)
Reader = Callable[[object, str], Any]  # Any: the value of a field, checked
_INT_DIGITS = 4000  # below the interpreter's own limit on the digits of an integer
_RFC3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,6}0*)?(?:[Zz]|[+-](\d{2}):(\d{2}))", re.ASCII)
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def request_from_json(source: str | bytes | JsonObject) -> ActionRequest:
    """The request in JSON text (UTF-8 when given as bytes) or in parsed JSON. Raises `RequestError`."""
    return request_from_data(parse_request(source) if isinstance(source, str | bytes | bytearray) else source)


def request_from_data(data: object) -> ActionRequest:
    """The request in parsed JSON. Raises `RequestError`."""
    fields = _fields(data, "the request", ("tool", "args", "declared", "context"))
    if "tool" not in fields:
        _refuse("the request has no `tool`")
    return ActionRequest(
        tool=_text(fields["tool"], "tool"),
        args=_object(fields.get("args", {}), "args"),
        declared=declared_from_json(fields.get("declared", {})),
        context=_replaced(CONTEXT, _read(fields.get("context", {}), "context", _CONTEXT)),
    )


def request_to_json(request: ActionRequest) -> str:
    """Write a request as one line of JSON that `request_from_json` parses to an equal request.

    Raises `RequestError` for a request without such a line.
    """
    if request.context.timestamp.tzinfo is None:
        _refuse("`context.timestamp` has no offset")
    data = {
        "tool": request.tool,
        "args": request.args,
        "declared": declared_data(request.declared),
        "context": context_data(request.context),
    }
    try:
        text = json.dumps(_plain(data, "the request", 0), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise RequestError("bad_request", f"the request has no JSON form: {error}") from error
    if _HALVES.search(text) is not None:
        _refuse("the request has no JSON form: two halves of a surrogate pair would be read as one character")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # of lone surrogates, UTF-8 carries the escape only


def declared_data(declared: ToolMetadata) -> dict[str, Any]:
    """The key `declared` of a request."""
    return {name: getattr(declared, name) for name in _DECLARED}


def context_data(context: ExecutionContext) -> dict[str, Any]:
    """The key `context` of a request. `extra` is not copied; a context without a task has no key for it."""
    data = {name: getattr(context, name) for name in _CONTEXT if name != "task"}
    if (task := getattr(context, "task", None)) is not None:
        data["task"] = task
    return {**data, "principal": principal_data(context.principal), "timestamp": context.timestamp.isoformat()}


def obligation_json(obligation: Obligation) -> dict[str, Any]:
    """An obligation as plain JSON data."""
    return {"name": obligation.name, "phase": obligation.phase, "value": obligation.value}


def obligation_of(data: Mapping[str, Any]) -> Obligation:
    """The obligation of such data. Raises `ValueError` for anything else."""
    name, phase = data["name"], data["phase"]
    if not isinstance(name, str) or phase not in ("before", "after"):
        raise ValueError("an obligation has a name and a phase")
    return Obligation(name, deep_freeze(data["value"]), phase)


def principal_data(principal: Principal) -> dict[str, Any]:
    """The key `context.principal` of a request."""
    return {"kind": principal.kind, "id": principal.id, "name": getattr(principal, "name", None)}


def declared_from_json(value: object) -> ToolMetadata:
    """Read the key `declared` of a request. Raises `RequestError`."""
    return _replaced(DECLARED, _read(value, "declared", _DECLARED))


def principal_from_json(value: object, where: str = "context.principal") -> Principal:
    """Read the key `context.principal` of a request. Raises `RequestError`."""
    fields = _fields(value, where, tuple(_PRINCIPAL))
    return Principal(**_read({"kind": None, "id": None, **fields}, where, _PRINCIPAL))


def _replaced(default: Default, fields: dict[str, Any]) -> Default:
    """Return the default with these fields. PERF: `dataclasses.replace` takes 3 ms of modules on its first use."""
    names = type(default).__match_args__
    return type(default)(**{name: getattr(default, name) for name in names} | fields)


def _read(value: object, where: str, readers: Mapping[str, Reader]) -> dict[str, Any]:
    """The given fields of an object, each read by its reader."""
    fields = _fields(value, where, tuple(readers))
    return {name: read(fields[name], f"{where}.{name}") for name, read in readers.items() if name in fields}


def _fields(value: object, where: str, names: tuple[str, ...]) -> JsonObject:
    fields: JsonObject = _object(value, where)
    for name in fields:
        if name not in names:
            _refuse(f"{_quoted(where)} has no key `{name}`; its keys are {', '.join(names)}")
    return fields


def _typed(kind: Any, words: str) -> Reader:  # Any: a type, also an abstract one
    """Return the reader of values of a type; a bool is not an integer."""

    def read(value: object, where: str) -> Any:  # Any: an instance of the type
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            _refuse(f"{_quoted(where)} must be {words}, not {_kind(value)}")
        return value

    return read


_object = _typed(Mapping, "an object")
_text = _typed(str, "a string")
_bool = _typed(bool, "true or false")
_int = _typed(int, "an integer")


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        _refuse(f"`{where}` must be a list of strings, not {_kind(value)}")
    return tuple(_text(item, where) for item in value)


def _or_null(read: Reader) -> Reader:
    return lambda value, where: None if value is None else read(value, where)


def _timestamp(value: object, where: str) -> datetime:
    found = _RFC3339.fullmatch(_text(value, where))
    if found is None:
        _refuse(f"`{where}` must be RFC 3339 with an offset, such as `2026-01-31T12:00:00Z`")
    if found[1] is not None and (int(found[1]) > 23 or int(found[2]) > 59):
        _refuse(f"`{where}` has an offset that does not exist")
    try:
        if found[0][11:13] == "24":  # midnight, since Python 3.14
            raise ValueError("hour must be in 0..23")
        return datetime.fromisoformat(found[0].upper())
    except ValueError as error:
        raise RequestError("bad_request", f"`{where}` is not a point in time: {error}") from error


_DECLARED: Mapping[str, Reader] = {
    "cost": _text, "reversible": _bool, "scope": _texts, "blast_radius_hint": _or_null(_int), "has_shadow": _bool,
    "isolation": _or_null(_text), "effect": _text,
}  # fmt: skip
_PRINCIPAL: Mapping[str, Reader] = {"kind": _text, "id": _text, "name": _or_null(_text)}
_CONTEXT: Mapping[str, Reader] = {
    "principal": principal_from_json, "environment": _text, "workspace": _text, "correlation_id": _text,
    "step_seq": _int, "timestamp": _timestamp, "extra": _object, "task": _or_null(_text),
}  # fmt: skip

DECLARED_KEYS, PRINCIPAL_KEYS, CONTEXT_KEYS = tuple(_DECLARED), tuple(_PRINCIPAL), tuple(_CONTEXT)
"""Keys of `declared`, of `context.principal` and of `context`."""


def parse_request(source: str | bytes | bytearray) -> object:
    """The JSON of a request, within the limits of one. Raises `RequestError`."""
    if len(source) > MAX_REQUEST_BYTES:
        raise RequestError("too_large", f"the request is longer than {MAX_REQUEST_BYTES} bytes")
    try:
        text = source if isinstance(source, str) else bytes(source).decode("utf-8")
        if len(text) > MAX_REQUEST_VALUES:
            # Python would build gigabytes of objects from a text with so many values. The core counts them.
            _core.check_request(text.encode("utf-8", "backslashreplace"))
        data = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_int=_integer,
        )
    except UnicodeDecodeError as error:
        raise RequestError("bad_request", f"the request is not UTF-8: byte {error.start}") from error
    except RecursionError as error:
        raise RequestError("bad_request", "the request is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise RequestError("bad_request", f"the request is not JSON: {error}") from error
    except _core.CoreError as error:
        raise RequestError("bad_request", str(error)) from error
    _check_depth(data)
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # Any: JSON
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            _refuse(f"the key `{name}` is written twice")
        found[name] = value
    return found


def _integer(text: str) -> int:
    """Parse an integer of up to `MAX_INT_DIGITS` digits, also above the interpreter's own limit on digits."""
    if len(text) <= _INT_DIGITS:
        return int(text)
    if len(text.removeprefix("-")) > MAX_INT_DIGITS:
        _refuse(f"an integer has more than {MAX_INT_DIGITS:,} digits")
    from decimal import Decimal  # PERF: few requests have such integers

    return int(Decimal(text))


def _no_constant(text: str) -> NoReturn:
    _refuse(f"`{text}` is not JSON")


def _check_depth(value: Any) -> None:  # Any: JSON
    level, depth = [value], 0
    while level:
        if depth > MAX_JSON_DEPTH:
            _refuse(f"the request is nested more than {MAX_JSON_DEPTH} levels deep")
        below: list[Any] = []
        for item in level:
            if isinstance(item, list):
                below.extend(item)
            elif isinstance(item, dict):
                below.extend(item.values())
        level, depth = below, depth + 1


def _plain(value: Any, where: str, depth: int) -> Any:  # Any: values of a request, converted to JSON
    if depth > MAX_JSON_DEPTH:
        _refuse(f"the request is nested more than {MAX_JSON_DEPTH} levels deep")
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            _refuse(f"{_quoted(where)} has a key that is not a string")
        return {str(key): _plain(item, str(key), depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, where, depth + 1) for item in value]
    if value is not None and not isinstance(value, bool | int | float | str):
        _refuse(f"{_quoted(where)} holds a value of type `{type(value).__name__}`, which JSON has no form for")
    return value


def _quoted(where: str) -> str:
    return where if " " in where else f"`{where}`"


_KINDS: dict[type, str] = {
    type(None): "null", bool: "a bool", int: "an integer", float: "a float", str: "a string", list: "a list",
}  # fmt: skip


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    return _KINDS.get(type(value), f"a value of type `{type(value).__name__}`")


def _refuse(message: str) -> NoReturn:
    raise RequestError("bad_request", message)
