"""The caps of a guard: a budget over all its submissions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from bobcat.model.run import Budget
from bobcat.runtime.budget import check_budget
from bobcat.text.json_text import json_text


class Caps:
    """Counts submissions against a budget. Raises `TypeError` or `ValueError` for an invalid budget."""

    def __init__(self, budget: Budget) -> None:
        check_budget(budget)
        if any(cap is not None for cap in (budget.input_tokens, budget.output_tokens, budget.tokens, budget.cost)):
            raise ValueError("a guard sees no model: its budget cannot cap tokens or cost")
        self._budget = budget
        self._began = time.monotonic()
        self._count = 0
        self._last, self._repeats = "", 0

    def count(self, tool: str, args: Mapping[str, Any]) -> str | None:  # Any: arguments of any call
        """Count a submission. Returns the reason why the budget forbids it, or None."""
        cap, seconds, most = self._budget.steps, self._budget.duration_seconds, self._budget.max_repeated_calls
        self._count += 1
        if cap is not None and self._count > cap:
            return f"the budget of {cap} submissions is exhausted"
        if seconds is not None and time.monotonic() - self._began >= seconds:
            return f"the budget of {seconds} seconds is exhausted"
        if most is None:
            return None
        text = json_text([tool, args])
        self._repeats = self._repeats + 1 if text == self._last else 1
        self._last = text
        return f"repeated call limit exhausted ({most}): {tool} with identical args" if self._repeats > most else None

    def seconds(self) -> float | None:
        """The time that a submission has from now, in seconds; None without a limit."""
        whole, single = self._budget.duration_seconds, self._budget.step_timeout_seconds
        left = None if whole is None else max(self._began + whole - time.monotonic(), 0.0)
        return min((each for each in (left, single) if each is not None), default=None)
