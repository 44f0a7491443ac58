"""The share of a store's queue that one worker may take now: kinds, versions of the app, limits and rates."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from bobcat.stores.protocol import DurableStore
from bobcat.stores.queue import ClaimRequest
from bobcat.workers.app_versions import register_version, versions_to_take
from bobcat.workers.rates import take_start
from bobcat.workers.registry import Workers

VERSIONS_SECONDS = 1.0
"""Shortest interval between looks for newer versions of the app, made before claims."""


class WorkerShare:
    """What a worker may take."""

    def __init__(self, workers: Workers, store: DurableStore) -> None:
        self._workers, self._store = workers, store
        self._versions: Collection[str] | None = None
        self._versions_due = float("-inf")
        self._paused: dict[str, float] = {}
        """The kinds that are at their rate, with the time of their next start, on the clock of the event loop."""

    async def refresh(self) -> None:
        """Register the version of this app, and read those of the others, from time to time."""
        clock = asyncio.get_running_loop().time()
        if not self._workers.version or clock < self._versions_due:
            return
        known = await register_version(self._store, self._workers.version)
        self._versions = versions_to_take(known, self._workers.version, self._workers.on_version)
        self._versions_due = clock + VERSIONS_SECONDS

    def request(self, run_id: str | None) -> ClaimRequest:
        """The runs that the worker can take now, or only one of them."""
        workers, clock = self._workers, asyncio.get_running_loop().time()
        self._paused = {kind: until for kind, until in self._paused.items() if until > clock}
        return ClaimRequest(
            {kind: self._versions for kind in workers.makers if kind not in self._paused},
            tenant_limit=workers.tenant_limit,
            tenant_limits=workers.tenant_limits,
            kind_limits={
                kind: options.concurrency
                for kind, options in workers.kind_options.items()
                if options.concurrency is not None
            },
            version=workers.version,
            run_id=run_id,
        )

    async def may_start(self, kind: str) -> bool:
        """Take a start of a kind with a rate; false when it must wait, and is then out of the requests."""
        options = self._workers.kind_options.get(kind)
        if options is None or options.rate is None:
            return True
        following = await take_start(self._store, kind, options.rate)
        if following is None:
            return True
        wait = (following - await self._store.now()).total_seconds()
        self._paused[kind] = asyncio.get_running_loop().time() + max(wait, 0.001)
        return False

    def seconds_until_start(self) -> float:
        """Seconds until a kind that is at its rate may start another run."""
        clock = asyncio.get_running_loop().time()
        return min((until - clock for until in self._paused.values()), default=float("inf"))
