"""Random JSON Schemas, and random JSON that is often near what they accept."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st

NAMES = ("a", "b", "dry-run", "from")
_texts = st.sampled_from(["", "a", "ab", "abc", "b1", "é", "true", "1"])
_numbers = st.one_of(st.integers(-3, 12), st.sampled_from([0.5, 1.0, 2.5, -1.0, 10**20]))
scalars = st.one_of(st.none(), st.booleans(), _numbers, _texts)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from([*NAMES, "zz"]), inner, max_size=3)
    ),
    max_leaves=8,
)
arguments = st.dictionaries(st.sampled_from([*NAMES, "zz"]), values, max_size=4)


def _optional(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keywords)


_count = st.integers(0, 3)
_bound = st.one_of(st.integers(-2, 8), st.sampled_from([0.5, 2.5]))
_type = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
_patterns = st.sampled_from(["a", "^a", "b$", "[a-c]+1?", "^.?$"])


def _nodes(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    some = st.lists(inner, min_size=1, max_size=3)
    names = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
    return st.one_of(
        _optional(
            type=st.one_of(_type, st.lists(_type, min_size=1, max_size=3, unique=True)),
            minimum=_bound, exclusiveMaximum=_bound, multipleOf=st.sampled_from([1, 2, 0.5]),
            minLength=_count, maxLength=_count, pattern=_patterns,
        ),
        _optional(
            type=st.just("object"), properties=members, required=names, additionalProperties=inner,
            patternProperties=st.dictionaries(_patterns, inner, max_size=1), propertyNames=inner,
            minProperties=_count, maxProperties=_count,
            dependentRequired=st.dictionaries(st.sampled_from(NAMES), names, max_size=1),
            dependentSchemas=st.dictionaries(st.sampled_from(NAMES), inner, max_size=1),
        ),
        _optional(
            type=st.just("array"), items=inner, prefixItems=some, uniqueItems=st.booleans(), minItems=_count,
            maxItems=_count, contains=inner, minContains=_count, maxContains=_count,
        ),
        _optional(anyOf=some, type=_type),
        _optional(oneOf=some, properties=members),
        _optional(allOf=some, enum=st.lists(values, max_size=4)),
        _optional(**{"not": inner, "const": values}),
        _optional(**{"if": inner, "then": inner, "else": inner}),
        st.fixed_dictionaries({"$ref": st.sampled_from(["#/$defs/first", "#/$defs/second"])}),
    )  # fmt: skip


_leaves = st.one_of(st.booleans(), st.just({}), _type.map(lambda name: {"type": name}))
schemas: st.SearchStrategy[Any] = st.recursive(_leaves, _nodes, max_leaves=8)
"""Subschemas. Those with `$ref` need the definitions of `documents`."""


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Whole schemas of the arguments of a tool."""
    found: dict[str, Any] = {
        "type": "object",
        "properties": draw(st.dictionaries(st.sampled_from(NAMES), schemas, min_size=1, max_size=4)),
        "$defs": {"first": draw(schemas), "second": draw(_leaves)},
    }
    found.update(draw(_optional(required=st.lists(st.sampled_from(NAMES), max_size=2, unique=True))))
    found.update(draw(_optional(additionalProperties=st.booleans(), allOf=st.lists(schemas, min_size=1, max_size=2))))
    return found


@st.composite
def documents_with_defaults(draw: st.DrawFn) -> dict[str, Any]:
    """Whole schemas some of whose subschemas have a default, at any depth."""
    marked: dict[str, Any] = _marked(draw(documents()), draw)
    return marked


def _marked(schema: Any, draw: st.DrawFn) -> Any:
    if isinstance(schema, list):
        return [_marked(item, draw) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        key: value if key in ("const", "enum", "required") else _marked(value, draw) for key, value in schema.items()
    }
    if isinstance(found.get("properties"), dict):
        for name, member in found["properties"].items():
            if isinstance(member, dict) and draw(st.booleans()):
                found["properties"][name] = {**member, "default": draw(values)}
    return found
