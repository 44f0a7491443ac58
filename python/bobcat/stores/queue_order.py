"""The order of the queue, for stores whose own code decides about it: see `bobcat.stores.queue`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from bobcat.stores.queue import ClaimRequest


class Waiting(NamedTuple):
    """A queued run that is due. Of the runs with the same kind, version, tenant and priority only the first counts."""

    kind: str
    version: str
    tenant: str
    priority: int
    run_at: int
    place: int
    run_id: str


@dataclass(slots=True)
class Running:
    """The numbers of `running` runs."""

    tenants: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, tenant: str, kind: str, count: int = 1) -> None:
        """Count runs."""
        self.tenants[tenant] += count
        self.kinds[kind] += count

    def leaves_room(self, request: ClaimRequest, tenant: str, kind: str) -> bool:
        """Return true if one more run exceeds neither limit."""
        limit, kind_limit = request.limit(tenant), request.kind_limits.get(kind)
        return (limit is None or self.tenants[tenant] < limit) and (kind_limit is None or self.kinds[kind] < kind_limit)


def accepts(request: ClaimRequest, kind: str, version: str) -> bool:
    """Return true if the worker has the kind, and may continue runs of the version."""
    if kind not in request.kinds:
        return False
    versions = request.kinds[kind]
    return versions is None or version in versions


def is_limited(request: ClaimRequest) -> bool:
    """Return true if the numbers of running runs matter."""
    return bool(request.tenant_limits or request.kind_limits or request.tenant_limit is not None)


def first(waiting: Iterable[Waiting], served: Mapping[str, int]) -> Waiting | None:
    """The first run in the order of the queue. `served` grows with the time when a tenant was served."""
    return min(
        waiting,
        key=lambda run: (served.get(run.tenant, 0), run.tenant, -run.priority, run.run_at, run.place),
        default=None,
    )
