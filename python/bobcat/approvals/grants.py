"""Grants given ahead of time: their keys, and the order of lookup.

Both gates, the one in memory and the one in a store, share this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from bobcat.approvals.binding import args_digest, canonical
from bobcat.approvals.targets import checked
from bobcat.ir.canonical import EncodingError
from bobcat.text.json_text import safe_str


class GrantKey(NamedTuple):
    """The conditions of a grant: a target, exact arguments, a scope, a tool's definition. None stands for any."""

    target: str | None
    args: str | None
    scope: str | None
    definition: str | None = None

    def key(self) -> str:
        """A digest of fixed length, for a store."""
        defined = [] if self.definition is None else [self.definition]
        return sha256(canonical([self.target, self.args, self.scope, *defined])).hexdigest()

    def names(self) -> dict[str, str | None]:
        """The fields by name, for a store."""
        return {name: value for name, value in self._asdict().items() if name != "definition" or value is not None}


@dataclass(frozen=True, slots=True)
class Grant:
    """A consumed grant."""

    target: str | None
    """The target that it was valid for; None: any."""
    scope: str | None
    """The scope that it was valid in; None: every scope."""
    approver: str


def grant_key(
    target: str, args: Mapping[str, Any] | None, scope: str | None, definition: str | None = None
) -> GrantKey:
    """The key of a grant for `target`. Raises `EncodingError` for arguments that have no canonical form."""
    if args is not None and not isinstance(args, Mapping):
        raise TypeError(f"the arguments of a call must be a mapping, got {type(args).__name__}")
    if definition is not None and (not isinstance(definition, str) or not definition):
        raise ValueError(f"a definition must be a digest, as in `ToolDef.definition`, got {safe_str(definition)!r}")
    return GrantKey(checked(target), None if args is None else args_digest(args), _scope(scope), definition)


def any_call_grant_key(scope: str | None) -> GrantKey:
    """The key of a grant for any target."""
    return GrantKey(None, None, _scope(scope))


def matching_grant_keys(
    target: str, args: Mapping[str, Any] | None, scope: str | None, *, strict: bool, definition: str = ""
) -> Iterator[GrantKey]:
    """The keys under which a grant for this action may be found, the most specific first."""
    digests: list[str | None] = [None]
    if args is not None:
        with suppress(EncodingError):  # no grant has arguments without a canonical form
            digests = [args_digest(args), None]
    scopes = [] if scope is None else [scope]
    places: Sequence[str | None] = scopes if strict else [*scopes, None]
    for digest in digests:
        for place in places:
            if definition:
                yield GrantKey(target, digest, place, definition)
            yield GrantKey(target, digest, place)
    for place in places:
        yield GrantKey(None, None, place)


def check_approver(approver: object) -> str:
    """The name of an approver. Raises `TypeError`."""
    name = exact_text(approver)
    if name is None:
        raise TypeError(f"an approver must be a non-empty string, got {safe_str(approver)!r}")
    return name


def check_seconds(seconds: float | None) -> None:
    """Reject an invalid lifetime. Raises `ValueError`, and `TypeError` for a value that is not a number."""
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float))):
        raise TypeError(f"a lifetime must be a positive number of seconds, or None, got {seconds!r}")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"a lifetime must be a positive number of seconds, or None, got {seconds!r}")


def may_approve(approver: str, approvers: Sequence[str], granted_by: Sequence[str] = ()) -> bool:
    """Return true if a rule with these approvers (empty: anyone) lets the approver grant who has not yet."""
    name = exact_text(approver)
    known, earlier = map(exact_text, approvers), map(exact_text, granted_by)
    return name is not None and (not approvers or name in known) and name not in earlier


def _scope(scope: str | None) -> str | None:
    name = exact_text(scope)
    if scope is not None and name is None:
        raise ValueError(f"a scope must be a non-empty string, got {safe_str(scope)!r}")
    return name


def exact_text(name: object) -> str | None:
    """The characters of a name, ignoring a subclass's comparison. None for an empty string or another type."""
    return str.__str__(name) or None if isinstance(name, str) else None
