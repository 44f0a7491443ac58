"""Redaction: keyed digests in place of secret values, before an entry is written.

Equal values have equal digests under one key, so a log stays searchable without the values. Without the key a digest
cannot be tried against guesses.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from bobcat.decision_log.target import parse_target
from bobcat.errors import DecisionLogError
from bobcat.stores.private_files import create_private
from bobcat.text.json_text import json_text

KEY_BYTES = 32
MARK = "hmac-sha256:"
"""The beginning of a redacted value; 64 hexadecimal digits follow."""

_STEP = re.compile(r"""(?:^|\.)([^.\[\]"]+)|\[(\d+|\*)\]|\["((?:[^"\\]|\\.)*)"\]""")


def redact(body: Mapping[str, Any], paths: Iterable[str], key: bytes) -> dict[str, Any]:
    """Return `body` with keyed digests (HMAC-SHA256 over canonical JSON) of the values at `paths`.

    A path is a list of names with dots between them: `args.card`, `args.items.*.secret`. `*` stands for every element
    of a list or every key of an object, a number for one element, `args["a.b"]` for a name with a dot. A path that
    leads nowhere changes nothing; the result is plain JSON. Raises `ValueError` for a malformed path or an empty key.
    Any: JSON.
    """
    if not key:
        raise ValueError("a redaction key must not be empty")
    # As the log would store it: no value of another type hides what a path names.
    plain = json.loads(json_text(dict(body)))
    return {**_redacted(plain, tuple(map(parse_path, paths)), key)}


def parse_path(path: str) -> tuple[str, ...]:
    """Split a path into its steps. Raises `ValueError`."""
    steps, position = [], 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            break
        name, index, quoted = found.groups()
        steps.append(name or index or re.sub(r"\\(.)", r"\1", quoted or ""))
        position = found.end()
    if not steps or position < len(path):
        raise ValueError(f"`{path}` is not a path such as `args.card` or `args.items.*.secret`")
    return tuple(steps)


def redaction_key(target: str | os.PathLike[str], *, create: bool = True) -> bytes:
    """Read the key in the file `TARGET-key` beside a file log; with `create`, make it when it is missing.

    Raises `DecisionLogError`: for a URL of a server there is no file, and the key must be given explicitly.
    """
    where = parse_target(target)
    if where.medium == "postgres":
        raise DecisionLogError("no_key", "a log on a server has no key file: pass the redaction key explicitly")
    path = f"{where.location}-key"
    try:
        if create and not os.path.exists(path):
            _create_key(path)
        with open(path, "rb") as file:
            key = bytes.fromhex(file.read(2 * KEY_BYTES + 2).decode("ascii").strip())
    except OSError as error:
        raise DecisionLogError("no_key", f"the redaction key `{path}` cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DecisionLogError(
            "no_key", f"`{path}` does not hold a key of {2 * KEY_BYTES} hexadecimal digits"
        ) from error
    if len(key) != KEY_BYTES:
        raise DecisionLogError("no_key", f"`{path}` holds {len(key)} bytes, and a key has {KEY_BYTES}")
    return key


def _create_key(path: str) -> None:
    """Create a key atomically: of two processes that create it at once, both read the same."""
    draft = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    create_private(draft)
    try:
        with open(draft, "wb") as file:
            file.write(os.urandom(KEY_BYTES).hex().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        os.unlink(draft)


def _redacted(value: Any, paths: tuple[tuple[str, ...], ...], key: bytes) -> Any:  # Any: JSON
    """Redact along all paths at once: a value that two of them name has one digest, not that of a digest."""
    if not paths:
        return value
    if () in paths:
        digest = hmac.new(key, json_text(value).encode("utf-8", "surrogatepass"), hashlib.sha256)
        return MARK + digest.hexdigest()
    if isinstance(value, dict):
        return {name: _redacted(item, _below(paths, name), key) for name, item in value.items()}
    if isinstance(value, list):
        return [_redacted(item, _below(paths, str(index)), key) for index, item in enumerate(value)]
    return value


def _below(paths: tuple[tuple[str, ...], ...], step: object) -> tuple[tuple[str, ...], ...]:
    return tuple(path[1:] for path in paths if path[0] in (step, "*"))
