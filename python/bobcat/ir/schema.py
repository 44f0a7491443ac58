"""The nodes of the IR: the only definition of the content of a policy.

The front end creates them through `construct` (smart constructors give the normal form), `canonical` encodes them to
bytes and digests, the Rust core decodes those bytes. No node holds a file, a line or a comment.

Constants (`Const`) are JSON values, with one-key mappings as tags for other types:

    null, true, 5, 1.5, "s", [..]           themselves (an integer has any size; a float always has `.` or `e`)
    {"map": {"k": Const}}                   a mapping with string keys
    {"float": "nan" | "inf" | "-inf"}       `lynx` profile only
    {"timestamp": 1700000000000000}         microseconds since 1970-01-01T00:00:00Z; operands of `context.timestamp`
    {"date": "2026-01-31"}, {"datetime": "2026-01-31T12:00:00+02:00"}, {"bytes": "<base64>"},
    {"set": [..]}, {"tuple": [..]}, {"pairs": [[k, v], ..]}      `lynx` profile only

Only the operand of a leaf of the strict profile can also be:

    {"ref": ["context", "principal", "id"]}     the value at another path: head, then steps
    {"places": ["a text", {"ref": ..}, ..]}     texts of which one must have the value, the operand of `occurs_in`
    {"tests": [{"op": .., "operand": ..}, ..]}  tests that one value must all pass, the operand of operators that nest;
                                                a test of `matches` has `"dialect": "re2"`
    {"path": ["host"], "tests": [..]}           the same for a part of the value that a facet derives, the operand of
                                                `part`, which is a test only; and for an entry of an element of a list
    {"sources": ["task", NAME, ..]}             names of sources, the operand of `from`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

import msgspec

from bobcat.ir.code import Statement
from bobcat.ir.obligation import Obligation as Obligation
from bobcat.language.facets import IR_OPERATORS
from bobcat.language.operators import LOWERED_TO
from bobcat.language.paths import Head as Head

IR_VERSION = 1

Const: TypeAlias = Any  # Any: the recursive union above is wider than msgspec can name in one union.

Profile = Literal["strict", "lynx"]
VerdictName = Literal["allow", "deny", "dry_run", "approve_required", "transform"]
if TYPE_CHECKING:
    Operator: TypeAlias = str
else:
    Operator = Literal[tuple(name for name in IR_OPERATORS if name not in LOWERED_TO)]
Dialect = Literal["re2", "python"]
Combine = Literal["strictest", "first", "last", "strict_overrides_loose"]

MAX_TEST_DEPTH = 4
"""Nesting depth of tests: `any: {lower: {eq: x}}` is two."""


class IrNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Base of every IR node: frozen, compared by value, unknown fields rejected on decoding.

    PERF: no node is part of a cycle, so nodes are not garbage-collected: decoding 10,000 rules takes 75 ms, not 135.
    """


class AllExpr(IrNode, frozen=True, tag="all", tag_field="k"):
    """True if every item is true. No items: true."""

    items: tuple[Expr, ...]


class AnyExpr(IrNode, frozen=True, tag="any", tag_field="k"):
    """True if one item is true. No items: false."""

    items: tuple[Expr, ...]


class NotExpr(IrNode, frozen=True, tag="not", tag_field="k"):
    """The negation of one expression."""

    item: Expr


class Leaf(IrNode, frozen=True, tag="leaf", tag_field="k"):
    """One comparison: the value at `head` + `path`, tested by `op` against `operand`.

    `dialect` is set only for `matches`.
    """

    head: Head
    path: tuple[str, ...]
    op: Operator
    operand: Const
    dialect: Dialect | None = None


Expr: TypeAlias = Union[AllExpr, AnyExpr, NotExpr, Leaf]  # noqa: UP007 - named before its members by their annotations


class Transform(IrNode, frozen=True):
    """A change of the arguments. `path` is relative to `args`; empty means the arguments as a whole."""

    op: Literal["set", "append", "delete"]
    path: tuple[str, ...]
    value: Const


class IrRule(IrNode, frozen=True, tag="rule", tag_field="k"):
    """A declarative rule. In the strict profile `id` and `reason` are strings, `approvers` a list of strings and
    `timeout_seconds` null or a number >= 0; the `lynx` profile keeps every value that lynx-agent accepts.

    `approvals_needed` is 2 or more, or absent: one approval is the default and does not change a digest. So are
    `obligations`, and `mode`: a monitored rule takes no part in decisions, and is only compared.
    """

    id: Const
    priority: int
    match: Expr
    verdict: VerdictName
    reason: Const
    approvers: tuple[Const, ...]
    timeout_seconds: Const
    transform: Transform | None = None
    approvals_needed: int | msgspec.UnsetType = msgspec.UNSET
    obligations: tuple[Obligation, ...] | msgspec.UnsetType = msgspec.UNSET
    mode: Literal["monitor"] | msgspec.UnsetType = msgspec.UNSET


class HostRule(IrNode, frozen=True, tag="host", tag_field="k"):
    """A rule that is a Python callable, identified by name and by the digest of its code. `name` is its rule id."""

    name: str
    priority: int
    module: str
    qualname: str
    code: str


class FunctionRule(IrNode, frozen=True, tag="function", tag_field="k"):
    """A rule lowered from a Python function: see `code`. `name` is its rule id.

    `slots` is the number of locals of its body. Returning None abstains, returning a decision decides. Any other result
    is an error of the rule, and so is an exception.
    """

    name: str
    priority: int
    slots: int
    body: tuple[Statement, ...]


AnyRule: TypeAlias = IrRule | HostRule | FunctionRule


class Defaults(IrNode, frozen=True):
    """Verdicts when no rule decides, and when a rule has an error."""

    on_no_match: VerdictName
    on_missing_shadow: VerdictName
    on_rule_error: Literal["deny", "continue"]


class CallEvent(IrNode, frozen=True, tag="call", tag_field="k"):
    """True at the intent of a call that matches."""

    match: Expr


class ResultEvent(IrNode, frozen=True, tag="result", tag_field="k"):
    """True at the result of a call that succeeded and matches; `match` also reads the head `result`."""

    match: Expr


class NotFormula(IrNode, frozen=True, tag="not", tag_field="k"):
    """The negation of one formula."""

    item: Formula


class AllFormula(IrNode, frozen=True, tag="all", tag_field="k"):
    """True if every item is true. No items: true."""

    items: tuple[Formula, ...]


class AnyFormula(IrNode, frozen=True, tag="any", tag_field="k"):
    """True if one item is true. No items: false."""

    items: tuple[Formula, ...]


class Previous(IrNode, frozen=True, tag="previous", tag_field="k"):
    """True if `item` was true at the event before this one, at most `within` microseconds ago."""

    item: Formula
    within: int | msgspec.UnsetType = msgspec.UNSET


class Formerly(IrNode, frozen=True, tag="formerly", tag_field="k"):
    """True if `item` is true at this event or was at one before it, at most `within` microseconds ago."""

    item: Formula
    within: int | msgspec.UnsetType = msgspec.UNSET


class Since(IrNode, frozen=True, tag="since", tag_field="k"):
    """True if `start` was true at some event, at most `within` microseconds ago, and `holds` at every event after."""

    holds: Formula
    start: Formula
    within: int | msgspec.UnsetType = msgspec.UNSET


Formula: TypeAlias = Union[  # noqa: UP007 - as above
    CallEvent, ResultEvent, NotFormula, AllFormula, AnyFormula, Previous, Formerly, Since
]


class FormulaDefinition(IrNode, frozen=True, tag="formula", tag_field="k"):
    """A formula of past events. Its value is a bool: true if the formula is true at the last event of the run."""

    formula: Formula


class Measure(IrNode, frozen=True, tag="measure", tag_field="k", omit_defaults=True):
    """A count of the intents that match `of`, or the sum of their argument at `field`. Its value is a number.

    `within`: a window in microseconds; `by`: the calls of all runs of the same caller; `this`: the proposed call too.
    """

    of: Expr
    field: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    within: int | msgspec.UnsetType = msgspec.UNSET
    by: Literal["principal", "session", "tenant"] | msgspec.UnsetType = msgspec.UNSET
    this: bool = False


class Source(IrNode, frozen=True, tag="source", tag_field="k", omit_defaults=True):
    """The values at `fields` of the records in results of calls that match `of`.

    `links`: the URLs in the texts there; `where` tests each record (head `record`); `asked_with`: the sources, `task`
    among them, that each argument of the call must come from.
    """

    of: Expr
    fields: tuple[tuple[str, ...], ...]
    links: bool = False
    where: Expr | msgspec.UnsetType = msgspec.UNSET
    asked_with: tuple[str, ...] = ()


Definition: TypeAlias = FormulaDefinition | Measure | Source


class Layer(IrNode, frozen=True, omit_defaults=True):
    """One layer of a policy: a name, the number of its rules, and its defaults.

    `limits`: its verdict takes no part in combining, and only makes the combined one stricter.
    """

    name: str
    rules: int
    defaults: Defaults
    limits: bool = False


class Layers(IrNode, frozen=True):
    """The layers of a policy, in the order of their rules. The ids of the rules of a layer begin with `NAME:`."""

    combine: Combine
    items: tuple[Layer, ...]


class IrPolicy(IrNode, frozen=True):
    """A whole policy. `rules` are in evaluation order: by (-priority, file order), host rules last among equals.

    `memory` has the definitions that rules read from the state of a run, by name; it is absent without any. `layers`
    divides the rules; the order holds within each layer.
    """

    ir_version: int
    profile: Profile
    language_version: int
    defaults: Defaults
    rules: tuple[AnyRule, ...]
    memory: dict[str, Definition] | msgspec.UnsetType = msgspec.UNSET
    layers: Layers | msgspec.UnsetType = msgspec.UNSET
