"""Options of one kind of runs: its retries, and its limits over all workers of a store."""

from __future__ import annotations

from dataclasses import dataclass

from bobcat.workers.rates import Rate, parse_rate
from bobcat.workers.retry import Retry


@dataclass(frozen=True, slots=True)
class KindOptions:
    """At most `concurrency` runs of the kind execute at once, and they begin at most at this `rate`."""

    retry: Retry | None = None
    concurrency: int | None = None
    rate: Rate | None = None


def kind_options(retry: object, concurrency: object, rate: object) -> KindOptions:
    """Check the options of a kind. Raises `ValueError`."""
    if retry is not None and not isinstance(retry, Retry):
        raise ValueError(f"retry must be a Retry, got `{retry!r}`")
    if concurrency is None:
        return KindOptions(retry, None, None if rate is None else parse_rate(rate))
    if not isinstance(concurrency, int) or isinstance(concurrency, bool) or concurrency < 1:
        raise ValueError(f"concurrency must be an integer of at least 1, got `{concurrency!r}`")
    return KindOptions(retry, concurrency, None if rate is None else parse_rate(rate))
