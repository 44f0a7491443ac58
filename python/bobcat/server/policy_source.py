"""The policy of a server: loaded from a bundle file, and replaced as a whole when that changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path

from bobcat.bundle import Policy
from bobcat.logs import logger
from bobcat.text.json_text import format_exception

log = logger("server")


class PolicyFile:
    """A bundle file and the policy that was loaded from it last.

    INVARIANT: a request sees one whole policy. A file that cannot be loaded or verified changes nothing: the policy
    before it stays, and `problem` says why. An older `epoch` than the present policy's is refused.

    Raises what `Policy.load` raises, for the first load.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        trusted_keys: Collection[str] | None = None,
        load: Callable[..., Policy] = Policy.load,
    ) -> None:
        self.path = Path(path)
        self._trusted_keys = trusted_keys
        self._load = load
        self._stamp = self._state()
        self.policy = self._loaded()
        self.loaded = datetime.now(UTC)
        self.problem: str | None = None

    def reload(self, *, force: bool = False) -> bool:
        """Load the file again if it changed, or in any case; return true if the policy is another one now."""
        try:
            stamp = self._state()
            if stamp == self._stamp and not force:
                return False
            new = self._loaded()
            self._stamp = stamp
            if self.policy.epoch is not None and (new.epoch is None or new.epoch < self.policy.epoch):
                raise ValueError(f"the bundle has epoch {new.epoch}, and the present one {self.policy.epoch}")
        except Exception as error:
            problem = format_exception(error)
            if problem != self.problem:
                log.error("%s is not loaded: %s; the policy %s stays", self.path, problem, self.policy.id[:16])
            self.problem = problem
            return False
        changed, self.problem = new.id != self.policy.id, None
        self.policy, self.loaded = new, datetime.now(UTC)
        if changed:
            log.info("%s: the policy is %s now", self.path, new.id[:16])
        return changed

    def _loaded(self) -> Policy:
        return self._load(self.path, trusted_keys=self._trusted_keys)

    def _state(self) -> tuple[int, int, int]:
        found = self.path.stat()
        return found.st_mtime_ns, found.st_size, found.st_ino
