"""The state of a policy that follows a source, for endpoints, metrics and people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bobcat.model.plain_fields import fields_to_json


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason that the last check found nothing that could be taken: a code and a text."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class PolicyStatus:
    """The state of a `ReloadingPolicy` at one moment.

    `bundle` is the digest of the policy in force. `checked` is the last time that the source confirmed it or gave it,
    None if it is still the kept one of an earlier process; `attempted` is the time of the last check. `reloads` counts
    replacements, `refused` the bundles that were not taken, `failures` the checks that did not reach the source.
    `stale` is true after `max_age` seconds without a confirmation, and `expired` after the expiry of the release.
    """

    source: str
    bundle: str
    epoch: int | None
    expires: datetime | None
    loaded: datetime
    checked: datetime | None
    attempted: datetime
    problem: Problem | None
    reloads: int
    refused: int
    failures: int
    stale: bool
    expired: bool

    @property
    def current(self) -> bool:
        """Return true if the source confirms the policy in force, and it has not expired."""
        return self.problem is None and not self.stale and not self.expired

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The fields as JSON; times are ISO 8601."""
        return fields_to_json(self)
