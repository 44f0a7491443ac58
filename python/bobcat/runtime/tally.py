"""Counts and sums over the calls of a shared journal, in constant time and space for each call.

The values are those of the core for the calls of a run, with one difference: a call that a measure cannot count is an
error only while it is in the window. Called by `bobcat.runtime.scopes`; it does no I/O.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, NamedTuple

from msgspec import UNSET

from bobcat.ir.schema import Measure

MAX_WINDOW_CALLS = 10_000
"""Largest number of calls in one window, as in the core."""

Amount = int | float | str
"""What a call adds to a measure; a text is the code of the error for a call that cannot be counted."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Json = Any  # Any: JSON


class _Counted(NamedTuple):
    """A call in a tally: its time in microseconds, its number, and what it adds."""

    at: int
    number: int
    amount: Fraction | str


class _Total:
    """The sum over calls. Calls that cannot be counted are counted by the codes of their errors."""

    def __init__(self) -> None:
        self.sum = Fraction()
        self.errors: dict[str, int] = {}

    def add(self, amount: Fraction | str, sign: int = 1) -> None:
        """Add an amount, or with the `sign` -1 take it back."""
        if isinstance(amount, Fraction):
            self.sum += sign * amount
            return
        self.errors[amount] = self.errors.get(amount, 0) + sign
        if not self.errors[amount]:
            del self.errors[amount]

    def value(self) -> Amount:
        """The sum, or the code of an error."""
        if self.errors:
            return min(self.errors)
        if self.sum.denominator == 1:
            return int(self.sum)
        try:
            return float(self.sum)
        except OverflowError:
            return "state_limit"


class _Window:
    """The calls at most `within` microseconds ago, in the order of the journal. Their times never go back."""

    def __init__(self, within: int) -> None:
        self.within = within
        self.calls: deque[_Counted] = deque()
        self.total = _Total()
        self.dropped: int | None = None
        """The time of the last call that was dropped because there were too many."""

    def add(self, call: _Counted) -> None:
        """Add a call, and forget those that have left the window."""
        while self.calls and call.at - self.calls[0].at > self.within:
            self.total.add(self.calls.popleft().amount, -1)
        if len(self.calls) == MAX_WINDOW_CALLS:
            first = self.calls.popleft()
            self.total.add(first.amount, -1)
            self.dropped = first.at
        self.calls.append(call)
        self.total.add(call.amount)

    def release(self, call: _Counted) -> None:
        """Take a call back."""
        try:
            self.calls.remove(call)
        except ValueError:  # it has left the window
            return
        self.total.add(call.amount, -1)

    def value(self, now: int) -> Amount:
        """The sum at a time, or the code of an error."""
        if self.dropped is not None and now - self.dropped <= self.within:
            return "state_limit"
        gone = self._older(now)
        for call in gone:
            self.total.add(call.amount, -1)
        found = self.total.value()
        for call in gone:
            self.total.add(call.amount)
        return found

    def _older(self, now: int) -> list[_Counted]:
        found = []
        for call in self.calls:
            if now - call.at <= self.within:
                break
            found.append(call)
        return found


class Tally:
    """The values of some measures, over calls that are added in the order of their journal and may be taken back."""

    def __init__(self, measures: Mapping[str, Measure]) -> None:
        self._totals = {name: _Total() for name, each in measures.items() if each.within is UNSET}
        self._windows = {name: _Window(each.within) for name, each in measures.items() if isinstance(each.within, int)}
        self._open: dict[str, dict[str, _Counted]] = {}
        """What each call that can be taken back added, by its key."""
        self._last = 0
        self._number = 0

    def call(self, key: str, amounts: Mapping[str, Amount], at: datetime) -> None:
        """Add a call under a new key."""
        self._last, self._number = max(self._last, _micros(at)), self._number + 1
        added = {name: _Counted(self._last, self._number, _exact(each)) for name, each in amounts.items()}
        for name, counted in added.items():
            if name in self._totals:
                self._totals[name].add(counted.amount)
            else:
                self._windows[name].add(counted)
        self._open[key] = added

    def ended(self, key: str) -> None:
        """Take in that a call happened: it can no longer be taken back."""
        self._open.pop(key, None)

    def release(self, key: str) -> None:
        """Take a call back."""
        for name, counted in self._open.pop(key, {}).items():
            if name in self._totals:
                self._totals[name].add(counted.amount, -1)
            else:
                self._windows[name].release(counted)

    def values(self, now: datetime) -> dict[str, Amount]:
        """The value of each measure at a time, or the code of its error."""
        moment = max(self._last, _micros(now))
        found = {name: total.value() for name, total in self._totals.items()}
        return {**found, **{name: window.value(moment) for name, window in self._windows.items()}}

    def dump(self) -> Json:
        """The tally as JSON, for `load`."""
        return {
            "last": self._last,
            "number": self._number,
            "totals": {name: [str(each.sum), each.errors] for name, each in self._totals.items()},
            "windows": {
                name: [each.dropped, [_to_json(call) for call in each.calls]] for name, each in self._windows.items()
            },
            "open": {key: {name: _to_json(call) for name, call in added.items()} for key, added in self._open.items()},
        }

    def load(self, data: Json) -> None:
        """Take over what `dump` returned, for the same measures. Raises `ValueError`, `TypeError` and `LookupError`."""
        for name, total in self._totals.items():
            text, errors = data["totals"][name]
            total.sum, total.errors = Fraction(text), {str(code): int(each) for code, each in errors.items()}
        for name, window in self._windows.items():
            window.dropped, calls = data["windows"][name]
            window.calls, window.total = deque(map(_from_json, calls)), _Total()
            for call in window.calls:
                window.total.add(call.amount)
        self._open = {
            key: {name: _from_json(call) for name, call in added.items()} for key, added in data["open"].items()
        }
        self._last, self._number = int(data["last"]), int(data["number"])


def _micros(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def _exact(amount: Amount) -> Fraction | str:
    return amount if isinstance(amount, str) else Fraction(amount)


def _to_json(call: _Counted) -> list[Json]:
    return [call.at, call.number, *(["", call.amount] if isinstance(call.amount, str) else [str(call.amount)])]


def _from_json(data: Json) -> _Counted:
    at, number, text, *code = data
    return _Counted(int(at), int(number), str(code[0]) if code else Fraction(text))
