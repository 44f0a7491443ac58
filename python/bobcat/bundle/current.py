"""The policy in force, where a caller may pass an object that follows one, and narrow it for one run.

`run_agent` and `Guard` call `current_policy` once for each run or submission, so that each sees one whole policy.
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


class NarrowedPolicy:
    """A policy with one more layer that makes it stricter, kept with the policy that it follows.

    Raises `BundleError` with the code `bad_layers` for policies that cannot be combined, `TypeError` for other objects.
    """

    def __init__(self, policy: Policy | PolicyHolder, narrow_with: Policy) -> None:
        checked: object = narrow_with
        if not isinstance(checked, Policy):
            raise TypeError(
                f"narrow_with must be a Policy, got {type(checked).__name__}; make one with Policy.compile or "
                "Policy.load"
            )
        self._policy, self._narrow_with = policy, narrow_with
        self._last: tuple[Policy, Policy] | None = None

    @property
    def current(self) -> Policy:
        """The policy in force, narrowed."""
        policy, last = current_policy(self._policy), self._last
        if last is not None and last[0] is policy:  # PERF: a merge compiles the rules of both
            return last[1]
        narrowed = policy.narrow_with(self._narrow_with)
        self._last = policy, narrowed
        return narrowed


def narrowed_policy(policy: Policy | PolicyHolder, narrow_with: Policy | None) -> Policy | PolicyHolder:
    """Return `policy`, narrowed if there is something to narrow it with. Raises as `NarrowedPolicy`."""
    return policy if narrow_with is None else NarrowedPolicy(policy, narrow_with)
