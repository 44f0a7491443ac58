"""`make bench-shapes`: what is hard on an index, what happens seldom, and what many decisions take together.

Everything that is compared is measured in turn, in one process. Writes `benches/results-shapes.json`, and its tables
into the page about performance.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import bobcat
from bobcat.model.request_json import request_from_json
from corpora.shapes import SHAPES, Shape
from shapes.gate import gate_of_a_call
from shapes.seldom import LESS_EVICTED, SIZES, batches, cold, first, memory, spread
from shapes.table import FIGURES
from shapes.turns import in_turn

Row = dict[str, Any]  # Any: JSON


def main() -> int:
    """Measure, show progress, and write the artefact and the tables."""
    from bobcat._core import __version__
    from bobcat.benchmark.measure import machine

    found = machine()
    results = {
        "command": "make bench-shapes",
        "machine": {"cpu": found.processor, "cores": found.cores, "python": found.python, "system": found.system},
        "busy": round(os.getloadavg()[0], 1),
        "versions": {"bobcat": __version__},
        "shapes": [shown(curve(shape)) for shape in SHAPES],
        "spread": [shown(spread(rules)) for rules in SIZES],
        "first": shown(first()),
        "cold": [shown(cold(rules)) for rules in SIZES],
        "less_cold": [shown(cold(1_000, mib)) for mib in LESS_EVICTED],
        "memory": [shown(memory(rules)) for rules in SIZES if rules >= 1_000],
        "batches": [shown(batches(rules)) for rules in (10, 100, 1_000)],
        "gate": shown(gate_of_a_call()),
    }
    FIGURES.results.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    FIGURES.update(results)
    print("wrote benches/results-shapes.json and its tables")
    return 0


def curve(shape: Shape) -> Row:
    """The time of a decision at every size."""
    sides = []
    for size in shape.sizes:
        bundle, request = bobcat.compile_policy(shape.policy(size)), request_from_json(shape.call(size))
        decision = bobcat.evaluate(bundle, request)
        if decision.matched_rules != ("<default:on_no_match>",):
            raise SystemExit(f"`{shape.name}` at {size}: {decision}")
        sides.append(lambda bundle=bundle, request=request: bobcat.evaluate(bundle, request))
    taken = in_turn(sides)
    return {
        "name": shape.name,
        "unit": shape.unit,
        "ns": {str(size): round(ns) for size, ns in zip(shape.sizes, taken, strict=True)},
        "growth": round(taken[-1] / taken[0], 2),
    }


def shown(row: Row) -> Row:
    """Show progress."""
    print(json.dumps(row, ensure_ascii=False), flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main())
