"""A grant given ahead of time: what it is good for, and in which order grants are looked for.

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
from bobcat.plain_json import show


class Slot(NamedTuple):
    """What grants are good for: a target, exact arguments, a scope, a tool's definition. None stands for any."""

    target: str | None
    args: str | None
    scope: str | None
    definition: str | None = None

    def key(self) -> str:
        """A name of fixed length, for a store."""
        defined = [] if self.definition is None else [self.definition]
        return sha256(canonical([self.target, self.args, self.scope, *defined])).hexdigest()

    def names(self) -> dict[str, str | None]:
        """The fields, as a store has them."""
        return {name: value for name, value in self._asdict().items() if name != "definition" or value is not None}


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant that was spent, and so is none any more."""

    target: str | None
    """What it was good for; None: for anything."""
    scope: str | None
    """Where it was good; None: everywhere."""
    approver: str


def slot_for(target: str, args: Mapping[str, Any] | None, scope: str | None, definition: str | None = None) -> Slot:
    """Where a grant for `target` belongs. Raises `EncodingError` for arguments that have no canonical form."""
    if args is not None and not isinstance(args, Mapping):
        raise TypeError(f"the arguments of a call are a mapping, got {type(args).__name__}")
    if definition is not None and (not isinstance(definition, str) or not definition):
        raise ValueError(f"a definition is a digest, as in `ToolDef.definition`, got {show(definition)!r}")
    return Slot(checked(target), None if args is None else args_digest(args), _scope(scope), definition)


def slot_for_any(scope: str | None) -> Slot:
    """Where a grant for any target belongs."""
    return Slot(None, None, _scope(scope))


def slots(
    target: str, args: Mapping[str, Any] | None, scope: str | None, *, strict: bool, definition: str = ""
) -> Iterator[Slot]:
    """Where a grant for this action may be found, the most specific place first."""
    digests: list[str | None] = [None]
    if args is not None:
        with suppress(EncodingError):  # no grant names arguments that cannot be named
            digests = [args_digest(args), None]
    scopes = [] if scope is None else [scope]
    places: Sequence[str | None] = scopes if strict else [*scopes, None]
    for digest in digests:
        for place in places:
            if definition:
                yield Slot(target, digest, place, definition)
            yield Slot(target, digest, place)
    for place in places:
        yield Slot(None, None, place)


def check_approver(approver: object) -> str:
    """The name of who gives a grant. Raises `TypeError`."""
    name = exact_text(approver)
    if name is None:
        raise TypeError(f"an approver is named by a string that is not empty, got {show(approver)!r}")
    return name


def check_seconds(seconds: float | None) -> None:
    """Refuse a lifetime that is none. Raises `ValueError`, and `TypeError` for what is no number."""
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float))):
        raise TypeError(f"a grant is good for some seconds or for ever (None), got {seconds!r}")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"a grant is good for some seconds or for ever (None), got {seconds!r}")


def entitled(approver: str, approvers: Sequence[str], granted_by: Sequence[str] = ()) -> bool:
    """Whether somebody may grant under a rule with these approvers (none: anybody), who has not granted already."""
    name = exact_text(approver)
    known, earlier = map(exact_text, approvers), map(exact_text, granted_by)
    return name is not None and (not approvers or name in known) and name not in earlier


def _scope(scope: str | None) -> str | None:
    name = exact_text(scope)
    if scope is not None and name is None:
        raise ValueError(f"a scope is a string that is not empty, got {show(scope)!r}")
    return name


def exact_text(name: object) -> str | None:
    """The characters of a name, whatever a subclass takes for equal; None for what is no string, or empty."""
    return str.__str__(name) or None if isinstance(name, str) else None
