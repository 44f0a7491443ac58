"""Invariants: statements about every call that a policy decides. `invariants_document` reads them from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from bobcat.bundle.model import Policy
from bobcat.diagnostics.model import Span


@dataclass(frozen=True, slots=True)
class Never:
    """No call that a rule with this match would deny, by its match or by an error in it, gets one of the verdicts."""

    match: Policy
    verdicts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OnlyIf:
    """A call gets one of the verdicts only if `when` is true of it.

    `match` restricts this to the calls that a rule with it would deny; without it, to every call.
    """

    match: Policy | None
    when: Policy
    verdicts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Always:
    """Every call that a rule with this match and these verdicts would take gets one of the verdicts."""

    match: Policy
    verdicts: tuple[str, ...]
    permits: bool


@dataclass(frozen=True, slots=True)
class Within:
    """The policy permits no call more than this one, and no transform gives it other arguments."""

    envelope: Policy
    name: str


Claim: TypeAlias = Never | OnlyIf | Always | Within


@dataclass(frozen=True, slots=True)
class Invariant:
    """One claim with its id and its reason; `span` is its place in a file."""

    id: str
    claim: Claim
    reason: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Invariants:
    """The invariants of one file, with its text for findings."""

    file: str
    items: tuple[Invariant, ...]


def within(envelope: Policy, name: str) -> Invariants:
    """Return the one invariant that a policy permits no call more than `envelope`."""
    return Invariants(name, (Invariant("within", Within(envelope, name), f"nothing beyond {name}"),))
