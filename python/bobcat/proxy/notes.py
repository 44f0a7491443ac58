"""Lines on standard error: all that a proxy says beside its messages."""

from __future__ import annotations

import sys

from bobcat.text.display import safe_text


def note(text: str) -> None:
    """Write one line for the operator. Text of servers and clients is escaped."""
    print(f"bobcat proxy: {safe_text(text, limit=2_000)}", file=sys.stderr, flush=True)
