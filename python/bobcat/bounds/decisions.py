"""Bounds of the decisions of a policy.

INVARIANT: the verdict of every call with the known part is among those returned, up to the limits of the core. A cell
with one verdict is therefore always right; one with several is an upper bound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from msgspec import UNSET, UnsetType

from bobcat.bounds.code_outcomes import ABSTAINS, ALL, RAISES, verdicts_of
from bobcat.bounds.known import HAS_SHADOW, REVERSIBLE, TOOL, Exactly, Fact, Known, is_text
from bobcat.bounds.layers import LayerBound, combined
from bobcat.bounds.outcomes import ABSENT, ERROR, FALSE, TRUE, Outcomes
from bobcat.ir.conjuncts import named_tools
from bobcat.ir.schema import AnyRule, Defaults, FunctionRule, HostRule, IrPolicy, IrRule, Transform
from bobcat.lint.implication import PERMITS

ORDER = ("allow", "transform", "dry_run", "approve_required", "deny")


@dataclass(frozen=True, slots=True)
class Part:
    """A rule, or the default for None, that may decide the calls of a cell, with its verdict.

    `certain`: it decides every call that no part before it has decided.
    """

    rule: int | None
    verdict: str
    certain: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """The verdicts that calls may get, in the order of `ORDER`, and what may give them, in evaluation order.

    `fails`: a rule that cannot be evaluated may deny. `seen` are the verdicts of example calls, if some were tried.
    """

    verdicts: tuple[str, ...]
    parts: tuple[Part, ...]
    fails: bool
    seen: tuple[str, ...] = field(default=(), compare=False)

    @property
    def always(self) -> str | None:
        """The verdict of every call, if there is only one."""
        return self.verdicts[0] if len(self.verdicts) == 1 else None


class Bounds:
    """Bounds of the decisions of one policy, with the rules indexed by the tools that they require."""

    def __init__(self, policy: IrPolicy) -> None:
        self._policy = policy
        self._layers = getattr(policy, "layers", UNSET)
        self._outcomes = Outcomes(policy.profile)
        self._any_tool: list[int] = []
        self._by_tool: dict[str, list[int]] = {}
        self._enforced = [index for index, rule in enumerate(policy.rules) if not is_monitored(rule)]
        for index in self._enforced:
            rule = policy.rules[index]
            tools = named_tools(rule) if isinstance(rule, IrRule) else ()
            if not all(map(is_text, tools)):  # a comparison with another value can be an error
                tools = ()
            for tool in set(tools):
                self._by_tool.setdefault(tool, []).append(index)
            if not tools:
                self._any_tool.append(index)

    def of(self, known: Known) -> Cell:
        """The verdicts of the calls with a known part."""
        tool = known.facts.get(TOOL)
        if tool is None:
            return self._cell(self._enforced, known)
        about = self._by_tool.get(tool.value, []) if isinstance(tool, Exactly) else []
        if not isinstance(tool, Exactly):
            about = [index for name, found in self._by_tool.items() if name not in tool.texts for index in found]
        return self._cell(sorted({*self._any_tool, *about}), known)

    def _cell(self, indexes: Collection[int], known: Known) -> Cell:
        if isinstance(self._layers, UnsetType):
            return self._alone(indexes, known, self._policy.defaults)
        cells, bounds, first = [], [], 0
        for layer in self._layers.items:
            own = [index for index in indexes if first <= index < first + layer.rules]
            cell = self._alone(own, known, layer.defaults)
            first += layer.rules
            fired = {part.verdict for part in cell.parts if part.rule is not None} | ({"deny"} if cell.fails else set())
            defaults = {part.verdict for part in cell.parts if part.rule is None}
            cells.append(cell)
            bounds.append(LayerBound(frozenset(fired), frozenset(defaults), layer.limits))
        verdicts = combined(bounds, self._layers.combine)
        parts = tuple(replace(part, certain=False) for cell in cells for part in cell.parts)
        return Cell(tuple(filter(verdicts.__contains__, ORDER)), parts, any(cell.fails for cell in cells))

    def _alone(self, indexes: Collection[int], known: Known, defaults: Defaults) -> Cell:
        """The cell of a policy without layers, or of one layer."""
        parts: list[Part] = []
        fails = False
        for index in indexes:
            rule = self._policy.rules[index]
            verdicts, raises, ends = self._rule(rule, known, defaults)
            parts += [Part(index, verdict, ends) for verdict in ORDER if verdict in verdicts]
            fails = fails or raises
            if ends:
                break
        else:
            parts += _default(known, defaults)
        found = {part.verdict for part in parts} | ({"deny"} if fails else set())
        return Cell(tuple(verdict for verdict in ORDER if verdict in found), tuple(parts), fails)

    def _rule(self, rule: AnyRule, known: Known, defaults: Defaults) -> tuple[Collection[str], bool, bool]:
        """The verdicts that a rule may give, whether an error of it denies, and whether it decides every call."""
        denies_in_error = self._policy.profile == "strict" and defaults.on_rule_error == "deny"
        match rule:
            case HostRule():
                return ALL, True, False
            case FunctionRule():
                found = verdicts_of(rule, known)
                raises = RAISES in found and denies_in_error
                ends = not {ABSTAINS, "transform"} & found and (RAISES not in found or denies_in_error)
                return found & ALL, raises, ends
            case IrRule():
                permits = rule.verdict in PERMITS
                outcome = self._outcomes.of(rule.match, known, permits=permits)
                raises = bool(outcome & ERROR) and denies_in_error and not permits
                ends = outcome == TRUE or (raises and not outcome & (FALSE | ABSENT))
                if rule.transform is not None:
                    ends = ends and self._policy.profile == "strict" and _always_possible(rule.transform)
                return (rule.verdict,) if outcome & TRUE else (), raises, ends


def _default(known: Known, defaults: Defaults) -> Iterator[Part]:
    """What decides a call for which no rule fires."""
    reversible, has_shadow = (_flag(known.facts.get(path)) for path in (REVERSIBLE, HAS_SHADOW))
    alone = reversible is False and has_shadow is False
    if reversible is True or has_shadow is True:
        yield Part(None, defaults.on_no_match, True)
    elif alone or defaults.on_missing_shadow == defaults.on_no_match:
        yield Part(None, defaults.on_missing_shadow, True)
    else:
        yield Part(None, defaults.on_missing_shadow, False)
        yield Part(None, defaults.on_no_match, False)


def is_monitored(rule: AnyRule) -> bool:
    """Return true for a rule that takes no part in decisions."""
    return isinstance(rule, IrRule) and not isinstance(rule.mode, UnsetType)


def _flag(fact: Fact | None) -> bool | None:
    return fact.value if isinstance(fact, Exactly) and isinstance(fact.value, bool) else None


def _always_possible(transform: Transform) -> bool:
    """Return true for a transform that no arguments can refuse."""
    return transform.op in ("set", "delete") and len(transform.path) == 1
