"""A process that appends to a log, for the tests that start several and kill some. It prints each acknowledged id."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import UTC, datetime

from bobcat.decision_log import open_log


def start(target: str, name: str, *, threads: int, count: int, prune: bool = False) -> subprocess.Popen[str]:
    """Start a process in which `threads` threads append `count` records of two entries each."""
    command = [sys.executable, __file__, target, name, str(threads), str(count), str(int(prune))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def main() -> None:
    """Append until every thread has its records."""
    target, name = sys.argv[1:3]
    threads, count, prune = map(int, sys.argv[3:])
    printing = threading.Lock()

    def acknowledge(text: str) -> None:
        with printing:
            print(text, flush=True)

    with open_log(target) as log:

        def append(thread: int) -> None:
            for number in range(count):
                record_id = f"{name}-{thread}-{number}"
                log.append(record_id, "decision", {"tool": "t", "args": {"text": "x" * (number * 37 % 3000)}})
                acknowledge(f"{record_id} decision")
                log.append(record_id, "outcome", {"status": "ok"})
                acknowledge(f"{record_id} outcome")
                if prune and number % 5 == 4:
                    log.prune(datetime.now(UTC))

        running = [threading.Thread(target=append, args=(thread,)) for thread in range(threads)]
        for each in running:
            each.start()
        for each in running:
            each.join()


if __name__ == "__main__":
    main()
