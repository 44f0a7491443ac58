"""Rules: a condition and its decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from bobcat.build.conditions import Condition, flattened
from bobcat.build.paths import Edit
from bobcat.build.places import Positions, SourcePosition, here

if TYPE_CHECKING:
    from bobcat.frontend.builder.located import PolicyNames
    from bobcat.frontend.builder.rules import BuiltRule


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as written. The compiler checks it. If `id` is None, its index in its `Policy` names it."""

    place: SourcePosition = field(compare=False, repr=False)
    conditions: tuple[Condition, ...]
    decision: str
    # Any: each option as it was given; the compiler checks it as it checks the key of a YAML rule.
    options: tuple[tuple[str, Any], ...]

    def __repr__(self) -> str:
        options = dict(self.options)
        first = [repr(options.pop("reason"))] if "reason" in options and self.decision != "transform" else []
        if self.decision == "transform":
            first = [repr(options.pop("transform"))]
        named = [f"{name}={value!r}" for name, value in options.items()]
        head = f"when({', '.join(map(repr, self.conditions))})" if self.conditions else "always"
        return f"{head}.{self.decision}({', '.join([*first, *named])})"

    @property
    def id(self) -> str | None:
        """Return the rule's own id, if any."""
        found: str | None = dict(self.options).get("id")
        return found

    def __bobcat_rule__(
        self, index: int | None = None, positions: Positions | None = None, names: PolicyNames | None = None
    ) -> BuiltRule:
        """Return the rule in the IR, or the diagnostics that prevented it. `index` is the rule's index in its
        policy, `names` are those of that policy.
        """
        from bobcat.build.surface import built

        positions = positions or Positions()
        return built(self.decision, self.conditions, self.options, self.place, index, positions, names)


Obligations: TypeAlias = Iterable[Mapping[str, Any]]
"""The obligations of a rule, as the items of its YAML list. Any: the parameters of an obligation."""


class When:
    """A conjunction of conditions, with one method per verdict that creates a rule."""

    __slots__ = ("_conditions",)

    def __init__(self, conditions: tuple[Condition, ...]) -> None:
        self._conditions = conditions

    def allow(
        self,
        reason: str = "",
        *,
        id: str | None = None,
        priority: int = 0,
        description: str = "",
        undo: str | None = None,
        obligations: Obligations = (),
        mode: str | None = None,
    ) -> Rule:
        """Run the call as proposed; with `undo="required"`, only by a tool that can be undone."""
        return self._rule(
            "allow",
            reason=reason,
            id=id,
            priority=priority,
            description=description,
            undo=undo,
            obligations=list(obligations),
            mode=mode,
        )

    def deny(
        self,
        reason: str = "",
        *,
        id: str | None = None,
        priority: int = 0,
        description: str = "",
        obligations: Obligations = (),
        mode: str | None = None,
    ) -> Rule:
        """Deny the call; `reason` is shown to the model."""
        return self._rule(
            "deny",
            reason=reason,
            id=id,
            priority=priority,
            description=description,
            obligations=list(obligations),
            mode=mode,
        )

    def dry_run(
        self,
        reason: str = "",
        *,
        id: str | None = None,
        priority: int = 0,
        description: str = "",
        obligations: Obligations = (),
        mode: str | None = None,
    ) -> Rule:
        """Run the tool's shadow instead of the tool."""
        return self._rule(
            "dry_run",
            reason=reason,
            id=id,
            priority=priority,
            description=description,
            obligations=list(obligations),
            mode=mode,
        )

    def approve_required(
        self,
        reason: str = "",
        *,
        approvers: Iterable[str] = (),
        approvals_needed: int | None = None,
        timeout_seconds: float | None = None,
        id: str | None = None,
        priority: int = 0,
        description: str = "",
        undo: str | None = None,
        obligations: Obligations = (),
        mode: str | None = None,
    ) -> Rule:
        """Ask one of `approvers` first (anyone if it is empty), and wait at most `timeout_seconds`."""
        people = [approvers] if isinstance(approvers, str) else list(approvers)
        return self._rule(
            "approve_required",
            reason=reason,
            approvers=people,
            approvals_needed=approvals_needed,
            timeout_seconds=timeout_seconds,
            id=id,
            priority=priority,
            description=description,
            undo=undo,
            obligations=list(obligations),
            mode=mode,
        )

    def transform(
        self,
        edit: Edit,
        reason: str = "",
        *,
        id: str | None = None,
        priority: int = 0,
        description: str = "",
        obligations: Obligations = (),
        mode: str | None = None,
    ) -> Rule:
        """Run the call with other arguments: `args.query.append(" LIMIT 100")`, `args.force.set(False)`."""
        if not isinstance(edit, Edit):
            raise TypeError("`transform` takes an edit: `.set(...)`, `.append(...)` or `.delete()` of an argument")
        return self._rule(
            "transform",
            transform=edit,
            reason=reason,
            id=id,
            priority=priority,
            description=description,
            obligations=list(obligations),
            mode=mode,
        )

    # Any: see `Rule.options`.
    def _rule(self, decision: str, **options: Any) -> Rule:
        given = tuple((name, value) for name, value in options.items() if not _is_default(name, value))
        return Rule(here(), self._conditions, decision, given)

    def __repr__(self) -> str:
        return f"when({', '.join(map(repr, self._conditions))})" if self._conditions else "always"


_DEFAULTS: dict[str, Any] = {"reason": "", "description": "", "priority": 0, "approvers": [], "obligations": []}


def _is_default(name: str, value: Any) -> bool:  # Any: see `Rule.options`
    default = _DEFAULTS.get(name)
    return value is None or (type(value) is type(default) and value == default)


always = When(())
"""Every call: `always.deny("closed on Sundays")`."""


def when(condition: Condition | Iterable[Condition], *more: Condition | Iterable[Condition]) -> When:
    """Return the conjunction of conditions; `when(...).allow()` is a rule."""
    return When(tuple(flattened((condition, *more))))
