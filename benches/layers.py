"""Layers: three of 1,000 rules beside one policy of 3,000.

`PYTHONPATH=benches .venv/bin/python benches/layers.py` prints the microseconds of a decision and the ratio for each
combiner; it fails above the bar. The rules and the requests are those of the shared workload (`corpora/mixed.py`): the
layers are the thirds of the policy. A layer without a rule for a call allows it, so that every layer is evaluated.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).resolve().parent))

from bobcat import Policy, evaluate
from bobcat.ir.schema import Combine
from bobcat.model.request_json import request_from_json
from corpora.mixed import JsonObject, workload
from timing import duel

BAR = 1.5
RULES = 3_000
LAYERS = ("org", "team", "run")
ALLOW = {"on_no_match": "allow", "on_missing_shadow": "allow"}


def main() -> int:
    """Measure each combiner, print a line for it, and return 1 if one is above the bar."""
    work = workload(RULES)
    requests = [request_from_json(json.dumps(request)) for request in work.requests]

    def policy(rules: list[JsonObject]) -> Policy:
        made = Policy.compile({"version": 1, "defaults": ALLOW, "rules": rules})
        made.prepare()
        return made

    rules, size = work.policy["rules"], RULES // len(LAYERS)
    one = policy(rules)
    parts = {name: policy(rules[at * size : (at + 1) * size]) for at, name in enumerate(LAYERS)}

    def decide(bundle: Policy) -> None:
        for request in requests:
            evaluate(bundle, request)

    failed = False
    for combine in get_args(Combine):
        layered = Policy.layered(parts, combine=combine)
        layered.prepare()
        found = duel(partial(decide, layered), partial(decide, one), rounds=41, repeat=1)
        ratio = 1 / found.ratio
        failed |= ratio > BAR
        ours, theirs = (1e6 * seconds / len(requests) for seconds in (found.ours, found.theirs))
        print(f"{combine:<24} {ours:6.2f} us, one policy {theirs:6.2f} us: {ratio:.2f} x")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
