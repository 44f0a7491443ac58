"""Budget accounting: the usage of a run, and the check whether another step is allowed. Pure arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from bobcat.model.run import Budget, RunErrorCode, Usage

if TYPE_CHECKING:
    from bobcat.ledger import Cap

_NUMBER_FIELDS = ("duration_seconds", "step_timeout_seconds")
_COUNT_FIELDS = ("steps", "input_tokens", "output_tokens", "tokens", "max_repeated_calls")


class BudgetStop(NamedTuple):
    """Failure of a run: the text and the code of its result, and the reason in its `run.failed` event."""

    error: str
    reason: str
    code: RunErrorCode = "budget_exhausted"


class Meter:
    """Token totals of a run, replayed steps included: they were real spend."""

    __slots__ = ("cache_read", "cache_write", "has_usage", "input", "output")

    def __init__(self) -> None:
        self.input = 0
        self.output = 0
        self.cache_read = 0
        self.cache_write = 0
        self.has_usage = False

    def add(self, usage: Usage | None) -> None:
        """Count one reply's usage; None counts nothing."""
        if usage is None:
            return
        self.has_usage = True
        self.input += usage.input_tokens or 0
        self.output += usage.output_tokens or 0
        self.cache_read += usage.cache_read_tokens or 0
        self.cache_write += usage.cache_write_tokens or 0

    def totals(self) -> Usage | None:
        """The sums, or None when no reply reported anything."""
        if not self.has_usage:
            return None
        return Usage(self.input, self.output, self.cache_read, self.cache_write)


def check_budget(budget: Budget) -> None:
    """Raise for a cap that is not a number, negative or NaN: such a budget would not limit the run as written."""
    for name in (*_COUNT_FIELDS, *_NUMBER_FIELDS):
        cap = getattr(budget, name)
        if cap is None:
            continue
        allowed = (int, float) if name in _NUMBER_FIELDS else (int,)
        if isinstance(cap, bool) or not isinstance(cap, allowed):
            raise TypeError(f"budget.{name} must be {'a number' if len(allowed) > 1 else 'an integer'}, got {cap!r}")
        if math.isnan(cap) or cap < 0:
            raise ValueError(f"budget.{name} must not be negative or NaN, got {cap!r}")
    cost_cap(budget)


def cost_cap(budget: Budget) -> Cap | None:
    """The cap of a run that the cost of its budget makes; None without one. Raises `TypeError` and `ValueError`."""
    cost: object = getattr(budget, "cost", None)
    if cost is None:
        return None
    if isinstance(cost, bool) or not isinstance(cost, int | float | str | Decimal):
        raise TypeError(f"budget.cost must be an amount in dollars, such as 10 or '0.25', got {cost!r}")
    from bobcat.ledger import Cap, LedgerError

    try:
        return Cap("run", usd=cost)
    except LedgerError as error:
        raise ValueError(f"budget.cost: {error}") from error


def exceeded(
    budget: Budget, *, steps: int, elapsed: float, meter: Meter, counts_cache_tokens: bool = True
) -> BudgetStop | None:
    """The first cap that forbids another step, or None. `elapsed` is in seconds since this attempt began."""
    if budget.steps is not None and steps >= budget.steps:
        return BudgetStop(f"step budget exhausted ({budget.steps})", f"step budget {budget.steps} exhausted")
    if budget.duration_seconds is not None and elapsed >= budget.duration_seconds:
        return duration_stop(budget)
    for cap, used, name in _token_caps(budget, meter, counts_cache_tokens=counts_cache_tokens):
        if used >= cap:
            return _tokens_stop(cap, name)
    return None


def final_overrun(budget: Budget, meter: Meter, *, counts_cache_tokens: bool = True) -> BudgetStop | None:
    """The first token cap that was exceeded, or None. Checked after the last step, which may use up the remainder."""
    for cap, used, name in _token_caps(budget, meter, counts_cache_tokens=counts_cache_tokens):
        if used > cap:
            return _tokens_stop(cap, name)
    return None


def _token_caps(budget: Budget, meter: Meter, *, counts_cache_tokens: bool) -> list[tuple[int, int, str]]:
    """The token caps that are set: each with the usage and its name."""
    if budget.input_tokens is None and budget.output_tokens is None and budget.tokens is None:
        return []
    cached = meter.cache_read + meter.cache_write if counts_cache_tokens else 0
    caps = (
        (budget.input_tokens, meter.input + cached, "input token"),
        (budget.output_tokens, meter.output, "output token"),
        (budget.tokens, meter.input + cached + meter.output, "token"),
    )
    return [(cap, used, name) for cap, used, name in caps if cap is not None]


def _tokens_stop(cap: int, name: str) -> BudgetStop:
    text = f"{name} budget exhausted ({cap})"
    return BudgetStop(text, text)


def duration_stop(budget: Budget) -> BudgetStop:
    """The stop of a run whose duration budget is exhausted."""
    return BudgetStop(f"duration budget exhausted ({budget.duration_seconds}s)", "duration budget exhausted")
