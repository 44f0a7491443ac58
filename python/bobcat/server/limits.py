"""Limits of a decision server: sizes, rates, and the tokens of its clients."""

from __future__ import annotations

import hmac
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

MAX_CLIENTS = 10_000
"""Clients whose rates are counted at once; the longest silent one is forgotten first."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`max_bytes` of a body, `max_items` of a batch, and requests per second of each client (0: no limit)."""

    max_bytes: int = 1024 * 1024
    max_items: int = 10_000
    rate: float = 0.0

    def __post_init__(self) -> None:
        if self.max_bytes < 1 or self.max_items < 1 or not 0 <= self.rate < float("inf"):
            raise ValueError("limits must be positive, and the rate finite")


class Tokens:
    """The accepted bearer tokens, kept as digests. Raises `ValueError` for a weak or empty list."""

    MIN_CHARS = 16

    def __init__(self, tokens: Iterable[str]) -> None:
        known = [token.strip() for token in tokens if token.strip()]
        if not known:
            raise ValueError("no token is given")
        if any(len(token) < self.MIN_CHARS or not token.isascii() for token in known):
            raise ValueError(f"a token has at least {self.MIN_CHARS} ASCII characters")
        self._digests = [_digest(token) for token in known]

    def accepts(self, header: str | None) -> bool:
        """Return true for an `Authorization` header with one of the tokens. Takes the same time for all tokens."""
        scheme, _, token = (header or "").partition(" ")
        given = _digest(token.strip())
        matches = [hmac.compare_digest(given, known) for known in self._digests]
        return scheme.lower() == "bearer" and any(matches)


class Rates:
    """A token bucket for each client: `rate` requests a second, one second's worth at once."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def seconds_to_wait(self, client: str) -> float:
        """Count a request; return 0 if it is within the rate, else the seconds until the next one is."""
        if not self._rate:
            return 0.0
        now, most = time.monotonic(), max(self._rate, 1.0)
        left, before = self._buckets.pop(client, (most, now))
        left = min(most, left + (now - before) * self._rate)
        allowed = left >= 1.0
        self._buckets[client] = (left - 1.0 if allowed else left), now
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - left) / self._rate


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
