"""Messages of JSON-RPC: the members that are read as values, all others as the bytes that came.

INVARIANT: a message is encoded again from its members, each name once. No receiver can read another method, tool or
argument than the proxy has read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

import msgspec

from bobcat.text.unique_keys import unique_keys

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_ENDED = -32000

MAX_BYTES = 64 * 1024 * 1024
"""Maximum size of a message."""

Id = int | str
Members = dict[str, msgspec.Raw]
_DECODER = msgspec.json.Decoder(Members)
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_encode = msgspec.json.Encoder().encode


class MessageError(ValueError):
    """Text that is not a message, or has members that cannot be read in one way only."""


class Message:
    """One request, notification or response. `id` is None in notifications, and in errors about an unreadable message.

    `method` is None in responses.
    """

    __slots__ = ("_members", "id", "method")

    def __init__(self, members: Members) -> None:
        self._members = members
        method = None if "method" not in members else strict(members["method"])
        if method is not None and not isinstance(method, str):
            raise MessageError("`method` must be a string")
        self.method: str | None = method
        found = None if "id" not in members else strict(members["id"])
        if found is not None and type(found) not in (int, str):
            raise MessageError("`id` must be a string or an integer")
        self.id: Id | None = found
        if method is None and not ("result" in members) ^ ("error" in members):
            raise MessageError("a message has one of `method`, `result` and `error`")

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read a message. Raises `MessageError`."""
        return cls(members(data))

    @classmethod
    def of(cls, **values: Any) -> Self:  # Any: JSON
        """Build a message from JSON values."""
        return cls({"jsonrpc": raw("2.0"), **{name: raw(value) for name, value in values.items()}})

    @property
    def is_request(self) -> bool:
        """True for a message that wants an answer."""
        return self.method is not None and self.id is not None

    def has(self, name: str) -> bool:
        """Return true if the message has a member."""
        return name in self._members

    def value(self, name: str) -> Any:  # Any: JSON
        """One member as a value, None without it. Raises `MessageError` for a name that is written twice."""
        found = self._members.get(name)
        return None if found is None else strict(found)

    def mapping(self, name: str) -> dict[str, Any]:
        """One member as an object, empty without it. Raises `MessageError` for another value."""
        found = self.value(name)
        if found is not None and not isinstance(found, dict):
            raise MessageError(f"`{name}` must be an object")
        return found or {}

    def is_unambiguous(self, name: str) -> bool:
        """Return true if no name is written twice in a member."""
        try:
            self.value(name)
        except MessageError:
            return False
        return True

    def parts(self, name: str) -> Members:
        """The members of an object in a member, as bytes."""
        return members(self._members.get(name, msgspec.Raw(b"{}")))

    def part(self, name: str, inner: str) -> Any:  # Any: JSON
        """One member of an object in a member as a value, None without it. Raises `MessageError`."""
        found = self.parts(name).get(inner)
        return None if found is None else strict(found)

    def replaced(self, **values: Any) -> Message:  # Any: JSON, or bytes of JSON as `msgspec.Raw`
        """The message with other members."""
        return Message({**self._members, **{name: raw(value) for name, value in values.items()}})

    def encode(self) -> bytes:
        """The message in one line, without its end."""
        data = _encode(self._members)
        # Strings have no raw line breaks, so that these are white space between values.
        return data.replace(b"\n", b" ").replace(b"\r", b" ") if b"\n" in data or b"\r" in data else data


def members(data: bytes | msgspec.Raw) -> Members:
    """The members of a JSON object, as bytes. Raises `MessageError`."""
    try:
        bytes(data).decode()
        return _DECODER.decode(data)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"not a JSON object: {error}") from error


def items(data: bytes | msgspec.Raw | None) -> list[msgspec.Raw]:
    """The items of a JSON list, as bytes. Raises `MessageError`."""
    try:
        return [] if data is None else _LIST.decode(data)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"not a JSON list: {error}") from error


def strict(data: bytes | msgspec.Raw) -> Any:  # Any: JSON
    """The value of JSON that can be read in one way only. Raises `MessageError`."""
    try:
        return json.loads(bytes(data), object_pairs_hook=unique_keys, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"not JSON: {error}") from error


def raw(value: Any) -> msgspec.Raw:  # Any: JSON
    """JSON values as the bytes of their text. Inside of lists and objects they may be such bytes already."""
    if isinstance(value, msgspec.Raw):
        return value
    if isinstance(value, list) and value and isinstance(value[0], msgspec.Raw):
        return msgspec.Raw(_encode(value))
    if isinstance(value, dict) and any(isinstance(each, msgspec.Raw) for each in value.values()):
        return msgspec.Raw(_encode({name: raw(each) for name, each in value.items()}))
    return msgspec.Raw(json.dumps(value, default=_plain).encode())


def result(id: Id | None, value: Any) -> Message:  # Any: JSON
    """The answer to a request."""
    return Message.of(id=id, result=value)


def error(id: Id | None, code: int, text: str) -> Message:
    """The error in place of an answer."""
    return Message.of(id=id, error={"code": code, "message": text})


def _constant(name: str) -> None:
    raise ValueError(f"`{name}` is not JSON")


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
