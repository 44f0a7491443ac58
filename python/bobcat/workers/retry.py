"""`Retry`: how often a run is tried, and after which pause, by the code of the failure."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, TypeAlias, get_args

from bobcat.model.run import RunErrorCode

WorkerErrorCode: TypeAlias = Literal["app_failed", "worker_died", "not_a_run"]
"""Causes beside those of `run_agent`: the app's function raised, the worker died, the function made no run."""

CODES = frozenset((*get_args(RunErrorCode), *get_args(WorkerErrorCode)))
TRANSIENT: frozenset[str] = frozenset(
    ("agent_failed", "agent_timed_out", "reply_cut_off", "store_failed", "sink_failed", "app_failed", "worker_died")
)
"""Codes of failures that a further attempt may avoid."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The attempts at a run. Each failure and each death of a worker is one.

    The pause after the first failure is `backoff_seconds`, doubled after each further one up to `max_backoff_seconds`,
    and shortened by a random part of up to `jitter` of it. `by_code` has other rules for some codes of failures
    (`RunResult.code`, or `app_failed`, `worker_died`, `not_a_run`), and None for codes that are not tried again. By
    default transient failures are tried again: `agent_failed`, `agent_timed_out`, `reply_cut_off`, `store_failed`,
    `sink_failed`, `app_failed` and `worker_died`.

    A run whose last attempt failed like that is `dead`; with one attempt, it has `failed`. Raises `ValueError`.
    """

    max_attempts: int = 5
    backoff_seconds: float = 2.0
    jitter: float = 0.25
    max_backoff_seconds: float = 3600.0
    by_code: Mapping[str, Retry | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if type(self.max_attempts) is not int or self.max_attempts < 1:
            raise ValueError(f"max_attempts must be an integer of at least 1, got `{self.max_attempts!r}`")
        for name in ("backoff_seconds", "max_backoff_seconds"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be a number of seconds of at least 0, got `{getattr(self, name)!r}`")
        if not 0 <= self.jitter <= 1:
            raise ValueError(f"jitter must be between 0 and 1, got `{self.jitter!r}`")
        for code, rule in self.by_code.items():
            if code not in CODES:
                close = get_close_matches(code, CODES, 1)
                hint = f"; did you mean `{close[0]}`?" if close else ""
                raise ValueError(f"by_code names `{code}`, which is no code of a failure{hint}")
            if rule is not None and (not isinstance(rule, Retry) or rule.by_code):
                raise ValueError(f"by_code[`{code}`] must be None, or a Retry without by_code")

    def of(self, code: str | None) -> Retry | None:
        """The rules for a failure with this code; None when it is not tried again."""
        known = code or ""
        if known in self.by_code:
            return self.by_code[known]
        return self if known in TRANSIENT else None

    def pause(self, attempts: int) -> float | None:
        """Seconds until the next attempt after so many; None after the last one."""
        if attempts >= self.max_attempts:
            return None
        doublings = min(attempts - 1, 64)
        longest = min(self.backoff_seconds * 2.0 ** max(doublings, 0), self.max_backoff_seconds)
        return longest * random.uniform(1 - self.jitter, 1.0)
