"""The reference loop: a fixed interpreter workload that decisions are timed against in the same run.

It does the same kinds of work as a decision (look up a name, read mappings, search text, compare), in plain Python,
so that a slow or busy machine slows both equally. INVARIANT: saved baselines are in its steps; a change must raise
`VERSION`, and baselines of another version are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable

VERSION = 1
"""Version of the loop; part of every saved result."""
STEPS = 256
"""Steps of one turn of the loop."""

_NAMES = tuple(f"tool-{number}" for number in range(16))
_SEARCH = re.compile(r"(^|/)secret-\d+(/|\.pem$)", re.ASCII).search


def _step(limits: dict[str, int], call: tuple[str, dict[str, object]]) -> int:
    name, fields = call
    limit = limits.get(name)
    amount, path = fields.get("amount"), fields.get("path")
    if limit is None or not isinstance(amount, int) or amount > limit:
        return 0
    return 1 if isinstance(path, str) and _SEARCH(path) is not None else 2


def reference_turn() -> Callable[[], int]:
    """Return a function that runs `STEPS` steps; their input is created once, here."""
    limits = {name: number * 10 for number, name in enumerate(_NAMES)}
    calls = [
        (
            _NAMES[number % 16],
            {"amount": number % 170, "path": f"home/user/{'secret-7' if number % 5 else 'notes'}/key"},
        )
        for number in range(STEPS)
    ]

    def turn() -> int:
        total = 0
        for call in calls:
            total += _step(limits, call)
        return total

    return turn
