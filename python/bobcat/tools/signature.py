"""Validation of a call's arguments against a tool's signature.

Called by the run loop, the mediator and the command line before the policy evaluates a call, and again for arguments
that a rule or an approver has changed. The result is exact (`bobcat.model.exact`), fits the schema that models see
(`bobcat.tools.function_schema`), and contains the effective defaults. Nothing is converted.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from inspect import Parameter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bobcat.errors import ArgumentError
from bobcat.model.exact import Opaque, exact_arguments, is_flat, path_text
from bobcat.model.frozen import FrozenDict, deep_freeze, type_name
from bobcat.model.run import INPUT_SCHEMA, ToolDef

if TYPE_CHECKING:
    from bobcat.tools.schema_check import Compiler, Mismatch, SchemaNode

SIGNATURE = "__bobcat_signature__"

SUPPLIED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "none": (),
        "idempotent": (),
        "keyed": ("idempotency_key",),
        "transactional": ("transaction", "idempotency_key"),
        "fenced": ("fence", "idempotency_key"),
        "unsafe": (),
    }
)
"""The parameters that the run supplies, by effect. The tool must have the first of them."""

_NONE: frozenset[str] = frozenset()
_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_MISSING = object()
_JSON: frozenset[type] = frozenset({str, bool, int, float, type(None)})
# Any below: arguments of a tool have any type.


class ToolSignature:
    """The parameters of a tool's function, read once: binds a call's arguments to it."""

    def __init__(self, definition: ToolDef) -> None:
        self._tool = definition.name
        self._fn = definition.fn
        self._effect = definition.metadata.effect
        self._opaque_args = definition.opaque_args
        self._opaque = frozenset(definition.opaque_args)
        declared_schema = getattr(definition.fn, INPUT_SCHEMA, None)
        self._declared = declared_schema if isinstance(declared_schema, Mapping) else None
        actual = _parameters(definition.fn, follow_wrapped=False)
        declared = _parameters(definition.fn, follow_wrapped=True)
        passes_on = any(p.kind is Parameter.VAR_KEYWORD for p in actual)
        self._open = passes_on and any(p.kind is Parameter.VAR_KEYWORD for p in declared)
        self.given = supplied_parameters(definition)
        """The parameters that the run supplies, which no call may set."""
        # A decorator's wrapper often takes `**kwargs`: it takes the parameters and defaults of the wrapped function.
        named = {p.name: p for p in actual if p.kind in _NAMED and p.name not in self.given}
        for p in declared if passes_on else ():
            if p.kind in _NAMED and p.name not in self.given:
                named.setdefault(p.name, p)
        self._accepted = frozenset(named)
        self._positional_only = [p.name for p in actual if p.kind is Parameter.POSITIONAL_ONLY]
        self._required = tuple(name for name, p in named.items() if p.default is Parameter.empty)
        self._defaults = {
            name: Opaque(p.default) if name in self._opaque else deep_freeze(p.default)
            for name, p in named.items()
            if p.default is not Parameter.empty
        }
        any_name = self._open or self._positional_only or self._opaque or self._declared is not None
        self.exact = None if any_name else self._accepted
        """The names of arguments that are complete as given; None where any name is accepted."""
        self._check: _Check | None = None

    def belongs_to(self, definition: ToolDef) -> bool:
        """Return true if it was read from this tool's own function, not from a wrapped one, and for this tool."""
        return (
            self._fn is definition.fn
            and self._tool == definition.name
            and self._effect == definition.metadata.effect
            and self._opaque_args == definition.opaque_args
            and self._declared is getattr(definition.fn, INPUT_SCHEMA, None)
        )

    def kinds(self) -> Mapping[str, frozenset[type]] | None:
        """The types whose every plain value fits, by argument, for a tool that takes exactly these arguments.

        `bind` returns arguments with these names and types unchanged. None for a tool of another kind, and for one that
        cannot be called.
        """
        if self.exact is None:
            return None
        check = self._check or self._compiled()
        return check.kinds if check.problem is None else None

    def fits(self, args: Mapping[str, Any]) -> bool:
        """Return true if `bind` returns these arguments unchanged: plain values, of a tool that has `kinds`."""
        check = self._check or self._compiled()
        return args.keys() == check.kinds.keys() and all(
            type(value) in check.kinds[name] or check.fits(name, value) for name, value in args.items()
        )

    def bind(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """`args`, exact and with the defaults added; `args` itself when it is frozen and complete.

        Raises `ArgumentError` for an argument the tool does not take, for one it needs and did not get, for a value
        that is not exact or that the tool's schema refuses, and for a tool with positional-only parameters.
        """
        if self._positional_only:  # its default would be effective, and no rule can see it
            raise ArgumentError(
                f"tool {self._tool!r} cannot be called: its {_quoted(self._positional_only)} has no name in a call",
                "tool_signature",
            )
        args = self._exact(args)
        if self._declared is not None:
            return self._bind_declared(args)
        if not self._accepted.issuperset(args) and (not self._open or not self.given.isdisjoint(args)):
            unknown = [name for name in args if name in self.given or not (self._open or name in self._accepted)]
            raise self._unknown(unknown)
        bound = args if args.keys() >= self._defaults.keys() else FrozenDict({**self._defaults, **args})
        missing = [name for name in self._required if name not in bound]
        if missing:
            raise self._missing(missing)
        check = self._checked()
        if check.closed and not check.kinds.keys() >= args.keys():
            raise self._unknown([name for name in args if name not in check.kinds])
        missing = [name for name in check.required if name not in bound]
        if missing:
            raise self._missing(missing)
        for name, value in bound.items():
            if type(value) in check.kinds.get(name, _NONE) or value is self._defaults.get(name, _MISSING):
                continue
            mismatch = check.mismatch(name, value)
            if mismatch is not None:
                raise self._refusal(mismatch.below(name))
        return bound

    def seal(self, args: Mapping[Any, Any]) -> FrozenDict[str, Any]:
        """Exact arguments of a new call, with opaque values wrapped. Raises `ArgumentError`."""
        return exact_arguments(args, self._opaque)

    def _exact(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Exact arguments; a default of the tool's own may be any object, and an opaque value stays in its wrapper."""
        if not self._opaque:
            if type(args) is FrozenDict and is_flat(args):
                return args
            try:
                return exact_arguments(args)
            except ArgumentError:
                if not any(value is args.get(name) for name, value in self._defaults.items()):
                    raise
        own = {
            name: value
            for name, value in args.items()
            if type(name) is str
            and (value is self._defaults.get(name, _MISSING) or (name in self._opaque and type(value) is Opaque))
        }
        if not own:
            exact = exact_arguments(args)
        elif len(own) == len(args):
            return args if type(args) is FrozenDict else FrozenDict(own)
        else:
            rest = {name: value for name, value in args.items() if name not in own}
            exact = exact_arguments(rest)
            if type(args) is FrozenDict and all(exact[name] is value for name, value in rest.items()):
                return args
            exact = FrozenDict({name: own[name] if name in own else exact[name] for name in args})
        for name in self._opaque.intersection(exact):
            if name not in own:
                raise ArgumentError(
                    f"argument `{name}`: its value is opaque, and was not kept or comes from elsewhere; "
                    "repeat the call",
                    "argument_type",
                )
        return exact

    def _bind_declared(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """`bind` for a function that carries a schema."""
        from bobcat.tools.schema_check import SchemaError, Work
        from bobcat.tools.schema_defaults import bind_defaults

        stolen = [name for name in args if name in self.given]
        if stolen:
            raise self._unknown(stolen)
        check = self._checked()
        _check_json(args, self._opaque)
        try:
            work = Work(args)
            if check.has_defaults:
                args = bind_defaults(check.compiler, check.schema, args, work)
            mismatch = check.whole.test(args, work)
        except SchemaError as error:
            raise ArgumentError(f"tool {self._tool!r} cannot be called like this: {error}", "tool_schema") from error
        except RecursionError as error:
            raise ArgumentError("the arguments are nested too deeply for their schema", "argument_too_deep") from error
        if mismatch is not None:
            raise self._refusal(mismatch)
        return args

    def _compiled(self) -> _Check:
        self._check = _Check(self)
        return self._check

    def _checked(self) -> _Check:
        check = self._check or self._compiled()
        if check.problem is not None:
            raise ArgumentError(
                f"tool {self._tool!r} cannot be called: the schema of its arguments cannot be used: {check.problem}",
                "tool_schema",
            )
        return check

    def _refusal(self, mismatch: Mismatch) -> ArgumentError:
        path = mismatch.path[::-1]
        if path:
            code = "argument_value" if mismatch.names else mismatch.code
            return ArgumentError(f"argument `{path_text(path)}`: {mismatch.text}", code)
        if mismatch.code == "unknown_argument":
            return self._unknown(mismatch.names)
        if mismatch.code == "missing_argument":
            return self._missing(mismatch.names)
        return ArgumentError(f"the arguments: {mismatch.text}", mismatch.code)

    def _unknown(self, names: Sequence[str]) -> ArgumentError:
        check = self._checked() if self._declared is not None else self._check
        accepted: Iterable[str] = self._accepted
        if check is not None and (check.closed or self._declared is not None):
            accepted = check.kinds if check.closed else check.known
        takes = _quoted(sorted(accepted)) or "none"
        return ArgumentError(
            f"unknown argument{_s(names)} {_quoted(sorted(names))} for tool {self._tool!r}; it takes {takes}",
            "unknown_argument",
        )

    def _missing(self, names: Sequence[str]) -> ArgumentError:
        text = f"missing argument{_s(names)} {_quoted(names)} for tool {self._tool!r}"
        return ArgumentError(text, "missing_argument")


class _Check:
    """The compiled schema of a tool.

    Compiled at the first call: annotations may name classes that are defined later.
    """

    compiler: Compiler
    whole: SchemaNode

    def __init__(self, signature: ToolSignature) -> None:
        from bobcat.tools.function_schema import function_schema
        from bobcat.tools.schema_check import ANY_VALUE, NO_VALUE, Compiler, SchemaError, Work
        from bobcat.tools.schema_defaults import has_defaults

        self._error, self._work = SchemaError, Work
        self.problem: str | None = None
        self.known: frozenset[str] = _NONE
        self.closed = False
        """True for a function with `**kwargs: Unpack[...]`, which takes only the names in `kinds`."""
        self.required: tuple[str, ...] = ()
        """The names that `**kwargs: Unpack[...]` requires, beside the parameters."""
        self.kinds: dict[str, frozenset[type]] = {}
        """The types of which any value fits, per argument."""
        self._nodes: dict[str, SchemaNode] = {}
        self._extra = ANY_VALUE
        try:
            self.schema = function_schema(signature._fn, given=signature.given, opaque=signature._opaque, python=True)
            self.compiler = Compiler(self.schema, python=signature._declared is None)
            properties = self.schema.get("properties", {})
            if signature._declared is not None:
                self.whole = self.compiler.compile(self.schema)
                self.known = frozenset(properties)
                self.has_defaults = has_defaults(self.schema)
                return
            self._nodes = {name: self.compiler.compile(member) for name, member in properties.items()}
            extra = self.compiler.compile(self.schema["additionalProperties"])
            self.closed = signature._open and extra is NO_VALUE
            self.required = tuple(self.schema.get("required", ())) if self.closed else ()
            self._extra = ANY_VALUE if extra is NO_VALUE else extra  # the names come from the signature
        except SchemaError as error:
            self.problem = str(error)
        except RecursionError:
            self.problem = "it is nested too deeply"
        self.kinds = dict.fromkeys(signature._accepted, frozenset[type]())
        self.kinds.update((name, node.kinds) for name, node in self._nodes.items())

    def fits(self, name: str, value: Any) -> bool:
        """Return true if a flat value is exact and provably fits an argument."""
        if type(value) is float and not math.isfinite(value):
            return False
        try:
            return self.mismatch(name, value) is None
        except ArgumentError:
            return False

    def mismatch(self, name: str, value: Any) -> Mismatch | None:
        """Reason why a value does not fit an argument, or None."""
        try:
            return self._nodes.get(name, self._extra).test(value, self._work(value))
        except self._error as error:
            raise ArgumentError(f"argument `{name}`: {error}", "tool_schema") from error
        except RecursionError as error:
            text = f"argument `{name}`: nested too deeply for its schema"
            raise ArgumentError(text, "argument_too_deep") from error


def signature_of(definition: ToolDef) -> ToolSignature:
    """The signature of a tool. PERF: reading it takes 40 µs, so it is cached on the function."""
    fn = definition.fn
    known = getattr(fn, "__dict__", {}).get(SIGNATURE)
    if isinstance(known, ToolSignature) and known.belongs_to(definition):
        return known
    found = ToolSignature(definition)
    with suppress(AttributeError, TypeError):  # some callables take no attributes
        setattr(fn, SIGNATURE, found)
    return found


def bind_arguments(definition: ToolDef, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The effective arguments of a call: `args`, exact and with the signature's defaults. See `ToolSignature.bind`."""
    signature = signature_of(definition)
    return signature.bind(signature.seal(args) if definition.opaque_args else args)


def supplied_parameters(definition: ToolDef) -> frozenset[str]:
    """The parameters that the run supplies to a tool, by its effect and its function. No call may set them."""
    needed = SUPPLIED.get(definition.metadata.effect, ())
    if not needed:
        return _NONE
    parameters = _parameters(definition.fn, follow_wrapped=False)
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):  # a wrapper that passes its arguments on
        parameters = parameters + _parameters(definition.fn, follow_wrapped=True)
    return frozenset(p.name for p in parameters if p.kind in _NAMED and p.name in needed)


def accepted_arguments(fn: Callable[..., Any], args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The subset of `args` that `fn` takes. A shadow need not have every parameter of its tool."""
    parameters = _parameters(fn, follow_wrapped=False)
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
        return args
    names = {p.name for p in parameters}
    return {name: value for name, value in args.items() if name in names}


def _check_json(args: Mapping[str, Any], opaque: frozenset[str]) -> None:
    """Reject arguments without a JSON form: a remote tool receives its arguments as JSON."""
    for name, value in args.items():
        if name not in opaque and (found := _without_json(value)) is not None:
            path, kind = found
            text = f"argument `{path_text([name, *path[::-1]])}`: expected a JSON value, got `{kind}`"
            raise ArgumentError(text, "argument_type")


def _without_json(value: Any) -> tuple[list[str | int], str] | None:
    """The path, innermost step first, and the type of a part of an exact value without a JSON form."""
    if type(value) in _JSON:
        return None
    parts: Iterable[tuple[str | int, Any]]
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = () if _JSON.issuperset(map(type, value)) else enumerate(value)
    else:
        return [], type_name(value)
    for step, part in parts:
        if (found := _without_json(part)) is not None:
            found[0].append(step)
            return found
    return None


def _parameters(fn: Callable[..., Any], *, follow_wrapped: bool) -> list[Parameter]:
    try:
        return list(inspect.signature(fn, follow_wrapped=follow_wrapped).parameters.values())
    except (TypeError, ValueError):  # a callable without a readable signature accepts any arguments
        return [Parameter("kwargs", Parameter.VAR_KEYWORD)]


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _s(names: Sequence[str]) -> str:
    return "" if len(names) == 1 else "s"
