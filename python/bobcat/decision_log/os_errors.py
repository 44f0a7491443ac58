"""Errors of the operating system as errors of a decision log."""

from __future__ import annotations

import errno

from bobcat.errors import DecisionLogError

_FULL = frozenset((errno.ENOSPC, errno.EFBIG, errno.EDQUOT))
_DENIED = frozenset((errno.EROFS, errno.EACCES, errno.EPERM))


def to_log_error(path: str, error: OSError) -> DecisionLogError:
    """Convert an error of the operating system: `full`, `read_only` or `unavailable`."""
    if isinstance(error, DecisionLogError):
        return error
    code = "full" if error.errno in _FULL else "read_only" if error.errno in _DENIED else "unavailable"
    return DecisionLogError(code, f"the decision log `{path}` cannot be used: {error.strerror or error}")
