"""Conditions: comparisons of paths, and what `&`, `|` and `~` make of them. They are data; nothing is compared here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from bobcat.build.places import Place, here

if TYPE_CHECKING:
    from bobcat.build.paths import Path

# Any: a scalar, a list, a mapping of plain data, or a path; the compiler checks it against the operator.
Operand: TypeAlias = Any

_SIGNS = {"eq": "==", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}
_TRUTH = (
    "a condition has no truth value while a policy is built: combine conditions with `&`, `|` and `~`, each in "
    "parentheses, not with `and`, `or`, `not` or a chained comparison"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that a call is or is not. Two that say the same are equal, wherever they were written."""

    place: Place = field(compare=False, repr=False)

    def __and__(self, other: Condition) -> Condition:
        return _joined(All, self, other)

    def __or__(self, other: Condition) -> Condition:
        return _joined(AnyOf, self, other)

    def __invert__(self) -> Condition:
        return self.item if isinstance(self, Not) else Not(here(), self)

    def __bool__(self) -> NoReturn:
        raise TypeError(_TRUTH)

    def __iter__(self) -> NoReturn:
        raise TypeError("a condition has no items")


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Condition):
    """One comparison: a path, the operators from left to right, the operand of the last."""

    path: Path
    operators: tuple[str, ...]
    operand: Operand

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparison):
            return NotImplemented
        mine, theirs = ((item.path.head, item.path.steps, item.operators, repr(item.operand)) for item in (self, other))
        return mine == theirs

    def __repr__(self) -> str:
        subject = repr(self.path) + "".join(f".{_method(name)}()" for name in self.operators[:-1])
        last = self.operators[-1]
        if last in _SIGNS:
            return f"{subject} {_SIGNS[last]} {self.operand!r}"
        if isinstance(self.operand, Tests):
            return f"{subject}.{_method(last)}({self.operand!r})"
        if last == "exists":
            return f"{subject}.exists()" if self.operand is True else f"{subject}.exists({self.operand!r})"
        if last in ("in", "contains_any", "contains_all", "between", "not_between") and isinstance(self.operand, list):
            return f"{subject}.{_method(last)}({', '.join(map(repr, self.operand))})"
        return f"{subject}.{_method(last)}({self.operand!r})"


@dataclass(frozen=True, slots=True)
class Tests:
    """The operators that one value must all pass."""

    __test__ = False

    items: tuple[tuple[str, Operand], ...]

    def __repr__(self) -> str:
        return ", ".join(f"{_method(name)}={operand!r}" for name, operand in self.items)


@dataclass(frozen=True, slots=True, repr=False)
class All(Condition):
    """True when every item is."""

    items: tuple[Condition, ...]

    def __repr__(self) -> str:
        return " & ".join(map(_part, self.items)) if len(self.items) > 1 else f"all_of({_listed(self.items)})"


@dataclass(frozen=True, slots=True, repr=False)
class AnyOf(Condition):
    """True when one item is."""

    items: tuple[Condition, ...]

    def __repr__(self) -> str:
        return " | ".join(map(_part, self.items)) if len(self.items) > 1 else f"any_of({_listed(self.items)})"


@dataclass(frozen=True, slots=True, repr=False)
class Not(Condition):
    """True when the item is not."""

    item: Condition

    def __repr__(self) -> str:
        return f"~{_part(self.item)}"


def all_of(*conditions: Condition | Iterable[Condition]) -> Condition:
    """True when every condition is; of none, true. Takes conditions, and iterables of them."""
    return All(here(), tuple(flattened(conditions)))


def any_of(*conditions: Condition | Iterable[Condition]) -> Condition:
    """True when one condition is; of none, false. Takes conditions, and iterables of them."""
    return AnyOf(here(), tuple(flattened(conditions)))


def not_(condition: Condition) -> Condition:
    """True when the condition is not; what `~` makes."""
    return ~checked(condition)


def flattened(conditions: Iterable[object]) -> Iterator[Condition]:
    """The conditions in the order in which they stand, those of iterables too; TypeError for anything else."""
    for item in conditions:
        single = isinstance(item, Condition | str | bytes) or is_path(item)
        if single or not isinstance(item, Iterable):
            yield checked(item)
        else:
            for inner in item:
                yield checked(inner)


def checked(value: object) -> Condition:
    """`value`, when it is a condition."""
    if isinstance(value, Condition):
        return value
    if is_path(value):
        raise TypeError(f"`{value!r}` is a path, not a condition: compare it, or write `{value!r}.exists()`")
    if isinstance(value, bool):
        raise TypeError(
            f"`{value}` is not a condition; an argument that is called like a method is written in brackets, "
            'as in `args.cmd["length"] == 5`'
        )
    raise TypeError(f"a condition is expected, not a value of type `{type(value).__name__}`")


def is_path(value: object) -> bool:
    """Whether a value is a path, which is no condition yet."""
    from bobcat.build.paths import Group, Path  # paths make conditions

    return isinstance(value, Path | Group)


def _joined(kind: type[All | AnyOf], left: Condition, right: object) -> Condition:
    items: list[Condition] = []
    for item in (left, checked(right)):
        items.extend(item.items if isinstance(item, kind) and item.items else (item,))
    return kind(here(), tuple(items))


def _method(name: str) -> str:
    return f"{name}_" if name == "in" else name


def _listed(items: tuple[Condition, ...]) -> str:
    return ", ".join(map(repr, items))


def _part(item: Condition) -> str:
    grouped = isinstance(item, All | AnyOf) and len(item.items) > 1
    comparing = isinstance(item, Comparison) and item.operators[-1] in _SIGNS
    return f"({item!r})" if grouped or comparing else repr(item)
