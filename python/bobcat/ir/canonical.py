"""Canonical bytes and digests of the IR: the only place where either is made.

Canonical JSON in the spirit of RFC 8785: UTF-8, no white space, keys sorted, floats in their shortest form with a `.`
or an `e`, integers of any size. A value without such a form is an `EncodingError`, never a best effort.

The digest of a policy is the root of a small Merkle tree: a header (everything but the rules) and one digest per rule,
so that two policies can be told apart by the names of the rules that differ.

    rule digest    sha256("bobcat/ir/v1/rule\\0" + canonical bytes of the rule)
    header digest  sha256("bobcat/ir/v1/header\\0" + canonical bytes of the policy without rules)
    policy digest  sha256("bobcat/ir/v1\\0" + canonical bytes of {"header": <hex>, "rules": [<hex>, ...]})
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from bobcat.ir.schema import AnyRule, Defaults, Expr, HostRule, Policy, Profile

_DOMAIN = b"bobcat/ir/v1"
POLICY_DOMAIN = _DOMAIN + b"\0"
RULE_DOMAIN = _DOMAIN + b"/rule\0"
HEADER_DOMAIN = _DOMAIN + b"/header\0"

_encode = msgspec.json.Encoder(order="sorted").encode
_SCALARS = frozenset({str, int, bool, type(None)})


class EncodingError(ValueError):
    """A value has no canonical form: NaN or an infinity, a lone surrogate, a key or a type that JSON does not have."""


class Canonical(NamedTuple):
    """A policy in canonical form: its bytes, its digest and the digest of each rule, both as raw 32 bytes."""

    data: bytes
    digest: bytes
    rule_digests: tuple[bytes, ...]


class Split(NamedTuple):
    """A policy in canonical bytes, taken apart: its header (a policy without rules), and each rule in bytes."""

    data: bytes
    digest: bytes
    rule_digests: tuple[bytes, ...]
    header: Policy
    rules: list[bytes]


def encode(node: Expr | AnyRule | Policy) -> bytes:
    """The canonical bytes of one IR node. Constants must have passed `check_const` (every constructor does that)."""
    return encode_value(node)


def encode_value(value: Any) -> bytes:  # Any: nodes and their parts
    """The canonical bytes of a node, or of a constant that `check_const` accepts."""
    try:
        return _encode(value)
    except (ValueError, RecursionError, TypeError, OverflowError) as error:
        raise EncodingError(_reason(error)) from error


def check_const(value: Any) -> None:  # Any: the point is to find out
    """Refuses what `encode_value` would not encode faithfully: `msgspec` writes NaN as null, bytes as base64."""
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
                    raise EncodingError(f"a mapping key is `{key!r}`, which is not a string")
            stack.extend(item.values())
        else:
            raise EncodingError(f"a value of type `{kind.__name__}` has no JSON form")


def canonicalize(policy: Policy) -> Canonical:
    """The canonical bytes of a policy with its digests, encoding each rule once."""
    return _assemble(encode(msgspec.structs.replace(policy, rules=())), [encode(rule) for rule in policy.rules])


def split(data: bytes) -> Split:
    """The digests of a policy in canonical bytes, without building the nodes of its rules.

    Refuses bytes that are not the canonical arrangement of a header and rules. What is inside a rule is not looked at.
    """
    try:
        parts = _split(data)
    except (ValueError, RecursionError) as error:
        raise EncodingError(f"the policy is not JSON of this format: {error}") from error
    header = Policy(parts.ir_version, parts.profile, parts.language_version, parts.defaults, ())
    rules = [bytes(rule) for rule in parts.rules]
    canonical = _assemble(encode(header), rules)
    if canonical.data != data:
        raise EncodingError("the policy is not in canonical form")
    return Split(*canonical, header, rules)


def host_rules(rules: Iterable[bytes]) -> tuple[HostRule, ...]:
    """The host rules among rules in canonical bytes, in order: those whose first key is `code`."""
    try:
        return tuple([_decode_host_rule(rule) for rule in rules if rule.startswith(b'{"code"')])
    except msgspec.MsgspecError as error:
        raise EncodingError(f"a host rule is malformed: {error}") from error


def header_digest(policy: Policy) -> bytes:
    """The digest of everything in a policy that is not a rule."""
    return sha256(HEADER_DOMAIN + encode(msgspec.structs.replace(policy, rules=()))).digest()


def rule_digest(rule: AnyRule) -> bytes:
    """The digest of one rule."""
    return sha256(RULE_DOMAIN + encode(rule)).digest()


def root_digest(header: bytes, rule_digests: tuple[bytes, ...]) -> bytes:
    """The digest of a policy, from the digests of its header and of its rules in evaluation order."""
    tree = {"header": header.hex(), "rules": [digest.hex() for digest in rule_digests]}
    return sha256(POLICY_DOMAIN + _encode(tree)).digest()


def policy_digest(policy: Policy) -> bytes:
    """The digest of a policy; `canonicalize` gives it together with the bytes."""
    return canonicalize(policy).digest


class _Parts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy with its rules left as bytes."""

    ir_version: int
    profile: Profile
    language_version: int
    defaults: Defaults
    rules: tuple[msgspec.Raw, ...]


_decode_host_rule = msgspec.json.Decoder(HostRule).decode
_split = msgspec.json.Decoder(_Parts).decode


def _assemble(header: bytes, rules: list[bytes]) -> Canonical:
    # `rules` is the last key of a policy in sorted order: an empty one ends in `"rules":[]}`.
    data = header[:-2] + b",".join(rules) + b"]}"
    rule_digests = tuple([sha256(RULE_DOMAIN + rule).digest() for rule in rules])
    return Canonical(data, root_digest(sha256(HEADER_DOMAIN + header).digest(), rule_digests), rule_digests)


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return f"a string holds the lone surrogate U+{ord(error.object[error.start]):04X}, which has no UTF-8 form"
    if isinstance(error, RecursionError):
        return "a value is nested too deeply"
    return str(error)
