"""A process that submits calls of every kind from several threads. For `test_records`.

submitter.py LOG THREADS COUNT
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bobcat import Guard
from guard.gated import Tools, policy

CALLS = (
    ("echo", {"text": "a"}), ("echo", {"text": "force"}), ("delete", {"path": "a"}), ("deploy", {"target": "a"}),
    ("query", {"text": "a"}), ("broken", {}), ("nothing", {}), ("echo", {"words": "a"}),
)  # fmt: skip


def main(log: str, threads: int, count: int) -> None:
    with Guard(policy(), Tools().toolset(), log=log) as guard, ThreadPoolExecutor(threads) as pool:
        ids = pool.map(lambda at: guard.submit_sync(*CALLS[at % len(CALLS)]).record_id, range(count))
        print(*ids, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
