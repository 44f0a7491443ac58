"""Tools: the `@tool` decorator, the set of tools a run may use, and the binding of a call to a signature.

    @tool(reversible=False, scope=("files:write",))
    async def write_file(path: str, content: str, mode: str = "w") -> str: ...

    tools = ToolSet.from_functions(write_file)

Nothing is registered anywhere: a function carries its own `ToolDef`, and a `ToolSet` is passed in.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import Parameter
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast

from bobcat.frozen import deep_freeze
from bobcat.model import ToolDef, ToolMetadata

META = "__bobcat_meta__"
LYNX_META = "__lynx_meta__"
SIGNATURE = "__bobcat_signature__"

# Any: tools take and return what they like.
Fn = TypeVar("Fn", bound=Callable[..., Awaitable[Any]])
_EMPTY: Mapping[str, ToolDef] = MappingProxyType({})


class ArgumentError(ValueError):
    """A call does not fit its tool's signature. The message is what the model is told."""


def tool(
    *,
    cost: Literal["low", "medium", "high"] = "low",
    reversible: bool = True,
    scope: tuple[str, ...] = (),
    blast_radius_hint: int | None = None,
    isolation: str | None = None,
    name: str | None = None,
    description: str | None = None,
) -> Callable[[Fn], Fn]:
    """Declare an async function to be a tool, and what a policy may know about it.

    The function comes back unchanged, with its `ToolDef` attached and a `.shadow` decorator for its dry-run twin.
    The name defaults to the function's, the description to its docstring.
    """
    given: object = scope
    if isinstance(given, str):  # one scope per letter otherwise, and no rule on `fs:write` would fire
        raise TypeError(f"scope must be a tuple of strings, got the string {scope!r}; write scope=({scope!r},)")
    metadata = ToolMetadata(cost, reversible, tuple(scope), blast_radius_hint, False, isolation)

    def decorate(fn: Fn) -> Fn:
        label = _label(fn)
        if not _is_async(fn):
            raise TypeError(
                f"@tool requires async function; {label} is sync. "
                "Wrap sync code with asyncio.to_thread() inside an async shim."
            )
        if definition_of(fn) is not None:
            raise TypeError(
                f"{label} is already decorated with @tool; double-decoration is unsupported "
                "because it would silently overwrite metadata."
            )
        text = description or (inspect.getdoc(fn) or "").strip()
        definition = ToolDef(name or label, text, fn, None, metadata)
        _attach(fn, definition)
        with suppress(ValueError):  # defaults that cannot be frozen: said when a call needs them
            signature_of(definition)
        fn.shadow = lambda shadow_fn: _add_shadow(fn, shadow_fn)  # type: ignore[attr-defined]
        return fn

    return decorate


def shadow(real_fn: Callable[..., Any]) -> Callable[[Fn], Fn]:
    """The dry-run twin of a tool: `@shadow(write_file)` is `@write_file.shadow`."""
    if definition_of(real_fn) is None:
        raise TypeError(f"{_label(real_fn)} is not decorated with @tool — cannot attach a shadow")
    return lambda shadow_fn: _add_shadow(real_fn, shadow_fn)


def definition_of(fn: object) -> ToolDef | None:
    """The `ToolDef` that `@tool` left on a function, or None."""
    # Programs written for the incumbent put a changed definition under its name: that one counts.
    found = getattr(fn, LYNX_META, None) or getattr(fn, META, None)
    return cast("ToolDef | None", found)


@dataclass(frozen=True, slots=True)
class ToolSet:
    """An immutable set of tools by name. The mapping it is built from is copied."""

    tools: Mapping[str, ToolDef] = field(default_factory=lambda: _EMPTY)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", MappingProxyType(dict(self.tools)))

    def __reduce__(self) -> tuple[type[ToolSet], tuple[dict[str, ToolDef]]]:
        return type(self), (dict(self.tools),)

    @classmethod
    def from_functions(cls, *fns: Callable[..., Any]) -> ToolSet:
        """The tools of decorated functions. Shadows attached later are not seen."""
        found: dict[str, ToolDef] = {}
        for fn in fns:
            definition = definition_of(fn)
            if definition is None:
                raise TypeError(f"{_label(fn)} is not decorated with @tool — cannot include in ToolSet")
            if definition.name in found:
                raise ValueError(f"Duplicate tool name {definition.name!r} in ToolSet.from_functions")
            found[definition.name] = definition
        return cls(found)

    def with_tool(self, t: ToolDef) -> ToolSet:
        """This set and one more tool."""
        if t.name in self.tools:
            raise ValueError(
                f"ToolSet already contains a tool named {t.name!r}; use without_tool first or build a new ToolSet"
            )
        return ToolSet({**self.tools, t.name: t})

    def without_tool(self, name: str) -> ToolSet:
        """This set without one tool; the same tools when it is not there."""
        return ToolSet({known: definition for known, definition in self.tools.items() if known != name})

    def union(self, other: ToolSet) -> ToolSet:
        """Both sets. A name may be in one of them only."""
        overlap = self.tools.keys() & other.tools.keys()
        if overlap:
            raise ValueError(f"ToolSet.union collision on names: {sorted(overlap)}")
        return ToolSet({**self.tools, **other.tools})

    def names(self) -> tuple[str, ...]:
        """The names, sorted."""
        return tuple(sorted(self.tools))

    def get(self, name: str) -> ToolDef:
        """The tool of that name; KeyError when there is none."""
        found = self.tools.get(name)
        if found is None:
            raise KeyError(f"Unknown tool: {name}")
        return found

    def __len__(self) -> int:
        return len(self.tools)


class Signature:
    """What a tool's function accepts, read once: binds a call's arguments to it."""

    __slots__ = ("_accepted", "_defaults", "_fn", "_open", "_required", "_tool", "exact")

    def __init__(self, definition: ToolDef) -> None:
        self._tool = definition.name
        self._fn = definition.fn
        actual = _parameters(definition.fn, follow_wrapped=False)
        declared = _parameters(definition.fn, follow_wrapped=True)
        self._open = any(p.kind is Parameter.VAR_KEYWORD for p in actual)
        named = [p for p in actual if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)]
        self._accepted = frozenset(p.name for p in named)
        self.exact = None if self._open else self._accepted
        """The arguments that fit as they are, nothing missing and nothing to fill in; None where any may come."""
        self._required = tuple(p.name for p in named if p.default is Parameter.empty)
        # A decorator's wrapper often takes `**kwargs`: the defaults that will be used are then those of what it wraps.
        sources = named + (declared if self._open else [])
        self._defaults = {
            p.name: deep_freeze(p.default)
            for p in reversed(sources)
            if p.default is not Parameter.empty and p.kind is not Parameter.POSITIONAL_ONLY
        }

    def belongs_to(self, definition: ToolDef) -> bool:
        """Whether it was read from this tool's own function, not from one that was wrapped, and under this name."""
        return self._fn is definition.fn and self._tool == definition.name

    def bind(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """`args` with the defaults filled in; `args` itself when there are none to fill in.

        Raises `ArgumentError` for an argument the tool does not take and for one it needs and did not get.
        """
        if self.exact is not None and args.keys() == self.exact:
            return args
        if not self._open and not self._accepted.issuperset(args):
            unknown = sorted(name for name in args if name not in self._accepted)
            raise ArgumentError(
                f"unknown argument{_s(unknown)} {_quoted(unknown)} for tool {self._tool!r}; "
                f"it takes {_quoted(sorted(self._accepted)) or 'none'}"
            )
        bound = args if args.keys() >= self._defaults.keys() else {**self._defaults, **args}
        missing = [name for name in self._required if name not in bound]
        if missing:
            raise ArgumentError(f"missing argument{_s(missing)} {_quoted(missing)} for tool {self._tool!r}")
        return bound


def signature_of(definition: ToolDef) -> Signature:
    """The signature of a tool. PERF: reading it takes 40 µs, so it stays with the function it was read from."""
    fn = definition.fn
    known = getattr(fn, "__dict__", {}).get(SIGNATURE)
    if isinstance(known, Signature) and known.belongs_to(definition):
        return known
    found = Signature(definition)
    with suppress(AttributeError, TypeError):  # not everything that can be called can carry an attribute
        setattr(fn, SIGNATURE, found)
    return found


def bind_arguments(definition: ToolDef, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments a call really has: `args` with the signature's defaults. See `Signature.bind`."""
    return signature_of(definition).bind(args)


def taken_by(fn: Callable[..., Any], args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those of `args` that `fn` takes. A shadow need not name every argument of its tool."""
    parameters = _parameters(fn, follow_wrapped=False)
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
        return args
    names = {p.name for p in parameters}
    return {name: value for name, value in args.items() if name in names}


def _parameters(fn: Callable[..., Any], *, follow_wrapped: bool) -> list[Parameter]:
    try:
        return list(inspect.signature(fn, follow_wrapped=follow_wrapped).parameters.values())
    except (TypeError, ValueError):  # a callable without a readable signature takes whatever it is given
        return [Parameter("kwargs", Parameter.VAR_KEYWORD)]


def _attach(fn: Callable[..., Any], definition: ToolDef) -> None:
    setattr(fn, META, definition)
    setattr(fn, LYNX_META, definition)


def _add_shadow(real_fn: Callable[..., Any], shadow_fn: Fn) -> Fn:
    if not _is_async(shadow_fn):
        raise TypeError("shadow function must be async")
    current = definition_of(real_fn)
    if current is None:
        raise TypeError(f"{_label(real_fn)} is not decorated with @tool — cannot attach a shadow")
    metadata = dataclasses.replace(current.metadata, has_shadow=True)
    _attach(real_fn, dataclasses.replace(current, shadow_fn=shadow_fn, metadata=metadata))
    return shadow_fn


def _is_async(fn: object) -> bool:
    return inspect.iscoroutinefunction(fn)


def _label(fn: object) -> str:
    return str(getattr(fn, "__name__", None) or repr(fn))


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _s(names: list[str]) -> str:
    return "" if len(names) == 1 else "s"
