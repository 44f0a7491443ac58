"""Who may do what: the verdicts that each tool can get in each environment and for each caller.

INVARIANT: the verdict of every call that belongs to a cell is among those of the cell, up to the limits of the core. A
cell with one verdict is therefore always right; a cell with several is an upper bound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from bobcat.ir.schema import AnyRule, FunctionRule, HostRule, IrPolicy, IrRule, Transform
from bobcat.lint.implication import PERMITS
from bobcat.lint.subject import named_tools
from bobcat.report.code_outcomes import ABSTAINS, ALL, RAISES, verdicts_of
from bobcat.report.columns import Columns, columns_of, is_text, tools_of
from bobcat.report.known import HAS_SHADOW, REVERSIBLE, TOOL, Exactly, Fact, Known, Other, Path
from bobcat.report.outcomes import ERROR, TRUE, Outcomes

MAX_ROWS = 2_000
"""Tools of one table."""
ORDER = ("allow", "transform", "dry_run", "approve_required", "deny")

Declared = Mapping[Path, Fact]


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

    `fails`: a rule that cannot be evaluated may deny.
    """

    verdicts: tuple[str, ...]
    parts: tuple[Part, ...]
    fails: bool

    @property
    def always(self) -> str | None:
        """The verdict of every call, if there is only one."""
        return self.verdicts[0] if len(self.verdicts) == 1 else None


@dataclass(frozen=True, slots=True)
class Row:
    """A tool, or every other tool for None, with a cell for each column; `sources` are those that name the tool."""

    tool: str | None
    sources: tuple[Literal["rules", "tools", "logs"], ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class AccessTable:
    """The whole table. `left_out` is the number of tools beyond `MAX_ROWS`."""

    columns: Columns
    rows: tuple[Row, ...]
    left_out: int


def access_table(
    policy: IrPolicy, declarations: Mapping[str, Declared] | None = None, logged: Collection[str] = ()
) -> AccessTable:
    """Return the table of a policy: a row for each tool that rules, declarations or logs name, and one for all others.

    `declarations` are the known declarations of tools by name.
    """
    declarations = declarations or {}
    columns = columns_of(policy)
    named = tools_of(policy)
    every = sorted(named | {tool for tool in (*declarations, *logged) if is_text(tool)})
    finder = _Finder(policy)
    rows = []
    for tool in every[:MAX_ROWS]:
        sources: list[Literal["rules", "tools", "logs"]] = ["rules"] if tool in named else []
        sources += ["tools"] if tool in declarations else []
        sources += ["logs"] if tool in logged else []
        known = Known({**declarations.get(tool, {}), TOOL: Exactly(tool)})
        rows.append(Row(tool, tuple(sources), finder.cells(tool, known, columns)))
    rows.append(Row(None, (), finder.cells(None, Known({TOOL: Other(frozenset(every))}), columns)))
    return AccessTable(columns, tuple(rows), max(0, len(every) - MAX_ROWS))


class _Finder:
    """Bounds of decisions, with the rules indexed by the tools that they require."""

    def __init__(self, policy: IrPolicy) -> None:
        self._policy = policy
        self._outcomes = Outcomes(policy.profile)
        self._any_tool: list[int] = []
        self._by_tool: dict[str, list[int]] = {}
        for index, rule in enumerate(policy.rules):
            tools = named_tools(rule) if isinstance(rule, IrRule) else ()
            if not all(map(is_text, tools)):  # a comparison with another value can be an error
                tools = ()
            for tool in set(tools):
                self._by_tool.setdefault(tool, []).append(index)
            if not tools:
                self._any_tool.append(index)

    def cells(self, tool: str | None, known: Known, columns: Columns) -> tuple[Cell, ...]:
        about = self._by_tool.get(tool, []) if tool is not None else []
        indexes = sorted({*self._any_tool, *about})
        return tuple(self._cell(indexes, known | column.known) for column in columns.columns)

    def _cell(self, indexes: list[int], known: Known) -> Cell:
        parts: list[Part] = []
        fails = False
        for index in indexes:
            rule = self._policy.rules[index]
            verdicts, raises, ends = self._rule(rule, known)
            parts += [Part(index, verdict, ends) for verdict in ORDER if verdict in verdicts]
            fails = fails or raises
            if ends:
                break
        else:
            parts += self._default(known)
        found = {part.verdict for part in parts} | ({"deny"} if fails else set())
        return Cell(tuple(verdict for verdict in ORDER if verdict in found), tuple(parts), fails)

    def _rule(self, rule: AnyRule, known: Known) -> tuple[Collection[str], bool, bool]:
        """The verdicts that a rule may give, whether an error of it denies, and whether it decides every call."""
        denies_in_error = self._policy.profile == "strict" and self._policy.defaults.on_rule_error == "deny"
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
                ends = outcome == TRUE or (raises and outcome == TRUE | ERROR)
                if rule.transform is not None:
                    ends = ends and self._policy.profile == "strict" and _always_possible(rule.transform)
                return (rule.verdict,) if outcome & TRUE else (), raises, ends

    def _default(self, known: Known) -> Iterator[Part]:
        defaults = self._policy.defaults
        reversible, has_shadow = (_flag(known.facts.get(path)) for path in (REVERSIBLE, HAS_SHADOW))
        alone = reversible is False and has_shadow is False
        if reversible is True or has_shadow is True:
            yield Part(None, defaults.on_no_match, True)
        elif alone or defaults.on_missing_shadow == defaults.on_no_match:
            yield Part(None, defaults.on_missing_shadow, True)
        else:
            yield Part(None, defaults.on_missing_shadow, False)
            yield Part(None, defaults.on_no_match, False)


def _flag(fact: Fact | None) -> bool | None:
    return fact.value if isinstance(fact, Exactly) and isinstance(fact.value, bool) else None


def _always_possible(transform: Transform) -> bool:
    """Return true for a transform that no arguments can refuse."""
    return transform.op in ("set", "delete") and len(transform.path) == 1
