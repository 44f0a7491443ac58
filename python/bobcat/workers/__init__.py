"""Workers: queued runs, on one machine or many.

    workers = Workers()

    @workers.run("support")
    async def support(job: Job) -> dict[str, Any]:
        return {"agent": ..., "task": job.payload["question"], "tools": ..., "policy": ...}

    await Jobs(store).enqueue("support", {"question": "..."})      # in any process
    bobcat worker app.py --store sqlite:///runs.db                 # in as many as you like

What is promised comes from the journal and its fences, not from here: a queue may deliver a run twice, a worker may
die, and the run goes on where its journal ends. A `Dispatcher` says when a worker looks at which run, and no more.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bobcat.stores.refusals import without_driver
from bobcat.workers.dispatch import Delivery, Dispatcher
from bobcat.workers.job import Job, Jobs
from bobcat.workers.registry import Workers

if TYPE_CHECKING:
    from bobcat.workers.procrastinated import ProcrastinateDispatcher
    from bobcat.workers.runner import Runner
    from bobcat.workers.store_loop import StoreDispatcher

__all__ = ["Delivery", "Dispatcher", "Job", "Jobs", "ProcrastinateDispatcher", "Runner", "StoreDispatcher", "Workers"]

_LATER = {
    "ProcrastinateDispatcher": "bobcat.workers.procrastinated",
    "Runner": "bobcat.workers.runner",
    "StoreDispatcher": "bobcat.workers.store_loop",
}


def __getattr__(name: str) -> Any:  # Any: type checkers see the imports above
    if name in _LATER:
        try:
            return getattr(import_module(_LATER[name]), name)
        except ModuleNotFoundError as error:
            if error.name not in ("procrastinate", "psycopg"):
                raise
            raise without_driver(name, error.name, "workers,postgres") from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
