"""The target of a decision log: a path or a URL, parsed once."""

from __future__ import annotations

import os
import re
from typing import Literal, NamedTuple

from bobcat.errors import DecisionLogError

Kind = Literal["sqlite", "jsonl", "postgres"]
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


class Target(NamedTuple):
    """A medium and a location in it: a path, or the URL of a server."""

    medium: Kind
    location: str


def shown_target(target: str) -> str:
    """The target for messages: without the password of a URL."""
    return re.sub(r"(?<=://)([^:/@]*):[^/]*@", r"\1:…@", target)


def parse_target(target: str | os.PathLike[str]) -> Target:
    """Parse a path (`.jsonl` is JSONL, any other SQLite) or a URL (`sqlite:///PATH`, `postgresql://...`).

    Raises `DecisionLogError` (`bad_target`).
    """
    text = os.fspath(target)
    found = _SCHEME.match(text) if isinstance(target, str) else None
    scheme = found[1].lower() if found else ""
    if scheme in ("postgres", "postgresql"):
        return Target("postgres", text)
    if scheme == "sqlite":
        rest = text[len("sqlite://") :]
        if not rest.startswith("/") or rest == "/":
            raise DecisionLogError("bad_target", f"`{text}` has no file: write `sqlite:///decisions.db`")
        return Target("sqlite", rest[1:])
    if scheme:
        raise DecisionLogError(
            "bad_target", f"`{scheme}://` holds no decision log: use a path, `sqlite:///` or `postgresql://`"
        )
    if not text or os.path.isdir(text):
        raise DecisionLogError(
            "bad_target", f"`{text}` is a directory: a decision log is a file" if text else "no path"
        )
    return Target("jsonl" if text.endswith(".jsonl") else "sqlite", text)
