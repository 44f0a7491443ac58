"""The budget of searches for example calls."""

from __future__ import annotations

from dataclasses import dataclass


class OutOfBudget(Exception):
    """The search ended without a result because its budget is spent."""


@dataclass(slots=True)
class SearchBudget:
    """Remaining steps of searches."""

    steps: int

    def spend(self, steps: int) -> None:
        """Spend steps. Raises `OutOfBudget`."""
        self.steps -= steps
        if self.steps < 0:
            raise OutOfBudget
