"""Cost of constants in the node count of a policy."""

from __future__ import annotations

from bobcat.ir.schema import Const


def node_cost(constant: Const) -> int:
    """Return the cost of a constant in the node count: one for each value, one for every 100 characters."""
    kind = type(constant)
    if kind is str:  # PERF: most constants
        return 1 + len(constant) // 100
    if kind is not list and kind is not dict:
        return 1
    total, waiting = 0, [constant]
    while waiting:
        item = waiting.pop()
        total += 1
        if type(item) is str:
            total += len(item) // 100
        elif type(item) is list:
            waiting.extend(item)
        elif type(item) is dict and "tests" in item:
            waiting.extend(test["operand"] for test in item["tests"])
        elif type(item) is dict and "map" in item:
            waiting.extend(item["map"].values())
            total += sum(len(key) // 100 for key in item["map"])
    return total
