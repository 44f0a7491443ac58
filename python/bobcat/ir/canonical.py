"""Canonical bytes and digests of the IR. No other module computes either; `digest` is that of bytes.

Canonical JSON in the spirit of RFC 8785: UTF-8, no white space, keys sorted, floats in their shortest form with a `.`
or an `e`, integers of any size. A value without such a form is an `EncodingError`, never approximated.

    digest = sha256("bobcat/ir/v1\\0" + canonical bytes)

of a policy, and of each of its rules: two policies with different digests differ in the rules whose digests
differ, or in their headers (the policy without rules).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from bobcat._core import sha256
from bobcat.ir.digest import digest as digest
from bobcat.ir.schema import AnyRule, Definition, Expr, HostRule, IrPolicy, Measure, Source
from bobcat.model.frozen import type_name

_encode = msgspec.json.Encoder(order="sorted").encode
_SCALARS = frozenset({str, int, bool, type(None)})


class EncodingError(ValueError):
    """A value has no canonical form: NaN, an infinity, a lone surrogate, or a key or type that JSON does not have."""


def encode(node: Expr | AnyRule | Definition | IrPolicy) -> bytes:
    """Encode one IR node. Constants must have passed `check_const` (every constructor ensures that)."""
    return encode_value(node)


def encode_value(value: Any) -> bytes:  # Any: nodes and their parts
    """Encode a node, or a constant that `check_const` accepts."""
    try:
        return _encode(value)
    except (ValueError, RecursionError, TypeError, OverflowError) as error:
        raise EncodingError(_reason(error)) from error


def encode_each(values: Iterable[Any]) -> list[bytes]:  # Any: nodes and their parts
    """Encode each of some nodes or constants."""
    try:
        return list(map(_encode, values))
    except (ValueError, RecursionError, TypeError, OverflowError) as error:
        raise EncodingError(_reason(error)) from error


def check_const(value: Any) -> None:  # Any: the point is to find out
    """Reject values that `encode_value` would not encode faithfully: `msgspec` writes NaN as null, bytes as base64."""
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind in _SCALARS:
            continue
        if kind is float:
            if not math.isfinite(item):
                raise EncodingError(f"`{item}` has no JSON form")
        elif kind is list or kind is tuple:
            stack.extend(item)
        elif kind is dict:
            for key in item:
                if type(key) is not str:
                    shown = repr(key) if type(key) in _SCALARS else f"of type {type_name(key)}"
                    raise EncodingError(f"a mapping key is `{shown}`, which is not a string")
            stack.extend(item.values())
        else:
            raise EncodingError(f"a value of type `{kind.__name__}` has no JSON form")


def policy_digest(policy: IrPolicy) -> bytes:
    """Return the digest of a policy."""
    return digest(encode(policy))


def rule_digest(rule: AnyRule) -> bytes:
    """Return the digest of one rule."""
    return digest(encode(rule))


def definition_name(definition: Definition, name: str = "") -> str:
    """Return the name of a definition in `IrPolicy.memory`, which its content determines; `name` of a source is the
    author's.
    """
    kind = name if isinstance(definition, Source) else "formula"
    if isinstance(definition, Measure):
        kind = "count" if definition.field is msgspec.UNSET else "sum"
    return f"{kind}-{sha256(encode(definition)).hex()[:24]}"


def header(policy: IrPolicy) -> bytes:
    """Return the canonical bytes of the policy without rules."""
    return encode(msgspec.structs.replace(policy, rules=()))


def has_header(data: bytes, header: bytes) -> bool:
    """Return true if a policy's canonical bytes have this header, apart from its layers and its memory: `rules` is the
    last key, so prefixes can be compared.
    """
    if not data.endswith(b"]}"):
        return False
    before, profile, after = header[:-2].partition(b',"profile":')
    if data.startswith((before + _LAYERS, before + _MEMORY)):
        try:
            parts = _decode_parts(data)
        except (ValueError, RecursionError):
            return False
        for key, part in ((_LAYERS, bytes(parts.layers)), (_MEMORY, bytes(parts.memory))):
            before += key + part if part else b""
    return data.startswith(before + profile + after)


def host_rules(data: bytes) -> tuple[HostRule, ...]:
    """Decode only the host rules in the canonical bytes of a policy, in order.

    A host rule is recognised by its first key, `code`, which no other rule has.
    """
    try:
        found = [bytes(rule) for rule in _decode_rules(data).rules]
        return tuple([_decode_host_rule(rule) for rule in found if rule.startswith(b'{"code"')])
    except (ValueError, RecursionError) as error:
        raise EncodingError(f"the policy is not JSON of this format: {error}") from error


class _Rules(msgspec.Struct, frozen=True):
    """A policy with rules as undecoded bytes."""

    rules: tuple[msgspec.Raw, ...]


class _Parts(msgspec.Struct, frozen=True):
    """A policy with its layers and its memory as undecoded bytes, empty without any."""

    layers: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    memory: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


_LAYERS, _MEMORY = b',"layers":', b',"memory":'
_decode_parts = msgspec.json.Decoder(_Parts).decode
_decode_rules = msgspec.json.Decoder(_Rules).decode
_decode_host_rule = msgspec.json.Decoder(HostRule).decode


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return f"a string holds the lone surrogate U+{ord(error.object[error.start]):04X}, which has no UTF-8 form"
    if isinstance(error, RecursionError):
        return "a value is nested too deeply"
    return str(error)
