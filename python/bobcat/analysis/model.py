"""The values of the analysis: witnesses, proofs and unknowns, and what they are about. All are frozen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from bobcat.analysis.calls import call_data
from bobcat.diagnostics.model import Span
from bobcat.model.decision import ActionRequest, Decision

Change: TypeAlias = Literal["loosening", "tightening", "arguments"]
"""`arguments`: a transform on both sides, with different new arguments."""
CHANGES: tuple[Change, ...] = ("loosening", "arguments", "tightening")
"""Changes in the order in which a difference lists them."""
ORDER = ("deny", "approve_required", "dry_run", "transform", "allow")
"""Verdicts from the strictest to the loosest."""
PERMITTED = ("allow", "transform")
"""Verdicts with which a call has its effect without an approval."""

JsonData: TypeAlias = dict[str, Any]  # Any: JSON


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason that an answer is unknown. `code` is a word of `docs/reference/analysis.md`."""

    code: str
    message: str
    rule: str | None = None
    path: str | None = None

    def to_json(self) -> JsonData:
        """Return the reason as JSON data."""
        return {"code": self.code, "message": self.message, "rule": self.rule, "path": self.path}


@dataclass(frozen=True, slots=True)
class Witness:
    """A whole call, and the decisions of the policies in question on it. True as a condition."""

    request: ActionRequest
    decisions: tuple[Decision, ...]

    @property
    def decision(self) -> Decision:
        """The decision of the first policy in question."""
        return self.decisions[0]

    def to_json(self) -> JsonData:
        """Return the answer as JSON data; `call` is a request that `bobcat eval` reads."""
        decisions = [
            {"verdict": item.verdict.value, "rules": list(map(str, item.matched_rules))} for item in self.decisions
        ]
        return {"answer": "witness", "call": call_data(self.request), "decisions": decisions}


@dataclass(frozen=True, slots=True)
class Proof:
    """No call does what was asked for. False as a condition, as no call was found."""

    def __bool__(self) -> bool:
        return False

    def to_json(self) -> JsonData:
        """Return the answer as JSON data."""
        return {"answer": "none"}


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither a call nor a proof was found. It has no truth value: an unknown is neither answer."""

    reasons: tuple[Reason, ...]

    def __bool__(self) -> bool:
        raise TypeError("the answer is unknown, which is neither true nor false; compare its type")

    def to_json(self) -> JsonData:
        """Return the answer as JSON data."""
        return {"answer": "unknown", "reasons": reasons_json(self.reasons)}


Answer: TypeAlias = Witness | Proof | Unknown


@dataclass(frozen=True, slots=True)
class RuleRef:
    """A rule of a policy by its id; `span` is its place in a source. `index` is None for a default.

    `verdict` is that of a declarative rule. `other_tools` are its tests of the tool that name none: `matches kb_*`.
    """

    id: str
    index: int | None = None
    span: Span | None = None
    verdict: str | None = field(default=None, compare=False)
    other_tools: tuple[str, ...] = field(default=(), compare=False)

    def denies_by_error(self, verdict: str) -> bool:
        """Return true for a rule with another verdict that gives `deny`: only by its error."""
        return verdict == "deny" and self.verdict not in (None, "deny")

    def to_json(self) -> JsonData:
        """Return the rule as JSON data."""
        return {"rule": self.id, "place": place_json(self.span)}


@dataclass(frozen=True, slots=True)
class Side:
    """The verdict of one policy in a region, and the rule that gives it."""

    verdict: str
    rule: RuleRef

    def to_json(self) -> JsonData:
        """Return the side as JSON data."""
        return {"verdict": self.verdict, **self.rule.to_json()}


@dataclass(frozen=True, slots=True)
class Region:
    """The calls of one tool that two rules decide differently; `tool` is None for tools that no policy names.

    Without a `witness` it is unknown whether there is such a call, and `reasons` say why. `recorded` is the number of
    recorded calls in the region, None without traffic. `terms` are the differences of approvers, approvals, obligations
    and timeout where the verdicts are the same.
    """

    tool: str | None
    old: Side
    new: Side
    change: Change
    witness: Witness | None
    reasons: tuple[Reason, ...] = ()
    recorded: int | None = None
    terms: tuple[str, ...] = ()

    @property
    def loosens(self) -> bool:
        """Return true if calls of the region may be permitted more than before."""
        return self.change != "tightening"

    @property
    def exceeds(self) -> bool:
        """Return true if calls of the region may be permitted more than before, or run with other arguments.

        A transform permits less than `allow`, but the call that it makes is another one.
        """
        return self.loosens or self.new.verdict == "transform" != self.old.verdict

    def to_json(self) -> JsonData:
        """Return the region as JSON data."""
        found: JsonData = {
            "tool": self.tool,
            "change": self.change,
            "old": self.old.to_json(),
            "new": self.new.to_json(),
            "call": None if self.witness is None else call_data(self.witness.request),
        }
        if self.reasons:
            found["reasons"] = reasons_json(self.reasons)
        if self.terms:
            found["terms"] = list(self.terms)
        return found if self.recorded is None else {**found, "recorded": self.recorded}


@dataclass(frozen=True, slots=True)
class Traffic:
    """Recorded calls that both policies decided: all of them, and those that they decide differently."""

    calls: int
    changed: int


@dataclass(frozen=True, slots=True)
class Diff:
    """The difference between two policies, as regions; those that permit more come first, `deny` to `allow` at the top.

    `same` is a proof that both decide every call alike. `reasons` are those of parts that were not compared.
    """

    regions: tuple[Region, ...]
    reasons: tuple[Reason, ...]
    same: bool
    traffic: Traffic | None = None

    @property
    def found(self) -> tuple[Region, ...]:
        """The regions with a witness."""
        return tuple(region for region in self.regions if region.witness is not None)

    @property
    def loosening(self) -> tuple[Region, ...]:
        """The regions with a witness in which calls are permitted more, or get other arguments."""
        return tuple(region for region in self.found if region.loosens)

    @property
    def tightening(self) -> tuple[Region, ...]:
        """The regions with a witness in which calls are permitted less."""
        return tuple(region for region in self.found if not region.loosens)

    @property
    def unknown(self) -> tuple[Region, ...]:
        """The regions without a witness."""
        return tuple(region for region in self.regions if region.witness is None)

    @property
    def exceeding_part(self) -> Diff:
        """The part in which a policy may exceed its envelope: calls are permitted more, or run with other arguments."""
        return replace(self, regions=tuple(region for region in self.regions if region.exceeds))

    @property
    def may_loosen(self) -> bool:
        """Return true unless it is proved that the new policy permits no call more than the old one."""
        return bool(self.reasons) or any(region.loosens for region in self.regions)

    @property
    def may_exceed(self) -> bool:
        """Return true unless it is proved that no call is permitted more than before, or runs with other arguments."""
        return bool(self.reasons) or any(region.exceeds for region in self.regions)

    @property
    def may_differ(self) -> bool:
        """Return true unless it is proved that both policies decide every call alike."""
        return not self.same

    def to_json(self) -> JsonData:
        """Return the difference as JSON data."""
        found: JsonData = {
            "same": self.same,
            "loosening": len(self.loosening),
            "tightening": len(self.tightening),
            "unknown": len(self.unknown),
            "regions": [region.to_json() for region in self.regions],
            "reasons": reasons_json(self.reasons),
        }
        if self.traffic is not None:
            found["traffic"] = {"calls": self.traffic.calls, "changed": self.traffic.changed}
        return found


def place_json(span: Span | None) -> JsonData | None:
    """Return a place in a source as JSON data."""
    if span is None:
        return None
    if not span.line:
        return {"file": span.file, "path": span.path}
    return {"file": span.file, "line": span.line, "column": span.column}


def reasons_json(reasons: Iterable[Reason]) -> list[JsonData]:
    """Return reasons as JSON data."""
    return [reason.to_json() for reason in reasons]
