"""Conditions: comparisons of paths, combined with `&`, `|` and `~`. They are data; no comparison is evaluated here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from bobcat.build.chains import chain_text, method
from bobcat.build.places import SourcePosition, here
from bobcat.language.facets import IR_OPERATORS
from bobcat.language.kinds import OperandForm
from bobcat.language.operators import SIGNS

# Any: a scalar, a list, a mapping of plain data, or a path; the compiler checks it against the operator.
Operand: TypeAlias = Any

_LISTED = (OperandForm.SCALARS, OperandForm.PARTS, OperandForm.SOME_PARTS, OperandForm.BOUNDS, OperandForm.SOURCES)
"""Operands whose items are the arguments of the method."""
_TRUTH = (
    "a condition has no truth value while a policy is built: combine conditions with `&`, `|` and `~`, each in "
    "parentheses, not with `and`, `or`, `not` or a chained comparison"
)


class Readable:
    """Base of paths and groups of paths: values of a request that comparisons turn into conditions."""

    __slots__ = ()


class Subject(Readable):
    """Base of a path: its head and its steps."""

    __slots__ = ("chain", "head", "steps")
    chain: tuple[str, ...]
    head: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a call. Conditions with equal content are equal, regardless of their positions."""

    place: SourcePosition = field(compare=False, repr=False)

    def __and__(self, other: Condition) -> Condition:
        return _joined(AllConditions, self, other)

    def __or__(self, other: Condition) -> Condition:
        return _joined(AnyCondition, self, other)

    def __invert__(self) -> Condition:
        return self.item if isinstance(self, NotCondition) else NotCondition(here(), self)

    def __bool__(self) -> NoReturn:
        raise TypeError(_TRUTH)

    def __iter__(self) -> NoReturn:
        raise TypeError("a condition has no items")


@dataclass(frozen=True, slots=True, repr=False)
class PathComparison(Condition):
    """One comparison: a path, the operators from left to right, the operand of the last one."""

    path: Subject
    operators: tuple[str, ...]
    operand: Operand

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PathComparison):
            return NotImplemented
        left, right = ((item.path.head, item.path.steps, item.operators, repr(item.operand)) for item in (self, other))
        return left == right

    def __repr__(self) -> str:
        subject = repr(self.path) + chain_text(self.operators[:-1])
        last = self.operators[-1]
        if last in SIGNS:
            return f"{subject} {SIGNS[last]} {self.operand!r}"
        if isinstance(self.operand, Tests):
            return f"{subject}.{method(last)}({self.operand!r})"
        form = IR_OPERATORS[last].operand
        if form is OperandForm.BOOL and self.operand is True:
            return f"{subject}.{method(last)}()"
        if form in _LISTED and isinstance(self.operand, list):
            return f"{subject}.{method(last)}({', '.join(map(repr, self.operand))})"
        return f"{subject}.{method(last)}({self.operand!r})"


@dataclass(frozen=True, slots=True)
class Tests:
    """Operators that one value must all satisfy, and conditions on an element."""

    __test__ = False

    items: tuple[tuple[str, Operand], ...]
    conditions: tuple[Condition, ...] = ()

    def __repr__(self) -> str:
        return ", ".join(
            [*map(repr, self.conditions), *(f"{method(name)}={operand!r}" for name, operand in self.items)]
        )


@dataclass(frozen=True, slots=True, repr=False)
class AllConditions(Condition):
    """True if every item is true."""

    items: tuple[Condition, ...]

    def __repr__(self) -> str:
        return _connected(" & ", "all_of", self.items)


@dataclass(frozen=True, slots=True, repr=False)
class AnyCondition(Condition):
    """True if one item is true."""

    items: tuple[Condition, ...]

    def __repr__(self) -> str:
        return _connected(" | ", "any_of", self.items)


@dataclass(frozen=True, slots=True, repr=False)
class NotCondition(Condition):
    """True if the item is not true."""

    item: Condition

    def __repr__(self) -> str:
        return f"~{_part(self.item)}"


def all_of(*conditions: Condition | Iterable[Condition]) -> Condition:
    """Return the conjunction of conditions and iterables of them; true if there are no conditions."""
    return AllConditions(here(), tuple(flattened(conditions)))


def any_of(*conditions: Condition | Iterable[Condition]) -> Condition:
    """Return the disjunction of conditions and iterables of them; false if there are no conditions."""
    return AnyCondition(here(), tuple(flattened(conditions)))


def not_(condition: Condition) -> Condition:
    """Return the negation of a condition, like `~`."""
    return ~checked(condition)


def flattened(conditions: Iterable[object]) -> Iterator[Condition]:
    """Yield the conditions in order, including those of iterables; TypeError for any other value."""
    for item in conditions:
        single = isinstance(item, Condition | str | bytes | Readable)
        if single or not isinstance(item, Iterable):
            yield checked(item)
        else:
            for inner in item:
                yield checked(inner)


def checked(value: object) -> Condition:
    """Return `value` if it is a condition; TypeError otherwise."""
    if isinstance(value, Condition):
        return value
    if isinstance(value, Readable):
        raise TypeError(f"`{value!r}` is a path, not a condition: compare it, or write `{value!r}.exists()`")
    if isinstance(value, bool):
        raise TypeError(
            f"`{value}` is not a condition; write an argument with the name of a method in brackets, "
            'as in `args.cmd["length"] == 5`'
        )
    raise TypeError(f"expected a condition, not a value of type `{type(value).__name__}`")


def _joined(kind: type[AllConditions | AnyCondition], left: Condition, right: object) -> Condition:
    items: list[Condition] = []
    for item in (left, checked(right)):
        items.extend(item.items if isinstance(item, kind) and item.items else (item,))
    return kind(here(), tuple(items))


def _connected(sign: str, name: str, items: tuple[Condition, ...]) -> str:
    return sign.join(map(_part, items)) if len(items) > 1 else f"{name}({', '.join(map(repr, items))})"


def _part(item: Condition) -> str:
    grouped = isinstance(item, AllConditions | AnyCondition) and len(item.items) > 1
    comparing = isinstance(item, PathComparison) and item.operators[-1] in SIGNS
    return f"({item!r})" if grouped or comparing else repr(item)
