"""The order of the keys of rules and capabilities; the caller gives that of suites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from bobcat.frontend.strict.capability_actions import ACTIONS, RULE_KEYS
from bobcat.frontend.strict.rules import KEYS

KeyOrders: TypeAlias = Mapping[tuple[str, ...], Sequence[str]]
"""The order of the keys of mappings, by the keys above them, `*` for an item. Other keys follow in their order."""

_LIMITS = tuple(dict.fromkeys(key for action in ACTIONS.values() for key in action.keys))

POLICY: KeyOrders = MappingProxyType(
    {
        ("rules", "*"): KEYS,
        ("capabilities", "*"): ("id", "action", *_LIMITS, *(key for key in RULE_KEYS if key not in ("id", "action"))),
        ("rules", "*", "transform"): ("jsonpath", "set", "append", "delete"),
    }
)
