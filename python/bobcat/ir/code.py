"""The nodes of a lowered Python function: its statements and expressions, with Python semantics.

`frontend.python` lowers a rule's source to these nodes, the Rust core runs them. Every node has the semantics that
CPython has for the same source, including exceptions: truthiness, short circuit, `bool` as an `int`, integers of any
size, strings of code points. An exception becomes the error of the rule, with the exception's name.

Names are resolved: locals are numbered slots, constants of the module and the closure are frozen, calls of other
functions are `Inline`. Every loop is bounded: `For` and `Loop` iterate over existing values.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, Union

import msgspec

from bobcat.ir.obligation import Obligation


class CodePart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Base of all parts of nodes: frozen, compared by value, unknown fields rejected on decoding."""


class CodeNode(CodePart, frozen=True, tag_field="k"):
    """Base of the nodes of code, distinguished by their tags."""


RootName = Literal["request", "context"]
CompareOperator = Literal["eq", "ne", "lt", "le", "gt", "ge", "in", "not_in", "is", "is_not"]
UnaryOperator = Literal["neg", "pos", "invert"]
BinaryOperator = Literal["add", "sub", "mul", "div", "floordiv", "mod", "pow", "and", "or", "xor"]
RegexMethod = Literal["search", "match", "fullmatch"]
CollectKind = Literal["list", "set", "dict", "any", "all", "sum", "min", "max", "first"]
DecisionVerdict = Literal["allow", "deny", "dry_run", "approve_required", "transform"]


# --- expressions ---


class Constant(CodeNode, frozen=True, tag="const"):
    """A constant in the form of `schema.Const`: tuples, sets and bytes as their tags, every dict as `pairs` in order,
    and an aware datetime as `datetime`.
    """

    value: Any  # Any: schema.Const


class Local(CodeNode, frozen=True, tag="local"):
    """A local. Reading an unassigned local raises `UnboundLocalError`."""

    slot: int


class Root(CodeNode, frozen=True, tag="root"):
    """The first or second parameter of the rule."""

    name: RootName


class Attribute(CodeNode, frozen=True, tag="attr"):
    """`of.name`, on the request, the context and their parts; `AttributeError` on any other value."""

    of: Code
    name: str


class Item(CodeNode, frozen=True, tag="item"):
    """`of[key]`."""

    of: Code
    key: Code


class Slice(CodeNode, frozen=True, tag="slice"):
    """`of[start:stop:step]`; an omitted bound is None."""

    of: Code
    start: Code | None
    stop: Code | None
    step: Code | None


class CallFunction(CodeNode, frozen=True, tag="call"):
    """A call of a builtin function, by name; see `BUILTINS`."""

    function: str
    args: tuple[Code, ...]


class IsInstance(CodeNode, frozen=True, tag="isinstance"):
    """`isinstance(of, types)`, by name; see `TYPES`."""

    of: Code
    types: tuple[str, ...]


class Method(CodeNode, frozen=True, tag="method"):
    """`of.name(*args)`; see `METHODS`. `AttributeError` if the type of `of` has no such method."""

    of: Code
    name: str
    args: tuple[Code, ...]


class Regex(CodeNode, frozen=True, tag="regex", rename={"method": "how"}):
    """`re.search(pattern, text, flags)` or a similar call, in the `python` dialect; returns a match or None."""

    method: RegexMethod
    pattern: str
    flags: int
    text: Code


class Compare(CodeNode, frozen=True, tag="compare"):
    """A chain of comparisons. Operands are evaluated once, left to right, until a comparison is false."""

    first: Code
    operators: tuple[CompareOperator, ...]
    others: tuple[Code, ...]


class And(CodeNode, frozen=True, tag="and"):
    """The first operand that is false, or the last one."""

    items: tuple[Code, ...]


class Or(CodeNode, frozen=True, tag="or"):
    """The first operand that is true, or the last one."""

    items: tuple[Code, ...]


class NotTrue(CodeNode, frozen=True, tag="not"):
    """`not x`."""

    item: Code


class Unary(CodeNode, frozen=True, tag="unary"):
    """`-x`, `+x`, `~x`."""

    operator: UnaryOperator
    item: Code


class Binary(CodeNode, frozen=True, tag="binary"):
    """Arithmetic on numbers; `+` and `*` on sequences, `-`, `&`, `|`, `^` on sets and integers, `|` on dicts.

    `%` is allowed only if one operand is known to be a number.
    """

    operator: BinaryOperator
    left: Code
    right: Code


class IfElse(CodeNode, frozen=True, tag="ifelse"):
    """`then if test else otherwise`."""

    test: Code
    then: Code
    otherwise: Code


class Display(CodeNode, frozen=True, tag="display"):
    """`[..]`, `(..)`, `{..}` of elements."""

    kind: Literal["list", "tuple", "set"]
    items: tuple[Code, ...]


class Mapping(CodeNode, frozen=True, tag="mapping"):
    """`{key: value, ..}`; a key of None is `**value`."""

    entries: tuple[tuple[Code | None, Code], ...]


class Loop(CodePart, frozen=True):
    """`for target in over if conditions`, in a comprehension."""

    target: Target
    over: Code
    conditions: tuple[Code, ...]


class Collect(CodeNode, frozen=True, tag="collect"):
    """A comprehension, or a generator passed to a builtin: `any` and `all` stop as in Python.

    `key` is set only for `dict`. `sum` starts from 0. `default` is the result of `min`, `max`
    and `first` for empty input, and only theirs; without one, `min` and `max` raise `ValueError`. `first` is
    `next(generator, default)`, always has a default, and stops at the first value.
    """

    kind: CollectKind
    key: Code | None
    value: Code
    loops: tuple[Loop, ...]
    default: Constant | None = None


class Shown(CodePart, frozen=True):
    """A replacement field of an f-string: `conversion` is `r`, `s`, `a` or empty, `spec` is the text after the
    colon.
    """

    value: Code
    conversion: Literal["", "r", "s", "a"]
    spec: str


class Text(CodeNode, frozen=True, tag="text"):
    """An f-string: literal text and replacement fields."""

    parts: tuple[str | Shown, ...]


class Bind(CodeNode, frozen=True, tag="bind"):
    """`(slot := value)`."""

    slot: int
    value: Code


class Inline(CodeNode, frozen=True, tag="inline"):
    """An inlined call: its parameters are slots of the caller; its value is the value that the body returns.

    Its locals are exclusive slots and are not cleared before a call: the front end guarantees
    that each is assigned before it is read.
    """

    parameters: tuple[tuple[int, Code], ...]
    body: tuple[Statement, ...]


class MakeDecision(CodeNode, frozen=True, tag="decide"):
    """A call of a decision constructor. `args` are its arguments by name, in source order, always including the timeout
    of `approve_required`. `obligations` are constants, and absent without any.
    """

    verdict: DecisionVerdict
    args: tuple[tuple[str, Code], ...]
    obligations: tuple[Obligation, ...] | msgspec.UnsetType = msgspec.UNSET


class ReadRun(CodeNode, frozen=True, tag="run"):
    """The value of a measure or a formula in the memory of the policy, by its name: a number or a bool.

    What the state of the run cannot answer is an error of the rule that no handler catches.
    """

    name: str


class ArgumentOrigin(CodeNode, frozen=True, tag="origin"):
    """True if the argument at `path` came from one of `sources`, as the operator `from` finds it. A missing argument
    came from none. `lower` compares in lower case.
    """

    path: tuple[str, ...]
    sources: tuple[str, ...]
    lower: bool = False


class ValueOrigin(CodeNode, frozen=True, tag="origin_of"):
    """The same of a value. None came from no source."""

    of: Code
    sources: tuple[str, ...]
    lower: bool = False


Code: TypeAlias = Union[  # noqa: UP007 - named before its members by their annotations
    Constant, Local, Root, Attribute, Item, Slice, CallFunction, IsInstance, Method, Regex, Compare,
    And, Or, NotTrue, Unary,
    Binary, IfElse, Display, Mapping, Collect, Text, Bind, Inline, MakeDecision, ReadRun,
    ArgumentOrigin, ValueOrigin,
]  # fmt: skip


# --- targets and statements ---


class SlotTarget(CodeNode, frozen=True, tag="slot"):
    """One local."""

    slot: int


class Unpack(CodeNode, frozen=True, tag="unpack"):
    """Unpacking into as many targets as the value has items, else `ValueError`."""

    targets: tuple[Target, ...]


Target: TypeAlias = Union[SlotTarget, Unpack]  # noqa: UP007 - as above


class Assign(CodeNode, frozen=True, tag="assign"):
    """`target = value`."""

    target: Target
    value: Code


class AppendItem(CodeNode, frozen=True, tag="append"):
    """`slot.append(value)` on a list, or `slot.add(value)` on a set, to which the function holds the only reference."""

    slot: int
    value: Code


class Store(CodeNode, frozen=True, tag="store"):
    """`slot[key] = value` on a dict or list to which the function holds the only reference; the value is evaluated
    first.
    """

    slot: int
    key: Code
    value: Code


class If(CodeNode, frozen=True, tag="if"):
    """`if test: then` `else: otherwise`."""

    test: Code
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


class For(CodeNode, frozen=True, tag="for"):
    """`for target in over: body` `else: otherwise`."""

    target: Target
    over: Code
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


class Break(CodeNode, frozen=True, tag="break"):
    """`break`."""


class Continue(CodeNode, frozen=True, tag="continue"):
    """`continue`."""


class Return(CodeNode, frozen=True, tag="return"):
    """`return value`."""

    value: Code


class Evaluate(CodeNode, frozen=True, tag="evaluate"):
    """An expression statement."""

    value: Code


class Raise(CodeNode, frozen=True, tag="raise"):
    """`raise name(..)`: a builtin exception."""

    name: str


class Handler(CodePart, frozen=True):
    """`except names: body`; the names of builtin exceptions."""

    names: tuple[str, ...]
    body: tuple[Statement, ...]


class Try(CodeNode, frozen=True, tag="try"):
    """`try: body`, handlers, `else: otherwise`."""

    body: tuple[Statement, ...]
    handlers: tuple[Handler, ...]
    otherwise: tuple[Statement, ...]


Statement: TypeAlias = Union[  # noqa: UP007 - as above
    Assign, AppendItem, Store, If, For, Break, Continue, Return, Evaluate, Raise, Try
]  # fmt: skip


# --- names that code may use ---

BUILTINS = frozenset({
    "abs", "all", "any", "bool", "dict", "enumerate", "facet_part", "float", "frozenset", "int", "len", "list",
    "max", "min", "occurs_in", "range", "repr", "reversed", "round", "set", "sorted", "sorted_by", "str", "sum",
    "tuple", "zip",
})  # fmt: skip
"""Builtin functions with positional arguments, as in Python. `range` and its kin give what a `for` goes over.
`facet_part(facet, part, text)` is a part of a text that a facet parses, or None; the part `""` of `links` is the list
of links, of `json` the document. `occurs_in(lower, value, *texts)` is true if one of the texts has the whole value.
`sorted_by(items, keys)` is a list of items in the order of their keys, a list as long."""

TYPES = frozenset(
    {"bool", "bytes", "dict", "float", "int", "list", "Mapping", "NoneType", "Sequence", "set", "str", "tuple"}
)
"""Types for `isinstance`; `Mapping` and `Sequence` are those of `collections.abc`. A mapping among the arguments of a
request is a `dict` to a rule, and a list a `list`, as to a host rule."""

METHODS = frozenset({
    # str
    "startswith", "endswith", "lower", "upper", "casefold", "title", "capitalize", "swapcase", "strip", "lstrip",
    "rstrip", "split", "rsplit", "splitlines", "partition", "rpartition", "removeprefix", "removesuffix", "replace",
    "find", "rfind", "index", "rindex", "count", "join", "isdigit", "isalpha", "isalnum", "isspace", "isupper",
    "islower", "isnumeric", "isdecimal", "isascii", "isidentifier", "isprintable", "istitle", "zfill",
    # dict
    "get", "keys", "values", "items",
    # set
    "isdisjoint", "issubset", "issuperset", "union", "intersection", "difference",
    # re.Match
    "group", "groups", "groupdict", "start", "end", "span",
    # datetime
    "weekday", "isoweekday", "timestamp", "isoformat",
})  # fmt: skip
"""Methods, on every type of value that has one of that name in Python."""
