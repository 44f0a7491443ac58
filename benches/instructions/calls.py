"""Calls whose instructions `gate.py` counts: `calls.py BUNDLE REQUESTS TIMES`.

The counts of two runs with different TIMES are subtracted, so what is done once is not in them.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

import bobcat


def main() -> None:
    """Decide on every request, TIMES times."""
    bundle = bobcat.load_bundle(sys.argv[1], profile=None)
    lines = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    requests = [bobcat.request_from_json(json.loads(line)) for line in lines]
    evaluate = bobcat.evaluate
    gc.disable()
    for _ in range(int(sys.argv[3])):
        for request in requests:
            evaluate(bundle, request)


if __name__ == "__main__":
    main()
