"""Paths of a request, and the comparisons that turn them into conditions.

A comparison of a path, including `==` and `!=`, is a condition. A path as the operand refers to the value at that path.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from keyword import iskeyword
from typing import Any, NoReturn

from bobcat.build.chains import chain_text, derived_kind, part_text
from bobcat.build.conditions import (
    AllConditions,
    AnyCondition,
    Condition,
    NotCondition,
    Operand,
    PathComparison,
    Readable,
    Subject,
    Tests,
    flattened,
)
from bobcat.build.places import SourcePosition, here
from bobcat.language.facets import FACETS, IR_OPERATORS, PARTS, RANGE
from bobcat.language.kinds import OperandKind
from bobcat.language.operators import OperatorMethods

_PARENTHESES = "a path is not a condition: put each comparison in parentheses, as in `(args.x == 1) & (args.y == 2)`"
ELEMENT = "element"
"""The head of paths below an element of a list."""
_WHOLE = (("args", ()), ("context", ("extra",)))


class Path(OperatorMethods[Condition, "Path"], Subject):
    """The value at one path of a request, or its `length`, `lower`, `any`, `all` or `none`."""

    __slots__ = ()

    def __init__(self, head: str, steps: tuple[str, ...] = (), chain: tuple[str, ...] = ()) -> None:
        self.head = head
        self.steps = steps
        self.chain = chain

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Path:
        if not isinstance(name, str):
            raise TypeError(f"a step of a path is a string, not `{name!r}`; a list cannot be indexed")
        if self.chain:
            return self._part(name)
        return Path(self.head, (*self.steps, name))

    def __call__(self) -> Path:
        """Return the value that a facet parses from the text: `args.link.url().host`."""
        if self.chain or len(self.steps) < 2 or self.steps[-1] not in FACETS:
            raise TypeError(f"`{self!r}` is a path; a facet is called after it: `args.link.url().host`")
        return Path(self.head, self.steps[:-1], (self.steps[-1],))

    def _part(self, name: str) -> Path:
        kind = derived_kind(self.chain)
        if kind is OperandKind.DOCUMENT or (kind is not None and name in PARTS.get(kind, {})):
            return Path(self.head, self.steps, (*self.chain, part_text(name)))
        if name in FACETS or (name == RANGE and kind in IR_OPERATORS[RANGE].kinds):
            return _Called(self, name)
        raise TypeError(f"the result of `{self.chain[-1]}` has no fields")

    def __eq__(self, other: Operand) -> Condition:  # type: ignore[override]  # a condition, not a bool
        return self._compare("eq", other)

    def __ne__(self, other: Operand) -> Condition:  # type: ignore[override]
        return NotCondition(here(), self._compare("eq", other))

    def __gt__(self, other: Operand) -> Condition:
        return self._compare("gt", other)

    def __ge__(self, other: Operand) -> Condition:
        return self._compare("ge", other)

    def __lt__(self, other: Operand) -> Condition:
        return self._compare("lt", other)

    def __le__(self, other: Operand) -> Condition:
        return self._compare("le", other)

    __hash__ = None  # type: ignore[assignment]  # `==` creates conditions

    def set(self, value: Operand) -> Edit:
        """Edit for a transform: set the value at this path."""
        return Edit(here(), self, "set", value)

    def append(self, value: Operand) -> Edit:
        """Edit for a transform: extend the string or list at this path."""
        return Edit(here(), self, "append", value)

    def delete(self) -> Edit:
        """Edit for a transform: delete the value at this path."""
        return Edit(here(), self, "delete", True)

    def __repr__(self) -> str:
        whole = (self.head, self.steps) in _WHOLE
        found = f"path({'.'.join((self.head, *self.steps))!r})" if whole else _written(self.head, self.steps)
        return found + chain_text(self.chain)

    def __bool__(self) -> NoReturn:
        raise TypeError(f"a path has no truth value while a policy is built: compare it, or write `{self!r}.exists()`")

    def __contains__(self, item: object) -> NoReturn:
        raise TypeError(f"`in` cannot build a condition: write `{self!r}.contains({item!r})`")

    def __iter__(self) -> NoReturn:
        raise TypeError(f"a path has no items while a policy is built: write `{self!r}.any()` or `.all()`")

    def __len__(self) -> NoReturn:
        raise TypeError(f"`len` cannot build a condition: write `{self!r}.length()`")

    def __and__(self, other: object) -> NoReturn:
        raise TypeError(_PARENTHESES)

    __rand__ = __or__ = __ror__ = __and__

    def __invert__(self) -> NoReturn:
        raise TypeError(_PARENTHESES)

    def _compare(self, operator: str, operand: Operand) -> Condition:
        return PathComparison(here(), Path(self.head, self.steps), (*self.chain, operator), _plain(operand))

    def _derive(
        self, operator: str, tests: dict[str, Operand], conditions: tuple[Condition, ...] = ()
    ) -> Path | Condition:
        if (self.head, self.steps) in _WHOLE:
            raise TypeError(
                f"`{operator}` does not apply to a mapping; for an argument of that name, write `{self!r}[...]`"
            )
        if not tests and not conditions:
            return Path(self.head, self.steps, (*self.chain, operator))
        items = tuple((name.rstrip("_"), _plain(operand)) for name, operand in tests.items())
        found = tuple(_about_element(item) for item in flattened(conditions))
        return PathComparison(here(), Path(self.head, self.steps), (*self.chain, operator), Tests(items, found))


class _Called(Path):
    """A facet or a range after a derived value, before it is called."""

    __slots__ = ("_name",)

    def __init__(self, base: Path, name: str) -> None:
        super().__init__(base.head, base.steps, base.chain)
        self._name = name

    def __call__(self, *ranges: Operand) -> Any:  # Any: a path, or a condition
        if self._name == RANGE:
            return self._listed(RANGE, ranges)
        if ranges:
            raise TypeError(f"`{self._name}` takes no values; compare a part of it")
        return Path(self.head, self.steps, (*self.chain, self._name))


class Group(Readable):
    """A group of paths: each attribute and item is a path, regardless of its name."""

    __slots__ = ("_head", "_steps")

    def __init__(self, head: str, steps: tuple[str, ...] = ()) -> None:
        self._head = head
        self._steps = steps

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Path:
        return Path(self._head, self._steps)[name]

    def __repr__(self) -> str:
        return _written(self._head, self._steps)

    def __bool__(self) -> NoReturn:
        raise TypeError(f"`{self!r}` is a group of paths: name one of them")

    def __eq__(self, other: object) -> bool:
        raise TypeError(f"`{self!r}` is a group of paths: name one of them, or write `path({str(self)!r})`")

    __hash__ = None  # type: ignore[assignment]  # see `__eq__`


class _Declared(Group):
    """Metadata that a tool declares."""

    __slots__ = ()

    cost: Path
    reversible: Path
    scope: Path
    blast_radius_hint: Path
    has_shadow: Path
    isolation: Path
    effect: Path


class _Context(Group):
    """Context of a call: environment, time and principal."""

    __slots__ = ()

    environment: Path
    workspace: Path
    correlation_id: Path
    step_seq: Path
    timestamp: Path
    task: Path

    @property
    def principal(self) -> Group:
        """Return the principal: `kind`, `id` and `name` of the agent's user."""
        return Group("context", ("principal",))

    @property
    def extra(self) -> Group:
        """Return the values that the program provides."""
        return Group("context", ("extra",))


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """An edit of the arguments, for `.transform(...)`."""

    place: SourcePosition
    path: Path
    operation: str
    value: Operand

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other) if isinstance(other, Edit) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # a value may be a list

    def __repr__(self) -> str:
        value = "" if self.operation == "delete" else repr(self.value)
        return f"{self.path!r}.{self.operation}({value})"


class _Element(Path):
    """An element of a list, in the conditions of `any`, `all`, `none` and `first`."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(ELEMENT)

    def __getitem__(self, name: str) -> Path:
        return _ElementPart(ELEMENT, ())[name]


class _ElementPart(Path):
    """A path below an element."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Path:
        found = super().__getitem__(name)
        return found if found.chain else _ElementPart(found.head, found.steps)

    def __call__(self) -> Path:
        """Return the value that a facet parses: `element.email().domain`, `element.link.url().host`."""
        if self.chain or not self.steps or self.steps[-1] not in FACETS:
            return super().__call__()
        return Path(self.head, self.steps[:-1], (self.steps[-1],))


def _about_element(condition: Condition) -> Condition:
    """Return a condition all of whose comparisons are about an element; TypeError for another one."""
    match condition:
        case NotCondition(_, item):
            _about_element(item)
        case AllConditions(_, items) | AnyCondition(_, items):
            for item in items:
                _about_element(item)
        case PathComparison(_, path) if path.head == ELEMENT:
            pass
        case _:
            raise TypeError(f"`{condition!r}` is not about `element`: write `args.files.all(element.size < 5)`")
    return condition


element = _Element()
"""An element of a list: `args.files.all(element.size < 5)`, `args.to.all((element == "a") | element.from_("task"))`."""
tool = Path("tool")
"""The name of the tool."""
args = Group("args")
"""The arguments: `args.cmd`, `args["a.b"]`, `args.user.name`."""
declared = _Declared("declared")
"""Metadata that the tool declares: `declared.scope`, `declared.reversible`, ..."""
context = _Context("context")
"""Context of the call: `context.environment`, `context.principal.id`, `context.extra.team`, ..."""


def path(text: str) -> Path:
    """Return the path of a YAML key without an operator: `path("args.a.b")`, `path("args")`. ValueError for other
    text.
    """
    from bobcat.frontend.strict.keys import KeyProblem, parse_key

    key = parse_key(text)
    if isinstance(key, KeyProblem):
        raise ValueError(f"`{text}` is not a path" + (f"; {key.help}" if key.help else ""))
    if not key.bare:
        raise ValueError(f"`{text}` ends with an operator; write it as a method")
    return Path(key.head, key.path)


def _plain(operand: Operand) -> Operand:
    """Return an operand in the form of the compiler: sets as sorted lists, datetimes as text."""
    match operand:
        case set() | frozenset():
            return sorted(operand, key=repr)
        case tuple():
            return list(operand)
        case datetime():
            return operand.isoformat()
        case Condition():
            raise TypeError(f"`{operand!r}` is a condition, not a value to compare with")
        case Group():
            raise TypeError(f"`{operand!r}` is a group of paths, not a value to compare with")
        case _:
            return operand


def _written(head: str, steps: Iterable[str]) -> str:
    methods = frozenset(dir(Path))
    found = head
    for index, step in enumerate(steps):
        plain = step.isidentifier() and step.isascii() and not iskeyword(step) and (index == 0 or step not in methods)
        found += f".{step}" if plain else f"[{step!r}]"
    return found
