"""The policy in force, where a caller may pass an object that follows one.

`run_agent` and `Guard` call this once for each run or submission, so that each sees one whole policy.
"""

from __future__ import annotations

from typing import Protocol, cast, runtime_checkable

from bobcat.bundle.model import Policy


@runtime_checkable
class PolicyHolder(Protocol):
    """An object that has a policy, and may have another one later, such as `ReloadingPolicy`."""

    @property
    def current(self) -> Policy:
        """The policy in force."""


def current_policy(policy: Policy | PolicyHolder) -> Policy:
    """Return the policy in force of a holder; anything else as it is, for the caller to check."""
    if isinstance(policy, Policy):  # PERF: first, because the check of a protocol takes a microsecond
        return policy
    return policy.current if isinstance(policy, PolicyHolder) else cast(Policy, policy)
