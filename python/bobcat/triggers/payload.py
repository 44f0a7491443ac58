"""Checks of a trigger's payload and texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bobcat.errors import JobError, TriggerError
from bobcat.triggers.spelling import bad
from bobcat.workers.job import plain_payload

MAX_PAYLOAD = 65_536
"""Most bytes of a payload as JSON."""
MAX_TEXT = 200
"""Most characters of a name, a tenant or a key."""


def checked_payload(payload: Mapping[str, Any] | None) -> dict[str, Any]:
    """The payload after a JSON round trip. Raises `TriggerError` (`bad_trigger`, `too_large`)."""
    try:
        plain = plain_payload({} if payload is None else payload)
    except JobError as error:
        raise bad(str(error)) from error
    size = len(json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size > MAX_PAYLOAD:
        raise TriggerError("too_large", f"a payload may have {MAX_PAYLOAD:,} bytes of JSON, got {size:,}")
    return plain


def checked_texts(*, name: object, tenant: object, key: object) -> None:
    """Check the names of a trigger. Raises `TriggerError` (`bad_trigger`)."""
    for label, text in (("name of its run", name), ("tenant", tenant), ("key", "-" if key is None else key)):
        if not isinstance(text, str) or len(text) > MAX_TEXT or not (text or label == "tenant"):
            raise bad(f"the {label} of a trigger must be a string of 1 to {MAX_TEXT} characters, got `{text!r:.80}`")
