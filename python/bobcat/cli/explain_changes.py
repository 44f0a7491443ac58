"""The end of `bobcat explain`: the rule nearest to allowing a call, and the smallest change that flips its verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bobcat.language.operators import SIGNS
from bobcat.text.display import safe_json, safe_text

if TYPE_CHECKING:
    from bobcat.analysis import ChangedPath, Flip, Lack, Nearest, Proof, Unknown
    from bobcat.bundle import Policy
    from bobcat.diagnostics.model import Span
    from bobcat.model.decision import ActionRequest


@dataclass(frozen=True, slots=True)
class Changes:
    """What a call would need for another verdict."""

    nearest: Nearest | None
    flip: Flip | Proof | Unknown | None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the keys that they add to an explanation."""
        found = {} if self.nearest is None else {"nearest": self.nearest.to_json()}
        return found if self.flip is None else {**found, "flip": self.flip.to_json()}

    def lines(self) -> Iterator[str]:
        """Yield them as safe lines."""
        if self.nearest is not None:
            yield from _nearest(self.nearest)
        if self.flip is not None:
            yield from _flip(self.flip)


def changes_of(policy: Policy, request: ActionRequest, *, flips: bool, budget: float | None) -> Changes:
    """Return what a call would need for another verdict; `flips`: also the smallest change, within a budget."""
    from bobcat.analysis import flip, nearest

    return Changes(nearest(policy, request), flip(policy, request, budget=budget) if flips else None)


def _nearest(found: Nearest) -> Iterator[str]:
    from bobcat.analysis.summary import rule_text

    yield f"nearest to allowing it: {rule_text(found.rule)} ({found.verdict}){_place(found.rule.span)}"
    for rule in found.stops:
        yield f"  {rule_text(rule)} restricts the call before it{_place(rule.span)}"
    for lack in found.lacks:
        yield f"  lacks {_clause(lack)}{_place(lack.clause.span)}"


def _clause(lack: Lack) -> str:
    clause = lack.clause
    sign = SIGNS.get(clause.operator, clause.operator)
    read = "not there" if clause.value is None else f"read {safe_text(clause.value)}"
    error = "" if clause.error is None else f", error {safe_text(clause.error)}"
    return f"{'not ' * lack.negated}{safe_text(clause.path)} {sign} {safe_text(clause.operand)}   {read}{error}"


def _flip(found: Flip | Proof | Unknown) -> Iterator[str]:
    from bobcat.analysis import Flip, Proof
    from bobcat.analysis.calls import call_text
    from bobcat.analysis.summary import reason_text

    match found:
        case Flip():
            size = "smallest change" if found.smallest else "a change"
            yield f"{size} to {found.witness.decision.verdict}: {', '.join(map(_change, found.changes))}"
            yield f"  call  {call_text(found.witness.request)}"
        case Proof():
            yield "no change of the call changes its verdict: proved for every call of this tool"
        case _:
            yield "unknown change"
            yield from (f"  {reason_text(reason)}" for reason in found.reasons)


def _change(change: ChangedPath) -> str:
    from bobcat.analysis.paths import ABSENT

    old, new = ("absent" if value is ABSENT else safe_json(value) for value in (change.old, change.new))
    return f"{safe_text(change.path)} {old} -> {new}"


def _place(span: Span | None) -> str:
    from bobcat.diagnostics.render import place

    return "" if span is None else f"   {safe_text(place(span))}"
