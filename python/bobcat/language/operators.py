"""The operators of the policy language: one row each, and the builder method of each.

To add an operator, add its row and its method here; CONTRIBUTING.md lists the other files. Vocabulary, operand parsing,
JSON Schema, builder, doctor, lints and suggestions read the rows. From an operator whose row does not say so, no lint
concludes anything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

from bobcat.language import probes
from bobcat.language.kinds import OperandForm, OperandKind, ReferenceForm

# Types with parts, whose values are tested by them and by the operators of their facet.
_PARSED = frozenset(
    (
        OperandKind.URL, OperandKind.ADDRESS, OperandKind.NETWORK, OperandKind.FILE_PATH, OperandKind.EMAIL,
        OperandKind.SCRIPT, OperandKind.COMMAND, OperandKind.STATEMENT,
    )
)  # fmt: skip
_ANY_VALUE = frozenset(OperandKind) - _PARSED
_EQUALITY = _ANY_VALUE - {OperandKind.STRINGS, OperandKind.MAPPING}
_TEXT = frozenset(
    (OperandKind.ANY, OperandKind.STRING, OperandKind.NULLABLE_STRING, OperandKind.LOWER, OperandKind.DOCUMENT)
)
_PATTERNS = _TEXT | {OperandKind.HOST}
_CONTAINERS = _TEXT | {OperandKind.STRINGS, OperandKind.MAPPING}
_LISTS = frozenset((OperandKind.ANY, OperandKind.STRINGS, OperandKind.DOCUMENT))
_SIZED = _CONTAINERS - {OperandKind.LOWER, OperandKind.MAPPING} | {OperandKind.SCRIPT}
_ELEMENTS = _LISTS | {OperandKind.SCRIPT}
_ORDER = _EQUALITY - {OperandKind.BOOL, OperandKind.HOST}
_EMPTY: probes.Values = [None, "", [], {}]
_FILLED: probes.Values = ["x", ["x"], {"x": 1}]
_PATHS = _ANY_VALUE - {OperandKind.COUNT, OperandKind.LOWER}


# Any: numbers or strings.
Bound: TypeAlias = tuple[Any, Literal[-1, 0, 1]] | None
Interval: TypeAlias = tuple[Bound, Bound]


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """One operator.

    * `operand`: the form of the operand; `kinds`: the kinds of values that it tests.
    * `reference`: the values at another path that it compares with, if the operand can be `{ref: PATH}`.
    * `lynx`: the `lynx` profile has it, too; `whole`: directly under `args` it is not the name of an argument;
      `path_only`: it does not test derived values.
    * `unordered`: a list operand is a set; `single`: the operator whose operand is the only item of the list.
    * `recent`: earlier versions read its name at the end of a key as the name of an argument.
    * `leading`: its name is one only before another operator; elsewhere it names an argument or an entry.
    * `derived`: of an operator that nests, the kind of the derived value; None is that of the elements of the list.
    * `sign`: its sign in listings.
    * `synonyms`: names of it in other languages; `lowered` of it after `lower`; `negations` of its negation.
    * `types`: the JSON types of values for which it can be true; None if that depends on the operand.
    * `excludes`: it only excludes values; `constrains`: it constrains the content of a value.
    * `interval`: the values for which it is true, as a lower and an upper bound, each with 1 or -1 if it is open.
    * `anchors`: the ends of a text at which it finds its texts; None if it does not search for texts.
    * `neighbour`: a similar operator, which mutation testing puts in its place.
    * `probes`: candidate values for an operand, or of one that nests, for those of the derived value.
    """

    name: str
    operand: OperandForm
    kinds: frozenset[OperandKind]
    probes: Callable[[Any], probes.Candidates] = probes.equal  # Any: JSON, or pairs of operator and operand
    reference: ReferenceForm | None = None
    lynx: bool = False
    whole: bool = False
    path_only: bool = False
    unordered: bool = False
    single: str | None = None
    recent: bool = False
    leading: bool = False
    derived: OperandKind | None = None
    sign: str = ""
    synonyms: tuple[str, ...] = ()
    lowered: tuple[str, ...] = ()
    negations: tuple[str, ...] = ()
    types: tuple[str, ...] | None = None
    excludes: bool = False
    constrains: bool = True
    interval: Callable[[Any], Interval] | None = None  # Any: an operand
    anchors: Literal["", "start", "end", "both"] | None = None
    neighbour: str | None = None

    @property
    def nests(self) -> bool:
        """Return true if the operand is tests of a derived value: a length, a lower case, elements."""
        return self.operand is OperandForm.TESTS

    @property
    def elements(self) -> bool:
        """Return true if it tests every element of a list."""
        return self.nests and self.derived is None

    @property
    def method(self) -> str:
        """Return the name of its method in the builder."""
        return f"{self.name}_" if iskeyword(self.name) else self.name


ROWS = (
    OperatorSpec(
        "eq", OperandForm.VALUE, _ANY_VALUE, probes.equal,
        reference=ReferenceForm.SAME, lynx=True, whole=True, sign="==", anchors="both",
        interval=lambda value: ((value, 0), (value, 0)),
        synonyms=("exactly", "equals", "equal", "=="), lowered=("ieq", "iequals"),
        negations=("not", "ne", "neq", "not_eq", "not_equal", "not_equals", "!="),
    ),
    OperatorSpec(
        "in", OperandForm.SCALARS, _EQUALITY, probes.one_of,
        reference=ReferenceForm.LIST, lynx=True, whole=True, unordered=True, single="eq", anchors="both",
        synonyms=("one_of", "oneof", "is_in"),
    ),
    OperatorSpec(
        "not_in", OperandForm.SCALARS, _EQUALITY, probes.swapped(probes.one_of),
        reference=ReferenceForm.LIST, unordered=True, excludes=True, synonyms=("notin", "nin", "not_one_of"),
    ),
    OperatorSpec(
        "subset_of", OperandForm.PARTS, _LISTS,
        lambda items: probes.every((probes.items(items), [probes.other(items)])),
        reference=ReferenceForm.LIST, unordered=True, recent=True, types=("array",),
        synonyms=("subset", "is_subset_of", "issubset"),
    ),
    OperatorSpec(
        "exists", OperandForm.BOOL, _PATHS, probes.equal, whole=True, path_only=True, constrains=False,
    ),
    OperatorSpec(
        "empty", OperandForm.BOOL, _CONTAINERS - {OperandKind.MAPPING} | {OperandKind.NULLABLE_NUMBER},
        lambda wanted: (_EMPTY, _FILLED) if wanted else (_FILLED, _EMPTY),
        recent=True, constrains=False, synonyms=("is_empty", "isempty", "blank"), negations=("not_empty", "nonempty"),
    ),
    OperatorSpec(
        "gt", OperandForm.BOUND, _ORDER, probes.ordered(up=True, within=False),
        reference=ReferenceForm.SAME, lynx=True, whole=True, sign=">", interval=lambda bound: ((bound, 1), None),
        neighbour="ge", synonyms=(">", "greater_than"),
    ),
    OperatorSpec(
        "ge", OperandForm.BOUND, _ORDER, probes.ordered(up=True, within=True),
        reference=ReferenceForm.SAME, lynx=True, whole=True, sign=">=", interval=lambda bound: ((bound, 0), None),
        neighbour="gt", synonyms=(">=", "gte"),
    ),
    OperatorSpec(
        "lt", OperandForm.BOUND, _ORDER, probes.ordered(up=False, within=False),
        reference=ReferenceForm.SAME, lynx=True, whole=True, sign="<", interval=lambda bound: (None, (bound, -1)),
        neighbour="le", synonyms=("<", "less_than"),
    ),
    OperatorSpec(
        "le", OperandForm.BOUND, _ORDER, probes.ordered(up=False, within=True),
        reference=ReferenceForm.SAME, lynx=True, whole=True, sign="<=", interval=lambda bound: (None, (bound, 0)),
        neighbour="lt", synonyms=("<=", "lte"),
    ),
    OperatorSpec(
        "between", OperandForm.BOUNDS, _ORDER, probes.between,
        lynx=True, whole=True, interval=lambda bounds: ((bounds[0], 0), (bounds[1], 0)), synonyms=("in_range",),
    ),
    OperatorSpec(
        "not_between", OperandForm.BOUNDS, _ORDER, probes.swapped(probes.between),
        lynx=True, whole=True, excludes=True,
    ),
    OperatorSpec(
        "matches", OperandForm.PATTERN, _PATTERNS,
        lynx=True, whole=True, types=("string",), anchors="",
        synonyms=("regex", "regexp", "match_regex", "like", "ilike"), negations=("not_matches",),
    ),
    OperatorSpec("glob", OperandForm.GLOB, _PATTERNS, synonyms=("fnmatch", "wildcard")),
    OperatorSpec(
        "starts_with", OperandForm.TEXTS, _TEXT, probes.affix(start=True),
        reference=ReferenceForm.TEXT, unordered=True, single="starts_with", types=("string",), anchors="start",
        synonyms=("startswith", "start_with", "starts", "begins_with", "has_prefix"), negations=("not_starts_with",),
    ),
    OperatorSpec(
        "ends_with", OperandForm.TEXTS, _TEXT, probes.affix(start=False),
        reference=ReferenceForm.TEXT, unordered=True, single="ends_with", types=("string",), anchors="end",
        synonyms=("endswith", "end_with", "has_suffix"), negations=("not_ends_with",),
    ),
    OperatorSpec(
        "contains", OperandForm.PART, _CONTAINERS, probes.containing,
        reference=ReferenceForm.PART, lynx=True, whole=True, types=("string", "array", "object"), anchors="",
        synonyms=("includes",), lowered=("icontains",), negations=("not_contains",),
    ),
    OperatorSpec(
        "occurs_in", OperandForm.PLACES,
        _TEXT | {OperandKind.NUMBER, OperandKind.NULLABLE_NUMBER, OperandKind.HOST}, probes.occurring,
        reference=ReferenceForm.TEXT, unordered=True, single="occurs_in", recent=True, types=("string", "number"),
        synonyms=("is_part_of", "within_text", "mentioned_in", "occursin"), negations=("not_occurs_in",),
    ),
    OperatorSpec(
        "contains_any", OperandForm.PARTS, _CONTAINERS, probes.containing_each(1),
        lynx=True, whole=True, unordered=True, single="contains", types=("string", "array", "object"), anchors="",
        negations=("contains_none",),
    ),
    OperatorSpec(
        "contains_all", OperandForm.SOME_PARTS, _CONTAINERS, probes.containing_each(None),
        lynx=True, whole=True, unordered=True, single="contains", types=("string", "array", "object"), anchors="",
    ),
    OperatorSpec(
        "from", OperandForm.SOURCES, _EQUALITY - {OperandKind.BOOL, OperandKind.TIME, OperandKind.COUNT},
        lambda _: (["x"], ["y"]),
        types=("string", "integer", "number"), synonyms=("comes_from", "came_from"),
        negations=("not_from",),
    ),
    OperatorSpec(
        "length", OperandForm.TESTS, _SIZED, probes.of_length,
        derived=OperandKind.COUNT, types=("string", "array", "object"), constrains=False,
        synonyms=("len",),
    ),
    OperatorSpec(
        "byte_length", OperandForm.TESTS, _TEXT - {OperandKind.LOWER}, probes.of_length,
        derived=OperandKind.COUNT, leading=True, types=("string",), constrains=False,
    ),
    OperatorSpec(
        "lower", OperandForm.TESTS, _TEXT - {OperandKind.LOWER}, probes.of_lower,
        derived=OperandKind.LOWER, types=("string",), synonyms=("lowercase", "lower_case", "tolower", "to_lower"),
    ),
    OperatorSpec(
        "any", OperandForm.TESTS, _ELEMENTS, probes.some,
        types=("array",), neighbour="all", synonyms=("some", "any_of"),
    ),
    OperatorSpec(
        "all", OperandForm.TESTS, _ELEMENTS, probes.every,
        types=("array",), neighbour="any", synonyms=("every", "each", "all_of"),
    ),
    OperatorSpec(
        "none", OperandForm.TESTS, _ELEMENTS, probes.no_one,
        types=("array",), excludes=True, synonyms=("none_of",),
    ),
    OperatorSpec("first", OperandForm.TESTS, _LISTS, probes.some, leading=True, types=("array",)),
)  # fmt: skip
"""All operators, in display order."""

OPERATORS: dict[str, OperatorSpec] = {row.name: row for row in ROWS}
"""The rows by name."""
LOWERED_TO = {"glob": "matches"}
"""Operators of policies that the IR does not have, and the operators that they are lowered to."""
SIGNS = {row.name: row.sign for row in ROWS if row.sign}
"""The signs of operators that have one."""
NESTING = frozenset(row.name for row in ROWS if row.nests)
"""Operators whose operand is tests of a derived value: its length, its lower case, its elements."""
LEADING = frozenset(row.name for row in ROWS if row.leading)
"""Operators whose names are names of entries unless another operator follows."""

_ConditionT = TypeVar("_ConditionT")
_PathT = TypeVar("_PathT")
_COLLECTIONS = (list, tuple, set, frozenset)


class OperatorMethods(ABC, Generic[_ConditionT, _PathT]):
    """The methods of a path in the builder, one for each operator without a sign."""

    __slots__ = ()

    @abstractmethod
    def _compare(self, operator: str, operand: Any) -> _ConditionT: ...  # Any: an operand, here and below

    @abstractmethod
    def _derive(
        self, operator: str, tests: dict[str, Any], conditions: tuple[_ConditionT, ...] = ()
    ) -> _PathT | _ConditionT: ...

    def _listed(self, operator: str, values: tuple[Any, ...]) -> _ConditionT:
        one = len(values) == 1 and isinstance(values[0], (OperatorMethods, *_COLLECTIONS))
        return self._compare(operator, values[0] if one else list(values))

    def matches(self, pattern: str) -> _ConditionT:
        """Test that the pattern is found in the value."""
        return self._compare("matches", pattern)

    def glob(self, pattern: str) -> _ConditionT:
        """Test that the value is a text that matches the glob."""
        return self._compare("glob", pattern)

    def in_(self, *values: Any) -> _ConditionT:
        """Test that the value equals one of these values, or of one list of them, or is an element of the list at a
        path.
        """
        return self._listed("in", values)

    def not_in(self, *values: Any) -> _ConditionT:
        """Test that the value is there and equals none of these values, or of one list of them, or is no element of the
        list at a path.
        """
        return self._listed("not_in", values)

    def subset_of(self, *values: Any) -> _ConditionT:
        """Test that the value is a list of which each element equals one of these values, or of one list of them, or
        is an element of the list at a path.
        """
        return self._listed("subset_of", values)

    def contains(self, value: Any) -> _ConditionT:
        """Test that `value` is a part, an element or a key of the value."""
        return self._compare("contains", value)

    def contains_any(self, *values: Any) -> _ConditionT:
        """Test that the value contains one of these values."""
        return self._listed("contains_any", values)

    def contains_all(self, *values: Any) -> _ConditionT:
        """Test that the value contains all of these values."""
        return self._listed("contains_all", values)

    def starts_with(self, *texts: Any) -> _ConditionT:
        """Test that the value begins with this text, or with one of several."""
        return self._compare("starts_with", texts[0] if len(texts) == 1 else list(texts))

    def ends_with(self, *texts: Any) -> _ConditionT:
        """Test that the value ends with this text, or with one of several."""
        return self._compare("ends_with", texts[0] if len(texts) == 1 else list(texts))

    def from_(self, *sources: str) -> _ConditionT:
        """Test that the value came from one of these sources of the policy; `task` is the user's own text."""
        return self._listed("from", sources)

    def occurs_in(self, *places: Any) -> _ConditionT:
        """Test that the value, a text or a number, occurs as a whole in a text, or in one of several: texts, and paths
        of texts.
        """
        return self._compare("occurs_in", places[0] if len(places) == 1 else list(places))

    def between(self, low: Any, high: Any) -> _ConditionT:
        """Test that the value is in the range; the bounds are inclusive."""
        return self._compare("between", [low, high])

    def not_between(self, low: Any, high: Any) -> _ConditionT:
        """Test that the value is outside the range."""
        return self._compare("not_between", [low, high])

    def exists(self, there: bool = True) -> _ConditionT:
        """Test that the path has a value; with `False`, that it has no value."""
        return self._compare("exists", there)

    def empty(self, is_empty: bool = True) -> _ConditionT:
        """Test that the value is null, or a text, list or mapping without content; with `False`, that it is not."""
        return self._compare("empty", is_empty)

    @overload
    def length(self) -> _PathT: ...
    @overload
    def length(self, **tests: Any) -> _ConditionT: ...
    def length(self, **tests: Any) -> _PathT | _ConditionT:
        """Length of the value: `.length() > 5`, or `.length(gt=2, lt=9)`."""
        return self._derive("length", tests)

    @overload
    def byte_length(self) -> _PathT: ...
    @overload
    def byte_length(self, **tests: Any) -> _ConditionT: ...
    def byte_length(self, **tests: Any) -> _PathT | _ConditionT:
        """Length of the text in UTF-8, in bytes: `.byte_length() <= 10_000`."""
        return self._derive("byte_length", tests)

    @overload
    def lower(self) -> _PathT: ...
    @overload
    def lower(self, **tests: Any) -> _ConditionT: ...
    def lower(self, **tests: Any) -> _PathT | _ConditionT:
        """The value in lower case: `.lower().contains("rm")`."""
        return self._derive("lower", tests)

    @overload
    def any(self) -> _PathT: ...
    @overload
    def any(self, *conditions: _ConditionT, **tests: Any) -> _ConditionT: ...
    def any(self, *conditions: _ConditionT, **tests: Any) -> _PathT | _ConditionT:
        """Some element: `.any() == "x"`; with several tests, one element that passes all: `.any(gt=2, lt=9)`.

        Conditions are about `element`: `.any((element.kind == "image") & (element.size < 5))`.
        """
        return self._derive("any", tests, conditions)

    @overload
    def all(self) -> _PathT: ...
    @overload
    def all(self, *conditions: _ConditionT, **tests: Any) -> _ConditionT: ...
    def all(self, *conditions: _ConditionT, **tests: Any) -> _PathT | _ConditionT:
        """Every element: `.all().ends_with("@example.com")`; conditions are about `element`, as in `any`."""
        return self._derive("all", tests, conditions)

    @overload
    def none(self) -> _PathT: ...
    @overload
    def none(self, *conditions: _ConditionT, **tests: Any) -> _ConditionT: ...
    def none(self, *conditions: _ConditionT, **tests: Any) -> _PathT | _ConditionT:
        """No element: `.none().matches("secret")`; conditions are about `element`, as in `any`."""
        return self._derive("none", tests, conditions)

    @overload
    def first(self) -> _PathT: ...
    @overload
    def first(self, *conditions: _ConditionT, **tests: Any) -> _ConditionT: ...
    def first(self, *conditions: _ConditionT, **tests: Any) -> _PathT | _ConditionT:
        """The first element: `.first().in_("status", "log")`; false of an empty list."""
        return self._derive("first", tests, conditions)
