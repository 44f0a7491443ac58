"""The reference loop: a fixed piece of interpreter work that decisions are timed against in the same run.

It does what deciding does (look up a name, read mappings, search text, compare), with nothing but the standard library,
so that a slow or busy machine slows both alike. INVARIANT: saved baselines are in its steps; whoever changes it raises
`VERSION`, and baselines of another version are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable

VERSION = 1
"""Names the loop; part of every saved result."""
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
    """A function that runs `STEPS` steps; what they read is made once, here."""
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
