"""JSON Schema validation of exact values: compiled once per tool, run on the arguments of every call.

Called by `bobcat.tools.signature`. The schemas are those read off annotations and those that MCP servers declare
(2020-12, and the older spellings in use: `definitions`, `items` as a list, `dependencies`). Nothing is fetched: a
reference must resolve in the same document. Patterns are RE2's, and take linear time. The work of one check is bounded
(`STEPS`, `STEPS_PER_VALUE`). An invalid or unsupported schema is a `SchemaError`, never a pass.

Annotations (`title`, `description`, `default`, `format` and unknown keywords) check nothing.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from types import NoneType
from typing import Any, TypeAlias
from urllib.parse import unquote

from bobcat._core import Pattern
from bobcat.model.exact import LEAVES
from bobcat.model.frozen import FrozenDict, FrozenList
from bobcat.text.shortening import shortened

MAX_NODES = 20_000
"""Maximum number of subschemas of a schema."""
STEPS = 50_000
STEPS_PER_VALUE = 64
"""Step limit of one check: a fixed number of applied subschemas, and this many for each value in the arguments.

A text counts as one value for each `TEXT_STEP` characters.
"""
TEXT_STEP = 100

# Any throughout: schemas and arguments are JSON.
OBJECTS = frozenset({dict, FrozenDict})
LISTS = frozenset({list, FrozenList, tuple})
SETS = frozenset({set, frozenset})
_KINDS: dict[str, frozenset[type]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({NoneType}),
    "array": LISTS,
    "object": OBJECTS,
}
_WORDS = {
    "string": "a string", "integer": "an integer", "number": "a number", "boolean": "a boolean", "null": "null",
    "array": "an array", "object": "an object",
}  # fmt: skip
_TYPE_NAMES: dict[type, str] = {
    str: "a string", int: "an integer", float: "a number", bool: "a boolean", NoneType: "null", bytes: "bytes",
    datetime: "a timestamp", **dict.fromkeys(LISTS, "an array"), **dict.fromkeys(SETS, "a set"),
    **dict.fromkeys(OBJECTS, "an object"),
}  # fmt: skip
_CONTAINERS = OBJECTS | LISTS | SETS
_UNSUPPORTED = ("$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems")
_SHOWN = 10
_UTF16 = re.compile(r"((?<!\\)(?:\\\\)*)\\u([0-9a-fA-F]{4})")


class SchemaError(ValueError):
    """The schema cannot be used as a check: it is invalid, too large, or unsupported."""


@dataclass(slots=True)
class Mismatch:
    """Reason why a value does not fit: `path` leads to it, innermost step first; `names` are the keys concerned."""

    code: str
    text: str
    names: Sequence[str] = ()
    path: list[str | int] = field(default_factory=list)

    def below(self, step: str | int) -> Mismatch:
        """The same, seen from the container."""
        self.path.append(step)
        return self


class Work:
    """The remaining step budget of one check of arguments."""

    __slots__ = ("_about", "_left")

    def __init__(self, about: object) -> None:
        self._about: object = about
        self._left = STEPS

    def step(self, count: int = 1) -> None:
        """Count applied subschemas. Raises `SchemaError` past the limit."""
        self._left -= count
        if self._left < 0 and self._about is not None:
            self._left += STEPS_PER_VALUE * size_of(self._about)
            self._about = None
        if self._left < 0:
            raise SchemaError("it takes too many steps to check these arguments")


Test: TypeAlias = Callable[[Any, Work], Mismatch | None]


@dataclass(slots=True, eq=False)
class SchemaNode:
    """A compiled schema. `kinds` are the types whose every exact value fits, `words` their description in errors."""

    test: Test
    kinds: frozenset[type] = frozenset()
    words: str = ""


def _fits(_value: Any, _work: Work) -> None:
    return None


ANY_VALUE = SchemaNode(_fits, LEAVES)
NO_VALUE = SchemaNode(lambda _value, _work: Mismatch("argument_value", "cannot be given"), words="nothing")


class Compiler:
    """Compiles the subschemas of one document.

    With `python`, values without a JSON form are checked by their own types: `bytes` fit a string of format `byte`, a
    timestamp one of format `date-time`, a set an array of unique items; and a `float` is not an integer. Without it,
    all of these are JSON, where `1.0` is an integer.
    """

    def __init__(self, document: Mapping[str, Any], *, python: bool) -> None:
        self._document = document
        self._python = python
        self._nodes: dict[int, tuple[Any, SchemaNode]] = {}
        self._patterns: dict[str, Pattern] = {}
        self._recursive: dict[int, bool] = {}

    def compile(self, schema: Any) -> SchemaNode:
        """Compile a subschema of the document. Raises `SchemaError`."""
        if schema is True or (type(schema) in OBJECTS and not schema):
            return ANY_VALUE
        if schema is False:
            return NO_VALUE
        if not isinstance(schema, Mapping):
            raise SchemaError(f"a schema is an object or a boolean, not {_described_type(schema)}")
        known = self._nodes.get(id(schema))
        if known is not None:
            return known[1]
        if len(self._nodes) >= MAX_NODES:
            raise SchemaError(f"it has more than {MAX_NODES} subschemas")
        node = SchemaNode(_fits)
        self._nodes[id(schema)] = schema, node  # cached before its parts: it may contain itself
        made = self._make(schema)
        node.test, node.kinds, node.words = made.test, made.kinds, made.words
        return node

    def target(self, reference: Any) -> Any:
        """The subschema that a `$ref` names. Raises `SchemaError`."""
        if type(reference) is not str or not (reference == "#" or reference.startswith("#/")):
            raise SchemaError("`$ref` must lead into the same document: `#/$defs/NAME`")
        found: Any = self._document
        for step in unquote(reference[2:]).split("/") if len(reference) > 1 else ():
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and step in found:
                found = found[step]
            elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            else:
                raise SchemaError("`$ref` names a location that is not in the schema")
        return found

    def contains_itself(self, schema: Mapping[str, Any], work: Work) -> bool:
        """Return true if a subschema of the document refers to itself."""
        known = self._recursive.get(id(schema))
        if known is not None:
            return known
        stack: list[Any] = [*schema.values(), *self._referred(schema)]
        seen: set[int] = set()
        while stack and id(schema) not in seen:
            item = stack.pop()
            if isinstance(item, (Mapping, list)) and id(item) not in seen:
                work.step()
                seen.add(id(item))
                stack.extend([*item.values(), *self._referred(item)] if isinstance(item, Mapping) else item)
        self._recursive[id(schema)] = id(schema) in seen
        return id(schema) in seen

    def _referred(self, schema: Mapping[str, Any]) -> list[Any]:
        try:
            return [self.target(schema["$ref"])] if "$ref" in schema else []
        except SchemaError:  # a default can contain a mapping that looks like a reference
            return []

    def _make(self, schema: Mapping[str, Any]) -> SchemaNode:
        for keyword in _UNSUPPORTED:
            if keyword in schema:
                raise SchemaError(f"`{keyword}` is not supported")
        if "$id" in schema and schema is not self._document:
            raise SchemaError("`$id` inside a schema is not supported")
        kinds, words, tests = self._type(schema)
        by_kind: dict[type, list[Test]] = {}
        for types, made in (
            (OBJECTS, self._object(schema)),
            (LISTS | (SETS if self._python else frozenset()), self._array(schema)),
            (frozenset({str}), self._string(schema)),
            (frozenset({bytes}), _size_tests(schema, "minLength", "maxLength", "bytes")),
            (frozenset({int, float}), _number(schema)),
        ):
            for kind in types if made else ():
                by_kind[kind] = made
        combined = self._combined(schema)
        if not tests and not by_kind and len(combined) == 1 and kinds is None:
            return combined[0]
        tests = [*tests, *(node.test for node in combined)]
        plain_kinds = frozenset() if tests else (LEAVES if kinds is None else kinds & LEAVES).difference(by_kind)
        if not tests and not by_kind:
            return SchemaNode(_fits if kinds is None else partial(_typed, kinds, words), plain_kinds, words)
        return SchemaNode(partial(_tested, kinds, words, by_kind, tests), plain_kinds, words)

    def _type(self, schema: Mapping[str, Any]) -> tuple[frozenset[type] | None, str, list[Test]]:
        """The types that `type` allows (None: all), in words, and the further tests that they need."""
        declared = schema.get("type")
        if "type" not in schema:
            return None, "", []
        names = [declared] if isinstance(declared, str) else declared
        if not isinstance(names, (list, tuple)) or not names or not all(_is_type(name) for name in names):
            raise SchemaError("`type` must name types of JSON")
        kinds = frozenset[type]().union(*(_KINDS[name] for name in names))
        tests: list[Test] = []
        if self._python:
            more = {"byte": bytes, "date-time": datetime}.get(str(schema.get("format")))
            if "string" in names and more is not None:
                kinds |= {more}
            if "array" in names and schema.get("uniqueItems") is True:
                kinds |= SETS
        elif "integer" in names and "number" not in names:
            kinds |= {float}
            tests.append(_integral)
        return kinds, _one_of([_WORDS[name] for name in names]), tests

    def _combined(self, schema: Mapping[str, Any]) -> list[SchemaNode]:
        """The compiled keywords that apply to values of every type."""
        found: list[SchemaNode] = []
        if "$ref" in schema:
            found.append(self._reference(schema["$ref"]))
        if "enum" in schema or "const" in schema:
            found.extend(_choices(schema))
        for keyword in ("allOf", "anyOf", "oneOf"):
            if keyword in schema:
                members = [self.compile(member) for member in _list(schema[keyword], keyword)]
                made = {"allOf": _all_of, "anyOf": _any_of, "oneOf": _one_of_them}[keyword]
                found.append(made(members))
        if "not" in schema:
            found.append(SchemaNode(partial(_negated, self.compile(schema["not"]))))
        if "if" in schema:
            then, other = self.compile(schema.get("then", True)), self.compile(schema.get("else", True))
            found.append(SchemaNode(partial(_conditional, self.compile(schema["if"]), then, other)))
        return found

    def _reference(self, reference: Any) -> SchemaNode:
        target = self.target(reference)
        if id(target) not in self._nodes:
            return self.compile(target)
        node = self._nodes[id(target)][1]
        return SchemaNode(
            lambda value, work: node.test(value, work), node.kinds, node.words
        )  # it may not be complete yet

    def _object(self, schema: Mapping[str, Any]) -> list[Test]:
        tests: list[Test] = []
        if "required" in schema:
            tests.append(partial(_required, tuple(_names(schema["required"], "required"))))
        if not schema.keys().isdisjoint(("properties", "patternProperties", "additionalProperties")):
            tests.append(self._members(schema))
        if "propertyNames" in schema:
            tests.append(partial(_property_names, self.compile(schema["propertyNames"])))
        for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            for name, needed in _mapping(schema, keyword).items():
                node = (
                    SchemaNode(partial(_required, tuple(_names(needed, keyword))))
                    if isinstance(needed, (list, tuple))
                    else self.compile(needed)
                )
                tests.append(partial(_dependent, name, node))
        tests.extend(_size_tests(schema, "minProperties", "maxProperties", "keys"))
        return tests

    def _members(self, schema: Mapping[str, Any]) -> Test:
        known = {name: self.compile(member) for name, member in _mapping(schema, "properties").items()}
        patterns = [
            (self.pattern(text), self.compile(member)) for text, member in _mapping(schema, "patternProperties").items()
        ]
        return partial(_members, known, patterns, self.compile(schema.get("additionalProperties", True)))

    def _array(self, schema: Mapping[str, Any]) -> list[Test]:
        tests: list[Test] = []
        first, rest = schema.get("prefixItems"), schema.get("items", True)
        if first is None and isinstance(rest, (list, tuple)):  # before 2020-12
            first, rest = rest, schema.get("additionalItems", True)
        if first is not None or rest is not True:
            places = [self.compile(item) for item in _list(first or (), "prefixItems", empty=True)]
            tests.append(partial(_items, places, self.compile(rest)))
        if "contains" in schema:
            minimum, maximum = _count(schema, "minContains"), _count(schema, "maxContains")
            least = 1 if minimum is None else minimum
            tests.append(partial(_contains, self.compile(schema["contains"]), least, maximum))
        unique = schema.get("uniqueItems", False)
        if not isinstance(unique, bool):
            raise SchemaError("`uniqueItems` must be a boolean")
        if unique:
            tests.append(_unique)
        tests.extend(_size_tests(schema, "minItems", "maxItems", "items"))
        return tests

    def _string(self, schema: Mapping[str, Any]) -> list[Test]:
        tests = _size_tests(schema, "minLength", "maxLength", "characters")
        if "pattern" in schema:
            shown = shortened(json.dumps(schema["pattern"]), _SHOWN * 10)
            tests.append(partial(_matches, self.pattern(schema["pattern"]), shown))
        return tests

    def pattern(self, text: Any) -> Pattern:
        """Compile a pattern with RE2. Raises `SchemaError` for an unsupported one."""
        if type(text) is not str:
            raise SchemaError("`pattern` must be a string")
        if text not in self._patterns:
            try:
                self._patterns[text] = Pattern(_UTF16.sub(r"\1\\x{\2}", text), "re2")
            except ValueError as error:
                raise SchemaError(f"a `pattern` cannot be used ({error})") from error
        return self._patterns[text]


def found(pattern: Pattern, text: str) -> bool:
    """Return true if a pattern matches anywhere in a text. No pattern matches a text with lone surrogates."""
    try:
        return pattern.search(text)
    except UnicodeEncodeError:
        return False


def same_json(left: Any, right: Any) -> bool:
    """Return true if two values are equal in JSON: `1` and `1.0` are, `1` and `true` are not."""
    return bool(_key(left) == _key(right))


def _typed(kinds: frozenset[type], words: str, value: Any, _work: Work) -> Mismatch | None:
    return None if type(value) in kinds else _wrong_type(value, words)


def _tested(
    kinds: frozenset[type] | None,
    words: str,
    by_kind: dict[type, list[Test]],
    tests: list[Test],
    value: Any,
    work: Work,
) -> Mismatch | None:
    kind = type(value)
    if kinds is not None and kind not in kinds:
        return _wrong_type(value, words)
    parts: Sequence[Test] = by_kind.get(kind, ())
    work.step(1 + len(parts) + len(tests))
    for part in (*parts, *tests):
        if (mismatch := part(value, work)) is not None:
            return mismatch
    return None


def _members(
    known: dict[str, SchemaNode],
    patterns: list[tuple[Pattern, SchemaNode]],
    rest: SchemaNode,
    value: Any,
    work: Work,
) -> Mismatch | None:
    unknown: list[str] = []
    for name, item in value.items():
        kind = type(item)
        if kind in known.get(name, NO_VALUE).kinds and not patterns:
            continue
        work.step(len(patterns) * (1 + len(name) // TEXT_STEP))
        nodes = [known[name]] if name in known else []
        nodes += [node for pattern, node in patterns if found(pattern, name)]
        if not nodes and rest is NO_VALUE:
            unknown.append(name)
            continue
        for node in nodes or [rest]:
            if kind not in node.kinds and (mismatch := node.test(item, work)) is not None:
                return mismatch.below(name)
    if unknown:
        takes = _quoted(known) or "none"
        return Mismatch("unknown_argument", f"unknown {_keys(unknown)}; it takes {takes}", sorted(unknown))
    return None


def _matches(pattern: Pattern, shown: str, value: Any, work: Work) -> Mismatch | None:
    work.step(len(value) // TEXT_STEP)
    return None if found(pattern, value) else Mismatch("argument_value", f"must match the pattern {shown}")


def _wrong_type(value: Any, words: str) -> Mismatch:
    return Mismatch("argument_type", f"expected {words}, got {_described_type(value)}")


def _integral(value: Any, _work: Work) -> Mismatch | None:
    return _wrong_type(value, "an integer") if type(value) is float and not value.is_integer() else None


def _choices(schema: Mapping[str, Any]) -> list[SchemaNode]:
    found: list[SchemaNode] = []
    for keyword in ("enum", "const"):
        if keyword not in schema:
            continue
        values = [schema["const"]] if keyword == "const" else _list(schema["enum"], "enum", empty=True)
        keys = {_key(value) for value in values}
        shown = ", ".join(shortened(_constant(value), _SHOWN * 10) for value in values[:_SHOWN])
        more = f" or {len(values) - _SHOWN} others" if len(values) > _SHOWN else ""
        words = f"one of {shown}{more}" if len(values) > 1 else shown or "nothing"
        found.append(SchemaNode(partial(_chosen, keys, words), words=words))
    return found


def _constant(value: Any) -> str:
    return repr(value) if type(value) is bytes else json.dumps(value)


def _chosen(keys: set[Any], words: str, value: Any, work: Work) -> Mismatch | None:
    if type(value) in _CONTAINERS:
        work.step(size_of(value))
    if _key(value) in keys:
        return None
    got = "another one" if type(value) is str else _described_type(value)
    return Mismatch("argument_value", f"expected {words}, got {got}")


def _all_of(members: list[SchemaNode]) -> SchemaNode:
    def test(value: Any, work: Work) -> Mismatch | None:
        work.step(len(members))
        for member in members:
            if (mismatch := member.test(value, work)) is not None:
                return mismatch
        return None

    return SchemaNode(test, frozenset.intersection(*(member.kinds for member in members)), members[0].words)


def _any_of(members: list[SchemaNode]) -> SchemaNode:
    words = _one_of([member.words or "another form" for member in members])

    def test(value: Any, work: Work) -> Mismatch | None:
        work.step(len(members))
        found: list[Mismatch] = []
        for member in members:
            mismatch = member.test(value, work)
            if mismatch is None:
                return None
            found.append(mismatch)
        inside = [mismatch for mismatch in found if mismatch.path or mismatch.names]
        if len(inside) == 1:  # of the right type, with an error inside
            return inside[0]
        return _wrong_type(value, words)

    return SchemaNode(test, frozenset[type]().union(*(member.kinds for member in members)), words)


def _one_of_them(members: list[SchemaNode]) -> SchemaNode:
    some = _any_of(members)

    def test(value: Any, work: Work) -> Mismatch | None:
        work.step(len(members))
        fitting = sum(member.test(value, work) is None for member in members)
        if fitting > 1:
            return Mismatch("argument_value", "fits more than one of the forms it may have")
        return None if fitting else some.test(value, work)

    return SchemaNode(test, words=some.words)


def _negated(node: SchemaNode, value: Any, work: Work) -> Mismatch | None:
    work.step()
    fits = node.test(value, work) is None
    return Mismatch("argument_value", "has a form that it must not have") if fits else None


def _conditional(condition: SchemaNode, then: SchemaNode, other: SchemaNode, value: Any, work: Work) -> Mismatch | None:
    work.step()
    return (then if condition.test(value, work) is None else other).test(value, work)


def _required(required: tuple[str, ...], value: Any, work: Work) -> Mismatch | None:
    work.step(len(required) // _SHOWN)
    missing = [name for name in required if name not in value]
    return Mismatch("missing_argument", f"missing {_keys(missing)}", missing) if missing else None


def _property_names(node: SchemaNode, value: Any, work: Work) -> Mismatch | None:
    work.step(len(value))
    for name in value:
        if (mismatch := node.test(name, work)) is not None:
            return Mismatch("argument_value", f"the key `{name}`: {mismatch.text}")
    return None


def _dependent(name: str, node: SchemaNode, value: Any, work: Work) -> Mismatch | None:
    return node.test(value, work) if name in value else None


def _items(places: list[SchemaNode], rest: SchemaNode, value: Any, work: Work) -> Mismatch | None:
    if not places and rest.kinds.issuperset(map(type, value)):
        return None
    for index, item in enumerate(value):
        node = places[index] if index < len(places) else rest
        if type(item) not in node.kinds and (mismatch := node.test(item, work)) is not None:
            return mismatch.below(index)
    return None


def _contains(node: SchemaNode, minimum: int, maximum: int | None, value: Any, work: Work) -> Mismatch | None:
    fitting = sum(node.test(item, work) is None for item in value)
    if fitting < minimum:
        return Mismatch("argument_value", f"must contain at least {minimum} of {node.words or 'a form'}")
    if maximum is not None and fitting > maximum:
        return Mismatch("argument_value", f"must contain at most {maximum} of {node.words or 'a form'}")
    return None


def _unique(value: Any, work: Work) -> Mismatch | None:
    if type(value) in SETS:
        return None
    work.step(0 if LEAVES.issuperset(map(type, value)) else size_of(value))
    if len({_key(item) for item in value}) < len(value):
        return Mismatch("argument_value", "must have unique items")
    return None


def _number(schema: Mapping[str, Any]) -> list[Test]:
    tests: list[Test] = []
    for keyword, holds, words in (
        ("minimum", operator.ge, "at least"),
        ("maximum", operator.le, "at most"),
        ("exclusiveMinimum", operator.gt, "more than"),
        ("exclusiveMaximum", operator.lt, "less than"),
    ):
        if keyword not in schema:
            continue
        bound = schema[keyword]
        if isinstance(bound, bool) and keyword.startswith("exclusive"):  # before draft 6: a modifier of the other bound
            if not bound:
                continue
            bound = schema.get(keyword.removeprefix("exclusive").lower())
        if not _is_number(bound):
            raise SchemaError(f"`{keyword}` must be a number")
        tests.append(partial(_bounded, holds, bound, words))
    if "multipleOf" in schema:
        factor = schema["multipleOf"]
        if not _is_number(factor) or factor <= 0:
            raise SchemaError("`multipleOf` must be a number above 0")
        tests.append(partial(_bounded, _is_multiple, factor, "a multiple of"))
    return tests


def _bounded(holds: Callable[[Any, Any], bool], bound: Any, words: str, value: Any, _work: Work) -> Mismatch | None:
    return None if holds(value, bound) else Mismatch("argument_value", f"must be {words} {bound}")


def _is_multiple(value: float, factor: float) -> bool:
    if type(value) is int and type(factor) is int:
        return value % factor == 0
    try:
        return (value / factor).is_integer()
    except OverflowError:  # too large for a float
        return False


def _size_tests(schema: Mapping[str, Any], minimum: str, maximum: str, noun: str) -> list[Test]:
    low, high = _count(schema, minimum), _count(schema, maximum)
    return [] if low is None and high is None else [partial(_sized, low or 0, high, noun)]


def _sized(low: int, high: int | None, noun: str, value: Any, _work: Work) -> Mismatch | None:
    if len(value) < low:
        return Mismatch("argument_value", f"must have at least {low} {noun}, got {len(value)}")
    if high is not None and len(value) > high:
        return Mismatch("argument_value", f"must have at most {high} {noun}, got {len(value)}")
    return None


def _count(schema: Mapping[str, Any], keyword: str) -> int | None:
    if keyword not in schema:
        return None
    value = schema[keyword]
    if not _is_number(value) or value < 0 or value != int(value):
        raise SchemaError(f"`{keyword}` must be an integer, at least 0")
    return int(value)


def _mapping(schema: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
    value = schema.get(keyword, {})
    if not isinstance(value, Mapping) or not all(type(name) is str for name in value):
        raise SchemaError(f"`{keyword}` must be an object")
    return value


def _list(value: Any, keyword: str, *, empty: bool = False) -> list[Any]:
    if not isinstance(value, (list, tuple)) or not (value or empty):
        raise SchemaError(f"`{keyword}` must be a list")
    return list(value)


def _names(value: Any, keyword: str) -> list[str]:
    names = _list(value, keyword, empty=True)
    if not all(type(name) is str for name in names):
        raise SchemaError(f"`{keyword}` must be a list of strings")
    return names


def _is_type(name: Any) -> bool:
    return type(name) is str and name in _KINDS


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _key(value: Any) -> Any:
    """A hashable key that is equal for values that are equal in JSON."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is bool:
        return kind, value
    if kind in OBJECTS:
        return "object", frozenset((name, _key(item)) for name, item in value.items())
    if kind in LISTS:
        return "array", tuple(map(_key, value))
    if kind in SETS:
        return "array", frozenset(map(_key, value))
    return ("bytes", value) if kind is bytes else ("number", value) if kind in (int, float) else (kind, value)


def size_of(value: Any) -> int:
    """Number of values in a value; a long text counts as several."""
    count, stack = 0, [value]
    while stack:
        item = stack.pop()
        count += 1
        kind = type(item)
        if kind is str:
            count += len(item) // TEXT_STEP
        elif kind in OBJECTS:
            stack.extend(item.values())
        elif kind in LISTS or kind in SETS:
            stack.extend(item)
    return count


def _described_type(value: Any) -> str:
    return _TYPE_NAMES.get(type(value), "an opaque value")


def _one_of(words: list[str]) -> str:
    found = list(dict.fromkeys(words))
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} or {found[-1]}"


def _keys(names: Sequence[str]) -> str:
    return f"key{'' if len(names) == 1 else 's'} {_quoted(names)}"


def _quoted(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
