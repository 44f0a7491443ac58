"""Idempotency keys of actions, and the hash that chains journal records."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from bobcat._core import action_key, chained_hash
from bobcat.text.json_text import json_text

RUN_DOMAIN = b"bobcat/journal/v2\0"
"""Prefix of a run's first hash; it contains the version of the hash format."""

_HASH = re.compile("[0-9a-f]{64}")


def idempotency_key(
    run_id: str, step: int, tool: str, args: Mapping[str, Any], *, text: Callable[[Any], str] = json_text
) -> str:
    """The idempotency key of one proposed action: 32 hex digits over run, step, tool and proposed arguments.

    A retry of the same step has the same key, so a tool or a service can recognise it. `text` encodes values that are
    not plain: the compatibility modes agree on all others.
    """
    key = action_key(run_id, step, tool, args)
    if key is not None:
        return key
    payload = f"{run_id}|{step}|{tool}|{text(args)}"
    return sha256(_encoded(payload)).hexdigest()[:32]


def action_key_of(
    run_id: str, step: int, tool: str, args: Mapping[str, Any], *, text: Callable[[Any], str] = json_text
) -> str:
    """`idempotency_key` without collisions between names: `r` and `1|t` differ from `r|1` and `t`."""
    if "|" not in run_id and "|" not in tool:
        return idempotency_key(run_id, step, tool, args, text=text)
    return sha256(_encoded(text([run_id, step, tool, args]))).hexdigest()[:32]


def chain_hash(
    previous: str,
    body: Mapping[str, Any],
    *,
    run_id: str,
    seq: int,
    kind: str,
    key: str,
    text: Callable[[Any], str] = json_text,
) -> str:
    """The hash of a record that follows the record with the hash `previous`: 64 hex digits. Before the first, "".

    SHA-256 over the 32 bytes of the previous hash, `seq` in eight bytes, the kind and the idempotency key, each after
    its length in four bytes, and the canonical JSON of the body to the end. Numbers have their most significant byte
    first, text is UTF-8. The first record follows the hash of the run: SHA-256 over `bobcat/journal/v2`, a null byte
    and the run id. It excludes the time of the record: stores keep times in their own precision. `text` as in
    `idempotency_key`. Raises `ValueError` for an invalid `previous`, `OverflowError` for a `seq` below 0 or of more
    than eight bytes.

    PERF: `bobcat._core.chained_hash` computes the same for plain bodies in one call (0.3 µs), and returns None for
    others.
    """
    native = chained_hash(previous, run_id, seq, kind, key, body)
    if native is not None:
        return native
    if previous and not _HASH.fullmatch(previous):
        raise ValueError(f"a previous hash is 64 hex digits, not {previous!r}")
    hashed = sha256(bytes.fromhex(previous) if previous else sha256(RUN_DOMAIN + _encoded(run_id)).digest())
    hashed.update(seq.to_bytes(8, "big"))
    for part in (kind, key):
        encoded = _encoded(part)
        hashed.update(len(encoded).to_bytes(4, "big") + encoded)
    hashed.update(_encoded(text(body)))
    return hashed.hexdigest()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
