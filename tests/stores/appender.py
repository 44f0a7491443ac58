"""A process that appends records and says which were acknowledged: `python appender.py STORE RUN_ID [SECONDS]`.

STORE is `KIND:ADDRESS`. The process appends until it is killed, or until the seconds are over; each acknowledged
position is a line on its standard output. Several of them on one run race for its positions.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bobcat import DuplicateRecord, StepRecord

TEXT = "x" * 3000


def make_store(spec: str) -> Any:
    """The store that `KIND:ADDRESS` names."""
    import bobcat

    kind, _, address = spec.partition(":")
    if kind == "postgres":
        url, _, schema = address.rpartition("#")
        return bobcat.PostgresStore(url, schema=schema, durability="warn")
    if kind == "file":
        return bobcat.FileStore(address)
    if kind == "redis":
        url, _, prefix = address.rpartition("#")
        warnings.simplefilter("ignore")
        return bobcat.RedisStore(url, prefix=prefix, durability="warn")
    if kind == "sqlite":
        return bobcat.SQLiteStore(address)
    raise ValueError(spec)


def entry(run_id: str, seq: int, writer: str = "") -> StepRecord:
    return StepRecord(run_id, seq, "k", "", {"seq": seq, "text": TEXT, "writer": writer}, datetime.now(UTC))


async def append(spec: str, run_id: str, seconds: float) -> None:
    store = make_store(spec)
    until = time.monotonic() + seconds
    seq, writer = 0, str(id(store))
    while time.monotonic() < until:
        try:
            await store.append(entry(run_id, seq, writer))
            print(seq, flush=True)
        except DuplicateRecord:
            pass
        seq += 1
    await store.aclose()


def start(spec: str, run_id: str, *, seconds: float = 60.0) -> subprocess.Popen[str]:
    """Start such a process."""
    command = [sys.executable, str(Path(__file__)), spec, run_id, str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def acknowledged_until(process: subprocess.Popen[str], count: int) -> list[int]:
    """Read `count` acknowledgements, kill the process, and read the rest."""
    assert process.stdout is not None
    seen = [int(process.stdout.readline()) for _ in range(count)]
    process.kill()
    rest = process.stdout.read()
    process.wait()
    process.stdout.close()
    whole = rest[: rest.rfind("\n") + 1]
    return seen + [int(line) for line in whole.splitlines()]


def acknowledged_by_all(processes: list[subprocess.Popen[str]]) -> list[int]:
    """Every acknowledgement of processes that end by themselves."""
    seen: list[int] = []
    for process in processes:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        seen += [int(line) for line in output.splitlines()]
    return seen


if __name__ == "__main__":
    asyncio.run(append(sys.argv[1], sys.argv[2], float(sys.argv[3])))
