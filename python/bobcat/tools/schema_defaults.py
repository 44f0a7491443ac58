"""Binding of JSON Schema defaults into a call's arguments: the policy evaluates the arguments that the server uses.

Called by `bobcat.tools.signature` for tools that carry a schema of their own. A default is bound for an argument that
is missing and not required, at every depth: under `properties`, in items, through `$ref`, `allOf`, conditions, and
those members of `anyOf` and `oneOf` that the value fits. A missing object whose members all have defaults, or need
none, is bound as the object of these defaults, unless its schema contains itself. A default of null means "absent", and
is not bound.

Where several defaults are possible for one value, the call is refused: the server's choice is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bobcat.errors import ArgumentError
from bobcat.model.exact import path_text
from bobcat.model.frozen import deep_freeze
from bobcat.tools.schema_check import Compiler, Work, found, same_json

MAX_ROUNDS = 20
"""Maximum number of rounds in which one default makes another apply."""

# Any throughout: schemas and arguments are JSON.
_NONE: Any = object()


def has_defaults(schema: Any) -> bool:
    """Return true if a schema contains a default anywhere."""
    stack, seen = [schema], set[int]()
    while stack:
        item = stack.pop()
        if not isinstance(item, (Mapping, list, tuple)) or id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Mapping):
            if "default" in item:
                return True
            stack.extend(item.values())
        else:
            stack.extend(item)
    return False


def bind_defaults(compiler: Compiler, schema: Mapping[str, Any], args: Mapping[str, Any], work: Work) -> Any:
    """Frozen arguments with the defaults of their schema; `args` itself without any default to bind.

    Raises `ArgumentError` where a default is ambiguous, and `SchemaError` as checks do.
    """
    plain = _mutable(args)
    filled = _Filling(compiler, work).fill_all(schema, plain, [])
    return deep_freeze(plain) if filled else args


class _Filling:
    """One binding of defaults."""

    def __init__(self, compiler: Compiler, work: Work) -> None:
        self._compiler = compiler
        self._work = work
        self._bound: dict[tuple[int, str], Any] = {}
        self._changed = False

    def fill_all(self, schema: Any, value: Any, path: list[str | int]) -> bool:
        """Bind the defaults in `value`, in place; return true if there was one."""
        for _ in range(MAX_ROUNDS):
            self._changed = False
            self._fill(schema, value, path)
            if not self._changed:
                return bool(self._bound)
        raise ArgumentError(f"argument{_at(path)}: its defaults depend on one another in a circle", "argument_value")

    def _fill(self, schema: Any, value: Any, path: list[str | int]) -> None:
        if not isinstance(schema, Mapping) or not isinstance(value, (dict, list)):
            return
        self._work.step()
        if "$ref" in schema:
            self._fill(self._compiler.target(schema["$ref"]), value, path)
        for member in schema.get("allOf", ()):
            self._fill(member, value, path)
        if isinstance(value, dict):
            self._fill_object(schema, value, path)
        else:
            for index, item in enumerate(value):
                self._fill(_item_schema(schema, index), item, [*path, index])
        if "if" in schema:
            holds = self._fits(schema["if"], value)
            if holds:
                self._fill(schema["if"], value, path)
            self._fill(schema.get("then" if holds else "else"), value, path)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                self._fill_one(schema[keyword], value, path)

    def _fill_object(self, schema: Mapping[str, Any], value: dict[str, Any], path: list[str | int]) -> None:
        required = schema.get("required", ())
        properties = schema.get("properties", {})
        for name, member in properties.items():
            key = (id(value), name)
            if name in value and key not in self._bound:
                continue
            default = _NONE if name in required else self._default(member, [*path, name])
            if default is _NONE:
                continue
            if key in self._bound:
                if not same_json(self._bound[key], default):
                    raise _ambiguous([*path, name])
                continue
            self._bound[key] = default
            self._changed = True
            value[name] = _mutable(default)
        for name, item in value.items():
            for member in self._member_schemas(schema, properties, name):
                self._fill(member, item, [*path, name])
        for keyword in ("dependentSchemas", "dependencies"):
            for name, member in schema.get(keyword, {}).items():
                if name in value:
                    self._fill(member, value, path)

    def _fill_one(self, members: Any, value: Any, path: list[str | int]) -> None:
        """Bind the defaults of the one alternative that the value fits, or those on which all fitting ones agree."""
        fitting = [member for member in members if self._fits(member, value)]
        if len(fitting) == 1:
            self._fill(fitting[0], value, path)
        elif fitting:
            results = []
            for member in fitting:
                trial = _mutable(value)
                _Filling(self._compiler, self._work).fill_all(member, trial, path)
                results.append(trial)
            if not all(same_json(result, results[0]) for result in results):
                raise _ambiguous(path)
            self._fill(fitting[0], value, path)

    def _default(self, schema: Any, path: list[str | int]) -> Any:
        """The default of a member that is missing, or `_NONE`."""
        declared = list(self._declared(schema, 0))
        if not declared:
            return self._default_object(schema, path)
        if not all(same_json(default, declared[0]) for default in declared):
            raise _ambiguous(path)
        return _NONE if declared[0] is None else declared[0]

    def _declared(self, schema: Any, depth: int) -> Iterator[Any]:
        """The defaults that a schema declares: its own, or else those of the schemas that it refers to or combines."""
        self._work.step()
        if not isinstance(schema, Mapping) or depth > MAX_ROUNDS:
            return
        if "default" in schema:
            yield schema["default"]
            return
        if "$ref" in schema:
            yield from self._declared(self._compiler.target(schema["$ref"]), depth + 1)
        for keyword in ("allOf", "anyOf", "oneOf"):
            for member in schema.get(keyword, ()):
                yield from self._declared(member, depth + 1)

    def _default_object(self, schema: Any, path: list[str | int]) -> Any:
        """The object of the defaults of a missing object; `_NONE` without defaults, or if others are required."""
        form = self._object_form(schema, 0)
        if form is None or self._compiler.contains_itself(form, self._work):
            return _NONE
        built: dict[str, Any] = {}
        filled = _Filling(self._compiler, self._work).fill_all(schema, built, path)
        return built if filled and self._fits(schema, built) else _NONE

    def _object_form(self, schema: Any, depth: int) -> Mapping[str, Any] | None:
        """The schema that declares a member as an object, with its properties."""
        self._work.step()
        if not isinstance(schema, Mapping) or depth > MAX_ROUNDS:
            return None
        if "properties" in schema and schema.get("type", "object") == "object":
            return schema
        parts = [self._compiler.target(schema["$ref"])] if "$ref" in schema else schema.get("allOf", ())
        return next((form for part in parts if (form := self._object_form(part, depth + 1)) is not None), None)

    def _member_schemas(self, schema: Mapping[str, Any], properties: Mapping[str, Any], name: str) -> Iterator[Any]:
        known = False
        if name in properties:
            known = True
            yield properties[name]
        for text, member in schema.get("patternProperties", {}).items():
            if found(self._compiler.pattern(text), name):
                known = True
                yield member
        if not known:
            yield schema.get("additionalProperties")

    def _fits(self, schema: Any, value: Any) -> bool:
        return self._compiler.compile(schema).test(value, self._work) is None


def _item_schema(schema: Mapping[str, Any], index: int) -> Any:
    items = schema.get("items")
    if isinstance(items, list):
        return items[index] if index < len(items) else schema.get("additionalItems")
    first = schema.get("prefixItems", ())
    return first[index] if index < len(first) else items


def _mutable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _mutable(item) for name, item in value.items()}
    return list(map(_mutable, value)) if isinstance(value, (list, tuple)) else value


def _ambiguous(path: list[str | int]) -> ArgumentError:
    return ArgumentError(f"argument{_at(path)}: must be given, as it has more than one default", "argument_value")


def _at(path: list[str | int]) -> str:
    return f" `{path_text(path)}`" if path else "s"
