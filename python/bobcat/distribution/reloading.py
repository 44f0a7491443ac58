"""`ReloadingPolicy`: a policy that follows a source of signed bundles.

    policy = ReloadingPolicy("https://bundles.example/bundles/policy", trust=[key], keep="/var/lib/agent/policy.bundle")
    guard = Guard(policy, tools)

INVARIANT: `current` is one whole, verified policy. It is replaced by one assignment, so a reader takes no lock; nothing
that a source sends can remove it, or replace it by an older release.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from types import TracebackType
from typing import TYPE_CHECKING, Self

from bobcat.bundle import Policy
from bobcat.bundle.manifest import checked_epoch
from bobcat.distribution.announcements import Announcements
from bobcat.distribution.bundle_file import BundleFile
from bobcat.distribution.polling import Poller
from bobcat.distribution.release import Keys, Release, check_follows, check_fresh, read_release
from bobcat.distribution.source import BundleSource, source_of
from bobcat.distribution.status import PolicyStatus, Problem
from bobcat.errors import BundleError, SourceError
from bobcat.logs import logger
from bobcat.sinks import AnySink
from bobcat.text.json_text import format_exception

if TYPE_CHECKING:
    from bobcat._core import RunState
    from bobcat.bundle.host_code import HostFunction
    from bobcat.ir.schema import Profile
    from bobcat.model.decision import ActionRequest, Decision, ExecutionContext

log = logger("distribution")


class ReloadingPolicy:
    """The policy that a source has now; `run_agent`, `Guard` and `create_app` take it in place of a `Policy`.

    `source` is a path (of a bundle, or of a directory with `policy.bundle`), an HTTP URL or a `BundleSource` such as
    `HttpSource(url, token=...)`. `trust` are the public keys of which one must have signed a bundle; None, for a file
    only, accepts unsigned ones. The source is checked every `every` seconds in a thread (0: only by `refresh`). `keep`
    is the path of the last good bundle: a process that starts while the source is away begins with it, and no process
    accepts an older release. `min_epoch` is the lowest epoch for a process that keeps none. The status is `stale`
    `max_age` seconds after the source last confirmed the policy. `host_rules`, `profile` and `layer_keys` are those of
    `Policy.load`.
    `sinks` get `policy.reloaded` and `policy.reload_refused`, in the thread that checks.

    A damaged, unsigned, expired or older bundle, and a source that is away, change nothing but `status()`. Raises
    `BundleError` and `SourceError` if neither the source nor `keep` has an acceptable policy at the start, `ValueError`
    and `TypeError` for invalid arguments.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | BundleSource,
        *,
        trust: Keys | None,
        every: float = 30.0,
        keep: str | os.PathLike[str] | None = None,
        min_epoch: int = 0,
        max_age: float | None = None,
        host_rules: Iterable[HostFunction] | Mapping[str, HostFunction] = (),
        profile: Profile | None = "strict",
        layer_keys: Mapping[str, Keys] | None = None,
        sinks: Sequence[AnySink] = (),
    ) -> None:
        self._source = source_of(source)
        if trust is None and self._source.remote:
            raise ValueError("a bundle from a URL needs `trust`, the public keys of its publishers")
        if isinstance(trust, str | bytes):
            raise TypeError(f"trust must be a sequence of keys; write [{trust!r}]")
        if not 0 <= every < float("inf") or (max_age is not None and not 0 < max_age < float("inf")):
            raise ValueError("`every` must be 0 or a number of seconds, and `max_age` a number of seconds")
        self._trust = None if trust is None else tuple(trust)
        self._keep = None if keep is None else BundleFile(keep, self._trust)
        self._min_epoch = checked_epoch(min_epoch, "min_epoch")
        self._max_age = max_age
        self._profile = profile
        self._layer_keys = None if layer_keys is None else {name: tuple(keys) for name, keys in layer_keys.items()}
        self._host_rules = host_rules if isinstance(host_rules, Mapping) else tuple(host_rules)
        self._lock = threading.Lock()
        """Held for a check, never for a decision."""
        self._tag: str | None = None
        self._seen: str | None = None
        """The tag, and the SHA-256, of the content that the source gave last, taken or refused."""
        self._refusal: Problem | None = None
        """The reason that this content was refused."""
        self._problem: Problem | None = None
        self._release: Release | None = None
        self._checked: datetime | None = None
        self._reloads = self._refused = self._failures = 0
        self._announcements = Announcements(sinks, self._source.name)
        self._begin()
        self._poller = Poller(self, ReloadingPolicy.refresh, every) if every else None

    @property
    def current(self) -> Policy:
        """The policy in force. It never changes; later calls may return another one."""
        return self._policy

    def evaluate(
        self, request: ActionRequest, context: ExecutionContext | None = None, state: RunState | None = None
    ) -> Decision:
        """Evaluate one request by the policy in force, as `Policy.evaluate` does."""
        return self._policy.evaluate(request, context, state)

    def refresh(self) -> bool:
        """Check the source now; return true if another release is in force. Never raises because of the source.

        A sink that gets an event of this check may call it again.
        """
        changed = self._refresh()
        self._announcements.deliver()
        return changed

    def _refresh(self) -> bool:
        with self._lock:
            self._attempted = _now()
            try:
                return self._check()
            except SourceError as error:
                self._failures += 1
                self._report(Problem(error.code, str(error)))
            except _Refused as refused:
                self._refused += 1
                problem = Problem(refused.error.code, str(refused.error))
                self._report(problem)
                self._announcements.refused(self._in_force(), problem)
            except Exception as error:  # a source of the caller's own, a full disk
                self._failures += 1
                self._report(Problem("failed", format_exception(error)))
            return False

    def status(self) -> PolicyStatus:
        """Return the state at this moment."""
        release, now = self._in_force(), _now()
        age = None if self._checked is None else (now - self._checked).total_seconds()
        return PolicyStatus(
            self._source.name, release.digest, release.epoch, release.expires, self._loaded, self._checked,
            self._attempted, self._problem, self._reloads, self._refused, self._failures,
            stale=self._max_age is not None and (age is None or age > self._max_age),
            expired=release.expires is not None and release.expires <= now,
        )  # fmt: skip

    def close(self) -> None:
        """End the checks. The policy stays in force."""
        if self._poller is not None:
            self._poller.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ReloadingPolicy {self._source.name}: {self._policy!r}>"

    def _in_force(self) -> Release:
        assert self._release is not None
        return self._release

    def _begin(self) -> None:
        kept = self._kept()
        if kept is not None:
            self._take(*kept)
            self.refresh()
            return
        self._attempted = _now()
        try:
            self._check()
        except _Refused as refused:
            raise refused.error from None

    def _kept(self) -> tuple[Policy, Release] | None:
        """The last good release of an earlier process; None without one that can be trusted."""
        if self._keep is None:
            return None
        try:
            found = self._keep.read()
            if found is None:
                return None
            check_follows(found[1], None, min_epoch=self._min_epoch)
            return self._loaded_policy(found[0]), found[1]
        except BundleError as error:
            log.error("the kept bundle %s is not used: %s", self._keep.path, error)
            return None

    def _check(self) -> bool:
        """Ask the source; return true if another release is in force. Raises `SourceError`, `_Refused`, `OSError`."""
        found, changed = self._source.fetch(self._tag), False
        if found is None and self._seen is None:
            raise SourceError("unreachable", f"`{self._source.name}` answers `not modified` to a first request")
        if found is not None:
            data, tag = found
            content = sha256(data).hexdigest()
            if content != self._seen:
                try:
                    changed, self._refusal = self._accept(data), None
                except BundleError as error:
                    self._tag, self._seen = tag, content
                    self._refusal = Problem(error.code, str(error))
                    raise _Refused(error) from error
            self._tag, self._seen = tag, content
        self._report(self._refusal)
        if self._refusal is None:
            self._checked = self._attempted
        return changed

    def _accept(self, data: bytes) -> bool:
        """Verify a bundle and put it in force; return true if that changes the release."""
        before = self._release
        new = read_release(data, self._trust)
        check_fresh(new, self._attempted)
        check_follows(new, before, min_epoch=self._min_epoch)
        policy = self._loaded_policy(data)
        if self._keep is not None:
            self._keep.write(data, min_epoch=self._min_epoch)
        previous = None if before is None else self._policy
        self._take(policy, new)
        if previous is None or before is None or (new.digest, new.epoch) == (before.digest, before.epoch):
            return False
        self._reloads += 1
        log.info("%s: %s is in force now", self._source.name, new.text)
        self._announcements.reloaded(new, before)
        return True

    def _take(self, policy: Policy, release: Release) -> None:
        self._loaded, self._release = _now(), release
        self._policy = policy

    def _loaded_policy(self, data: bytes) -> Policy:
        return Policy.load(data, self._host_rules, profile=self._profile, layer_keys=self._layer_keys)

    def _report(self, problem: Problem | None) -> None:
        if problem is not None and problem != self._problem:
            in_force = self._release.text if self._release is not None else "nothing"
            log.error("%s: %s; %s stays in force", self._source.name, problem.text, in_force)
        self._problem = problem


class _Refused(Exception):
    """The source gave a bundle that is not taken."""

    def __init__(self, error: BundleError) -> None:
        super().__init__(str(error))
        self.error = error


def _now() -> datetime:
    return datetime.now(UTC)
