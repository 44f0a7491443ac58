"""Tokens, the sessions that they are exchanged for, and the marks of forms."""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256

from bobcat.server.limits import Tokens

MAX_SESSIONS = 1_000
"""Sessions at once; the oldest is forgotten first."""
SESSION_SECONDS = 12 * 3600


@dataclass(frozen=True, slots=True)
class Holder:
    """The holder of a token. `name` is the approver as whom answers are given; empty for one who only reads."""

    name: str


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in browser. `secret` makes the marks of its forms."""

    holder: Holder
    secret: bytes
    ends: float

    def mark(self, action: str) -> str:
        """The mark of a form for one action, which no other site and no other session can know."""
        return hmac.new(self.secret, action.encode("utf-8", "surrogatepass"), sha256).hexdigest()

    def accepts(self, action: str, mark: str) -> bool:
        """Compare a mark in constant time."""
        return hmac.compare_digest(self.mark(action).encode(), mark.encode("utf-8", "surrogatepass"))


class Access:
    """The accepted tokens, kept as digests, and the sessions. `clock` is monotonic, in seconds."""

    def __init__(self, holders: Iterable[tuple[str, Holder]], clock: Callable[[], float] = time.monotonic) -> None:
        self._holders = [(_digest(token), holder) for token, holder in holders]
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._clock = clock

    def sign_in(self, token: str) -> tuple[str, Session] | None:
        """Exchange a token for a new session and its cookie. Takes the same time for all tokens."""
        given = _digest(token)
        matches = [holder for known, holder in self._holders if hmac.compare_digest(given, known)]
        if not matches:
            return None
        cookie = secrets.token_urlsafe(32)
        session = Session(matches[0], secrets.token_bytes(32), self._clock() + SESSION_SECONDS)
        self._sessions[_digest(cookie).hex()] = session
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return cookie, session

    def session(self, cookie: str | None) -> Session | None:
        """The session of a cookie, while it lasts."""
        found = self._sessions.get(_digest(cookie or "").hex())
        return found if found is not None and self._clock() < found.ends else None

    def sign_out(self, cookie: str | None) -> None:
        """End a session."""
        self._sessions.pop(_digest(cookie or "").hex(), None)


def parse_holders(lines: Iterable[str]) -> list[tuple[str, Holder]]:
    """Read the lines of a token file: `TOKEN`, or `NAME TOKEN` for an approver. Raises `ValueError`."""
    found: list[tuple[str, Holder]] = []
    for number, line in enumerate(lines, 1):
        name, _, token = line.strip().rpartition(" ")
        if not token:
            continue
        try:
            Tokens([token])
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
        found.append((token, Holder(name.strip())))
    if not found:
        raise ValueError("no token is given")
    if len({token for token, _ in found}) < len(found):
        raise ValueError("a token occurs twice")
    return found


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
