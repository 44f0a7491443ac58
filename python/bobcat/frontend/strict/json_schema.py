"""The JSON Schema (2020-12) of the policy language, for editors: completion, and most mistakes while typing.

A policy that `compile_policy` accepts is valid under the schema. The converse is false: predicates, patterns, unique
ids and operand types are checked by the compiler only. The compiler does not use this module.
"""

from __future__ import annotations

import re
from typing import Any, get_args

from bobcat.frontend.strict.capabilities import Permission
from bobcat.frontend.strict.capability_schema import capability_schema, resource_schema
from bobcat.frontend.strict.document import KEYS, LANGUAGE_VERSION, OnMissingShadow, OnNoMatch, OnRuleError
from bobcat.frontend.strict.memory_schema import NAMES_OF_SOURCES, formula_schemas, run_schemas, sources_schema
from bobcat.frontend.strict.obligations_schema import HOLDING, obligations_schema
from bobcat.frontend.strict.operands import SCALARS
from bobcat.frontend.strict.rules import MAX_APPROVALS_NEEDED, MAX_PRIORITY, MODES, PEOPLE, UNDOABLE, VERDICTS
from bobcat.frontend.strict.run_keys import COMPARISONS
from bobcat.frontend.strict.variable_schema import VARIABLE, include_schema, variables_schema, with_references
from bobcat.frontend.strict.variables import APART
from bobcat.frontend.strict.vocabulary import FOREIGN
from bobcat.language.facets import FACETS, GROUPS, IR_OPERATORS, PARTS
from bobcat.language.kinds import OperandForm, OperandKind
from bobcat.language.operators import NESTING, OPERATORS, ROWS, OperatorSpec
from bobcat.language.paths import closed_paths

# Any: JSON.
Schema = dict[str, Any]

_CLOSED: Schema = {"type": "object", "additionalProperties": False}
_SCALAR: Schema = {"type": ["string", "number", "boolean", "null"]}
_SCALARS: Schema = {"type": "array", "items": _SCALAR}
_REF: Schema = {
    "type": "object",
    "properties": {"ref": {"type": "string", "description": "a path; the value there is compared with"}},
    "required": ["ref"],
    "additionalProperties": False,
}
_BOUND: Schema = {"type": ["string", "number"]}
_BOUNDS: Schema = {"type": "array", "items": _BOUND, "minItems": 2, "maxItems": 2}
_TEXTS: Schema = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
_PLACES: Schema = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"anyOf": [{"type": "string"}, _REF]}, "minItems": 1},
    ]
}
_TESTS: Schema = {"$ref": "#/$defs/tests"}
_MATCH: Schema = {"$ref": "#/$defs/match"}
_MATCHES: Schema = {"type": "array", "items": _MATCH}
_OPERANDS: dict[OperandForm, Schema] = {
    OperandForm.VALUE: {},
    OperandForm.PATTERN: {"type": "string", "description": "an RE2 pattern, searched anywhere in the text"},
    OperandForm.SCALARS: _SCALARS,
    OperandForm.PART: _SCALAR,
    OperandForm.PARTS: _SCALARS,
    OperandForm.SOME_PARTS: {**_SCALARS, "minItems": 1},
    OperandForm.BOUND: _BOUND,
    OperandForm.BOUNDS: _BOUNDS,
    OperandForm.BOOL: {"type": "boolean"},
    OperandForm.TEXTS: _TEXTS,
    OperandForm.PLACES: _PLACES,
    OperandForm.GLOB: {"type": "string", "description": "`*` within a directory, `**` across them; the whole text"},
    OperandForm.SOURCES: NAMES_OF_SOURCES,
    OperandForm.TESTS: _TESTS,
}
_TYPES: dict[type, str] = {str: "string", float: "number", bool: "boolean", type(None): "null"}
_STEP = r"""(?:\.[^.\[\]]+|\[(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\])"""
_OPEN_PATH = rf"(?:args|context\.extra){_STEP}*"
_BELOW = rf"(?:args|context\.extra){_STEP}+"
_STEPS = rf"(?:args|context\.extra|declared|context|tool)(?:{_STEP})*"
_CHAIN = rf"(?:{'|'.join(sorted(NESTING))})"


_ALL = "|".join(OPERATORS)
_FACETS = "|".join(FACETS)
_NO_FACET = rf"(?!.*\.(?:{_FACETS})(?:\.|$))"
"""Keys with the name of a facet have schemas of their own."""
_NAME = rf"""(?:\.(?!(?:{_ALL})$)[^.\[\]]+|\[(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\])"""
_STRINGS: Schema = {"type": "array", "items": {"type": "string"}}
_WHOLE: dict[OperandForm, Schema] = {
    OperandForm.VALUE: {"type": "object"},
    OperandForm.BOOL: {"type": "boolean"},
    OperandForm.PART: {"anyOf": [{"type": "string"}, _REF]},
    OperandForm.PARTS: _STRINGS,
    OperandForm.SOME_PARTS: {**_STRINGS, "minItems": 1},
}
"""Operands of the operators that test a whole mapping of arguments."""


_PERMITS: dict[str, Schema] = {"decision": {"enum": list(get_args(Permission)), "default": "allow"}}
"""Keys whose values are others in a capability than in a rule."""


def policy_schema() -> Schema:
    """Return the schema as a new dict."""
    match = _match()
    properties = {
        "version": {"const": LANGUAGE_VERSION, "description": "the version of the language"},
        "include": include_schema(),
        "vars": variables_schema(),
        "defaults": _defaults(),
        "resources": {"type": "object", "additionalProperties": resource_schema()},
        "capabilities": {
            "type": "array",
            "items": {"$ref": "#/$defs/capability"},
            "description": "rules that permit, behind the rules of equal priority",
        },
        "sources": sources_schema(match["anyOf"][1]),
        "predicates": {"type": "object", "additionalProperties": _MATCH, "description": "names for matches"},
        "rules": {
            "type": "array",
            "items": {"$ref": "#/$defs/rule"},
            "description": "the first rule that fires decides",
        },
    }
    definitions = {
        "match": match,
        **formula_schemas(_MATCH),
        "rule": _rule(),
        "capability": capability_schema({**_rule()["properties"], **_PERMITS}),
        "transform": _transform(),
        "tests": _tests(),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Bobcat policy",
        **_CLOSED,
        "properties": {key: properties[key] if key in APART else with_references(properties[key]) for key in KEYS},
        "$defs": {"variable": VARIABLE, **{name: with_references(found) for name, found in definitions.items()}},
    }


def _defaults() -> Schema:
    return {
        **_CLOSED,
        "properties": {
            "on_no_match": {"enum": list(get_args(OnNoMatch)), "default": "deny"},
            "on_missing_shadow": {"enum": list(get_args(OnMissingShadow)), "default": "approve_required"},
            "on_rule_error": {"enum": list(get_args(OnRuleError)), "default": "deny"},
        },
    }


def _match() -> Schema:
    leaf: dict[str, Schema | bool] = {"all_of": _MATCHES, "any_of": _MATCHES, "not": _MATCH}
    patterns: dict[str, Schema | bool] = {rf"^{_OPEN_PATH}$": {}}
    for path, kind in closed_paths().items():
        leaf[path] = _equal_to(kind) if kind is not OperandKind.STRINGS else False
        for row in (row for row in ROWS if kind in row.kinds):
            equality = row.operand is OperandForm.VALUE
            leaf[f"{path}.{row.name}"] = {"anyOf": [_equal_to(kind), _REF]} if equality else _operand(row)
        if any(row.nests and kind in row.kinds for row in ROWS):
            patterns[rf"^{re.escape(path)}(?:\.{_CHAIN})+\.(?:{_ALL})$"] = {}
    leaf["args"] = leaf["context.extra"] = False
    whole = r"(?:args|context\.extra)"
    patterns[rf"^{_NO_FACET}{whole}{_STEP}*{_NAME}$"] = _SCALAR
    patterns |= _facets()
    patterns[rf"^{whole}\.(?:{'|'.join(sorted(row.name for row in ROWS if not row.whole))})$"] = _SCALAR
    patterns[rf"^{_NO_FACET}{_BELOW}\.(?:{'|'.join(map(re.escape, FOREIGN))})$"] = False
    for row in ROWS:
        if row.whole:
            whole_operand = _WHOLE.get(row.operand, False) if OperandKind.MAPPING in row.kinds else False
            patterns[rf"^{whole}\.{row.name}$"] = whole_operand
        patterns[rf"^{_NO_FACET}{_OPEN_PATH if row.whole else _BELOW}\.{row.name}$"] = (
            {"anyOf": [_SCALAR, _operand(row)]} if row.leading else _operand(row)
        )
    run_properties, run_patterns = run_schemas(_MATCH, _measure_tests(), _STEP, _NAME)
    leaf |= run_properties
    patterns |= run_patterns
    mapping = {"type": "object", "properties": leaf, "patternProperties": patterns, "additionalProperties": False}
    return {"anyOf": [{"type": "string", "description": "the name of a predicate"}, mapping]}


def _measure_tests() -> Schema:
    """Return the schemas of the operators that compare a count or a sum."""
    equal = {"anyOf": [_equal_to(OperandKind.NUMBER), _REF]}
    return {
        name: equal if OPERATORS[name].operand is OperandForm.VALUE else _operand(OPERATORS[name])
        for name in COMPARISONS
    }


def _facets() -> dict[str, Schema | bool]:
    """Return the schemas of keys with a facet: each part and operator, and a mapping of them."""
    patterns: dict[str, Schema | bool] = {rf"^{_STEPS}\.(?:{_FACETS})$": {}, rf"^{_STEPS}\.(?:{_FACETS})\..+$": {}}
    for facet in FACETS.values():
        below = rf"^{_STEPS}(?:\.(?:any|all|none))*\.{facet.name}"
        for row in IR_OPERATORS.values():
            if row.name in facet.operators:
                patterns[rf"{below}\.{row.name}$"] = {} if row.elements else _operand(row)
        for name, part in PARTS.get(facet.kind, {}).items():
            if part.kind in SCALARS or part.kind is OperandKind.HOST:
                kind = OperandKind.STRING if part.kind is OperandKind.HOST else part.kind
                patterns[rf"{below}\.{name}$"] = {**_equal_to(kind), "description": part.doc}
            for row in IR_OPERATORS.values():
                if part.kind in row.kinds and row.name not in FACETS:
                    patterns[rf"{below}\.{name}\.{row.name}$"] = _operand(row)
    return patterns


def _tests() -> Schema:
    """Return the schema of a mapping of operators; each may follow others: `lower.eq`."""
    properties: dict[str, Schema | bool] = {row.name: _operand(row) for row in ROWS if not row.path_only}
    properties |= dict.fromkeys(FOREIGN, False)
    each: Schema = {"type": "array", "items": _TESTS, "minItems": 1}
    properties |= {name: _TESTS if name == "not" else each for name in GROUPS}
    patterns: dict[str, Schema] = {
        rf"^(?:{_CHAIN}\.)+(?:{_ALL})$": {},
        rf"^(?:{_CHAIN}\.)*(?:{_FACETS})(?:\..+)?$": {},
    }
    return {
        "type": "object",
        "properties": properties,
        "patternProperties": patterns,
        "minProperties": 1,
    }


def _operand(row: OperatorSpec) -> Schema:
    """Return the schema of the operands of an operator."""
    schema = _OPERANDS[row.operand]
    if row.derived is OperandKind.COUNT:
        return {"anyOf": [{"type": "integer", "minimum": 0}, schema]}
    if row.reference is None or not schema:
        return schema
    return {"anyOf": [*schema.get("anyOf", [schema]), _REF]}


def _equal_to(kind: OperandKind) -> Schema:
    """Return the schema of values that can be equal to a path of this type."""
    if kind is OperandKind.STRINGS:
        return {"type": "array", "items": {"type": "string"}}
    return {"type": [_TYPES[scalar] for scalar in SCALARS[kind] if scalar is not int]}


def _rule() -> Schema:
    return {
        **_CLOSED,
        "required": ["match", "decision"],
        "properties": {
            "id": {
                "type": "string",
                "minLength": 1,
                "pattern": "^[^<]",
                "description": "unique; `rule_<index>` when missing",
            },
            "priority": {"type": "integer", "minimum": -MAX_PRIORITY, "maximum": MAX_PRIORITY, "default": 0},
            "description": {"type": "string", "description": "for people"},
            "match": _MATCH,
            "decision": {"enum": list(VERDICTS)},
            "reason": {"type": "string", "description": "shown to the model"},
            "approvers": {"type": "array", "items": {"type": "string", "minLength": 1}},
            "approvals_needed": {"type": "integer", "minimum": 1, "maximum": MAX_APPROVALS_NEEDED, "default": 1},
            "timeout_seconds": {"type": "number", "minimum": 0, "maximum": MAX_PRIORITY},
            "transform": {"$ref": "#/$defs/transform"},
            "undo": {"const": "required", "description": "the tool must be one that can be undone"},
            "obligations": obligations_schema(),
            "mode": {"enum": list(MODES), "description": "a monitored rule is compared, and decides nothing"},
        },
        "allOf": [
            _when("transform", {"required": ["transform"]}, {"properties": {"transform": False}}),
            _when("approve_required", {}, {"properties": dict.fromkeys(PEOPLE, False)}),
            _when(
                "deny", {"properties": {"obligations": {"items": {"properties": dict.fromkeys(HOLDING, False)}}}}, {}
            ),
            {"if": {"properties": {"decision": _or_reference(*UNDOABLE)}}, "else": {"properties": {"undo": False}}},
        ],
    }


def _when(verdict: str, then: Schema, otherwise: Schema) -> Schema:
    """Return what a decision demands, and what every other one does; that of a variable is unknown."""
    demanded = {"if": {"properties": {"decision": {"const": verdict}}}, "then": then}
    return {"allOf": [demanded, {"if": {"properties": {"decision": _or_reference(verdict)}}, "else": otherwise}]}


def _or_reference(*verdicts: str) -> Schema:
    return {"anyOf": [{"enum": list(verdicts)}, {"$ref": "#/$defs/variable"}]}


def _transform() -> Schema:
    return {
        **_CLOSED,
        "properties": {
            "jsonpath": {"type": "string", "pattern": rf"^\$\.args{_STEP}*$", "default": "$.args"},
            "set": {"description": "the new value"},
            "append": {"description": "what is put at the end of a string or a list"},
            "delete": {"const": True},
        },
        "oneOf": [{"required": [name]} for name in ("set", "append", "delete")],
        "if": {"properties": {"jsonpath": {"const": "$.args"}}},
        "then": {"properties": {"set": {"type": "object"}, "append": False, "delete": False}},
    }
