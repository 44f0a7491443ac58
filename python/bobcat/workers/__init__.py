"""Workers: queued runs, on one machine or many.

    workers = Workers()

    @workers.run("support")
    async def support(job: Job) -> dict[str, Any]:
        return {"agent": ..., "task": job.payload["question"], "tools": ..., "policy": ...}

    await Jobs(store).enqueue("support", {"question": "..."})      # in any process
    bobcat worker app.py --store sqlite:///runs.db                 # in as many as you like

The guarantees come from the journal and its fences, not from the queue: a queue may deliver a run twice, a worker may
die, and the run continues where its journal ends. A `Dispatcher` only decides when a worker looks at which run.
"""

from __future__ import annotations

from typing import Any

from bobcat.lazy import attach
from bobcat.stores.errors import without_driver

_find, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name: str) -> Any:  # Any: the stub has the types
    """Load a public name. A missing driver is named with the extra that installs it."""
    try:
        return _find(name)
    except ModuleNotFoundError as error:
        if error.name not in ("procrastinate", "psycopg"):
            raise
        raise without_driver(name, error.name, "workers,postgres") from error
