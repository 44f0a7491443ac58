"""Clauses that are seen to matter: calls of rules, with other values where a clause reads, are decided otherwise.

PERF: of 1,000 rules most clauses matter, and a few decisions show it in a hundredth of the time of a comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bobcat.analysis.paths import ABSENT, Data, Path, leaf_paths, value_at, with_value
from bobcat.bundle.model import Policy
from bobcat.errors import RequestError
from bobcat.ir.schema import Expr
from bobcat.ir.visit import leaves
from bobcat.model.decision import ActionRequest
from bobcat.model.request_json import request_from_data

_VALUES = (ABSENT, "", "x", "/", 0, -1, 1_000_000, True, False, None, ["x"])
MOST_VALUES = 24
"""Values of other calls that are tried at one path."""


class Calls:
    """Calls that the rules of a policy decide, by the index of the rule."""

    def __init__(self, calls: Mapping[int, Data]) -> None:
        self._calls = calls
        self._values: dict[Path, list[Any]] = {}  # Any: JSON

    def matters(self, index: int, policies: tuple[Policy, Policy], clause: Expr) -> bool:
        """Return true if a call shows that two policies decide differently; false proves nothing.

        The second policy lacks a clause of the rule with this index.
        """
        call = self._calls.get(index)
        policy, changed = policies
        if call is None or policy.remembers or policy.python_rules:
            return False
        return any(
            policy.evaluate(each).verdict is not changed.evaluate(each).verdict for each in self._near(clause, call)
        )

    def _near(self, clause: Expr, call: Data) -> Iterator[ActionRequest]:
        """Yield a call with other values at the paths of a clause, one at a time."""
        paths = dict.fromkeys(path for leaf in leaves(clause) for path in leaf_paths(leaf) if path[0] != "tool")
        for path in paths:
            for value in (*_VALUES, *self._values_at(path)):
                data = with_value(call, path, value)
                if data is None:
                    continue
                try:
                    yield request_from_data(data)
                except RequestError:
                    continue

    def _values_at(self, path: Path) -> list[Any]:  # Any: JSON
        """Return the values that calls of other rules have at a path."""
        if path not in self._values:
            found = (value_at(call, path) for call in self._calls.values())
            distinct = {repr(value): value for value in found if value is not ABSENT}
            self._values[path] = list(distinct.values())[:MOST_VALUES]
        return self._values[path]
