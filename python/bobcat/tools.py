"""Tools: the `@tool` decorator, the set of tools a run may use, and the binding of a call to a signature.

    @tool(reversible=False, scope=("files:write",))
    async def write_file(path: str, content: str, mode: str = "w") -> str: ...

    tools = ToolSet.from_functions(write_file)

Nothing is registered anywhere: a function carries its own `ToolDef`, and a `ToolSet` is passed in.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import Parameter
from types import MappingProxyType
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, cast, get_args, overload

from bobcat.frozen import FrozenDict, deep_freeze
from bobcat.model import Effect, ToolDef, ToolMetadata
from bobcat.run_values import Reconcile

META = "__bobcat_meta__"
LYNX_META = "__lynx_meta__"
SIGNATURE = "__bobcat_signature__"

# Any: tools take and return what they like.
Fn = TypeVar("Fn", bound=Callable[..., Awaitable[Any]])
_EMPTY: Mapping[str, ToolDef] = FrozenDict()
_NONE: frozenset[str] = frozenset()
ReconcileFn = TypeVar("ReconcileFn", bound=Reconcile)
P = ParamSpec("P")
R = TypeVar("R", bound=Awaitable[Any])
R_co = TypeVar("R_co", bound=Awaitable[Any], covariant=True)

Cost = Literal["low", "medium", "high"]
COSTS: tuple[Cost, ...] = get_args(Cost)

GIVEN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "none": (),
        "idempotent": (),
        "keyed": ("idempotency_key",),
        "transactional": ("transaction", "idempotency_key"),
        "fenced": ("fence", "idempotency_key"),
        "unsafe": (),
    }
)
"""The effects, and which parameters the run gives to a tool of each. The first of them the tool must have."""


class ArgumentError(ValueError):
    """A call does not fit its tool's signature. The message is what the model is told."""


class ToolFunction(Protocol[P, R_co]):
    """What `@tool` makes of an async function, for type checkers: the function, and its two decorators."""

    __name__: str
    __qualname__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function itself. No policy is asked."""

    def shadow(self, fn: Fn, /) -> Fn:
        """Attach the dry-run twin; see `shadow`."""

    def reconcile(self, fn: ReconcileFn, /) -> ReconcileFn:
        """Attach what can tell whether an action happened; see `reconcile`."""


@overload
def tool(fn: Callable[P, R], /) -> ToolFunction[P, R]: ...
@overload
def tool(
    *,
    cost: Cost = "low",
    reversible: bool = True,
    scope: Sequence[str] = (),
    blast_radius_hint: int | None = None,
    isolation: str | None = None,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "unsafe",
) -> Callable[[Callable[P, R]], ToolFunction[P, R]]: ...
def tool(
    fn: object = None,
    /,
    *,
    cost: Cost = "low",
    reversible: bool = True,
    scope: Sequence[str] = (),
    blast_radius_hint: int | None = None,
    isolation: str | None = None,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "unsafe",
) -> Any:  # Any: see the overloads
    """Declare an async function to be a tool, and what a policy may know about it: `@tool`, or `@tool(cost="high")`.

    `cost`, `reversible`, `scope`, `blast_radius_hint` (how many things one call may touch), `isolation` (which executor
    may run it) and `effect` are what a policy reads under `declared`. `name` is what a policy and a model call it.

    The function comes back unchanged, with its `ToolDef` attached, a `.shadow` decorator for its dry-run twin, and a
    `.reconcile` decorator for the function that can tell whether an action happened. The name defaults to the
    function's, the description to its docstring.

    `effect` says what makes an action of the tool happen once, however often a run is interrupted and resumed:

    * `none`: it has no effect;  `idempotent`: running it again with the same arguments changes nothing more;
    * `keyed`: it gets `idempotency_key: str`, and whoever it calls acts once on one key;
    * `transactional`: it gets `transaction`, writes through `transaction.connection`, and its result is committed
      together with what it wrote;
    * `fenced`: it gets `fence: int`; what it writes to refuses a lower fence than the highest it has seen, and a
      repetition under a higher one replaces what was done;
    * `unsafe`: none of these. An action that may have run is run again only with an approval.

    What a tool gets in this way is not part of its schema, and no argument of a call can set it. A `transactional` and
    a `fenced` tool may take `idempotency_key`, too.
    """
    if fn is not None and not callable(fn):
        raise TypeError(f"@tool takes keyword arguments only, got {fn!r}; a name is written @tool(name={fn!r})")
    if isinstance(scope, str):  # one scope per letter otherwise, and no rule on `fs:write` would fire
        raise TypeError(f"scope must be a tuple of strings, got the string {scope!r}; write scope=({scope!r},)")
    scope = tuple(scope)
    _check_declared(cost, reversible, scope, blast_radius_hint, isolation)
    decorate = declare(
        cost=cost,
        reversible=reversible,
        scope=scope,
        blast_radius_hint=blast_radius_hint,
        isolation=isolation,
        name=name,
        description=description,
        effect=effect,
    )
    return decorate if fn is None else decorate(cast("Callable[..., Awaitable[Any]]", fn))


def _check_declared(
    cost: object, reversible: object, scope: tuple[object, ...], radius: object, isolation: object
) -> None:
    """Refuse what no rule of a policy would expect: it would not fire, and nobody would know."""
    if cost not in COSTS:
        raise ValueError(f"cost must be one of {', '.join(map(repr, COSTS))}, got {cost!r}")
    if not isinstance(reversible, bool):
        raise TypeError(f"reversible must be True or False, got {reversible!r}")
    if not all(isinstance(item, str) for item in scope):
        raise TypeError(f"scope must be a tuple of strings, got {scope!r}")
    if radius is not None and (isinstance(radius, bool) or not isinstance(radius, int)):
        raise TypeError(f"blast_radius_hint must be an integer or None, got {radius!r}")
    if isolation is not None and not isinstance(isolation, str):
        raise TypeError(f"isolation must be a string or None, got {isolation!r}")


def declare(
    *,
    cost: Cost,
    reversible: bool,
    scope: Iterable[str],
    blast_radius_hint: int | None,
    isolation: str | None,
    name: str | None,
    description: str | None,
    effect: Effect = "unsafe",
) -> Callable[[Fn], Fn]:
    """`tool`, without a look at what is declared."""
    if effect not in GIVEN:
        raise ValueError(f"effect must be one of {', '.join(map(repr, GIVEN))}, got {effect!r}")
    metadata = ToolMetadata(cost, reversible, tuple(scope), blast_radius_hint, False, isolation, effect)

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
        missing = next(iter(GIVEN[effect][:1]), None)
        if missing is not None and missing not in given_parameters(definition):
            raise TypeError(f"@tool(effect={effect!r}) requires a parameter `{missing}`; {label} has none")
        _attach(fn, definition)
        with suppress(ValueError):  # defaults that cannot be frozen: said when a call needs them
            signature_of(definition)
        fn.shadow = lambda shadow_fn: _add_shadow(fn, shadow_fn)  # type: ignore[attr-defined]
        fn.reconcile = lambda reconcile_fn: _add_reconcile(fn, reconcile_fn)  # type: ignore[attr-defined]
        return fn

    return decorate


def shadow(real_fn: Callable[..., Any]) -> Callable[[Fn], Fn]:
    """The dry-run twin of a tool: `@shadow(write_file)` is `@write_file.shadow`."""
    if definition_of(real_fn) is None:
        raise TypeError(f"{_label(real_fn)} is not decorated with @tool — cannot attach a shadow")
    return lambda shadow_fn: _add_shadow(real_fn, shadow_fn)


def reconcile(real_fn: Callable[..., Any]) -> Callable[[ReconcileFn], ReconcileFn]:
    """What can tell whether an action of a tool happened: `@reconcile(pay)` is `@pay.reconcile`.

        @pay.reconcile
        async def did_pay(key: str, args: Mapping[str, Any]) -> Happened | NotHappened | Unknown: ...

    It is asked about an action that was about to run when its run was interrupted, with the idempotency key and the
    arguments of that action. What it raises counts as `Unknown`.
    """
    if definition_of(real_fn) is None:
        raise TypeError(f"{_label(real_fn)} is not decorated with @tool — cannot attach a reconciler")
    return lambda reconcile_fn: _add_reconcile(real_fn, reconcile_fn)


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
        if not isinstance(self.tools, Mapping):
            raise TypeError(
                f"ToolSet takes a mapping of names to ToolDefs, got {type(self.tools).__name__}; "
                "for functions write ToolSet.from_functions(...)"
            )
        object.__setattr__(self, "tools", FrozenDict(self.tools))

    @classmethod
    def from_functions(cls, *fns: Callable[..., Any]) -> ToolSet:
        """The tools of decorated functions. Shadows attached later are not seen."""
        found: dict[str, ToolDef] = {}
        for fn in fns:
            definition = definition_of(fn)
            if definition is None and isinstance(fn, list | tuple | set | frozenset):
                raise TypeError(
                    f"ToolSet.from_functions takes functions, got a {type(fn).__name__}; write from_functions(*tools)"
                )
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

    __slots__ = (
        "_accepted",
        "_defaults",
        "_effect",
        "_fn",
        "_nameless",
        "_open",
        "_required",
        "_tool",
        "exact",
        "given",
    )

    def __init__(self, definition: ToolDef) -> None:
        self._tool = definition.name
        self._fn = definition.fn
        actual = _parameters(definition.fn, follow_wrapped=False)
        declared = _parameters(definition.fn, follow_wrapped=True)
        self._open = any(p.kind is Parameter.VAR_KEYWORD for p in actual)
        self._effect = definition.metadata.effect
        self.given = given_parameters(definition)
        """The parameters that the run gives, and no call may."""
        kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        named = [p for p in actual if p.kind in kinds and p.name not in self.given]
        self._accepted = frozenset(p.name for p in named)
        self._nameless = [p.name for p in actual if p.kind is Parameter.POSITIONAL_ONLY]
        self.exact = None if self._open or self._nameless else self._accepted
        """The arguments that fit as they are, nothing missing and nothing to fill in; None where any may come."""
        self._required = tuple(p.name for p in named if p.default is Parameter.empty)
        # A decorator's wrapper often takes `**kwargs`: the defaults that will be used are then those of what it wraps.
        sources = named + (declared if self._open else [])
        self._defaults = {
            p.name: deep_freeze(p.default)
            for p in reversed(sources)
            if p.default is not Parameter.empty and p.kind is not Parameter.POSITIONAL_ONLY and p.name not in self.given
        }

    def belongs_to(self, definition: ToolDef) -> bool:
        """Whether it was read from this tool's own function, not from one that was wrapped, and as this tool."""
        same = self._fn is definition.fn and self._tool == definition.name
        return same and self._effect == definition.metadata.effect

    def bind(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """`args` with the defaults filled in; `args` itself when there are none to fill in.

        Raises `ArgumentError` for an argument the tool does not take and for one it needs and did not get, and for a
        tool with positional-only parameters.
        """
        if self.exact is not None and args.keys() == self.exact:
            return args
        if self._nameless:  # its default would run, and no rule can see it
            raise ArgumentError(
                f"tool {self._tool!r} cannot be called: its {_quoted(self._nameless)} has no name in a call"
            )
        if not self._accepted.issuperset(args) and (not self._open or not self.given.isdisjoint(args)):
            unknown = sorted(name for name in args if name in self.given or not (self._open or name in self._accepted))
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


def given_parameters(definition: ToolDef) -> frozenset[str]:
    """The parameters that the run gives to a tool, and no call may: those of its effect that the function has."""
    wanted = GIVEN.get(definition.metadata.effect, ())
    if not wanted:
        return _NONE
    parameters = _parameters(definition.fn, follow_wrapped=False)
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):  # a wrapper that passes on what it gets
        parameters = parameters + _parameters(definition.fn, follow_wrapped=True)
    kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return frozenset(p.name for p in parameters if p.kind in kinds and p.name in wanted)


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


def _add_reconcile(real_fn: Callable[..., Any], reconcile_fn: ReconcileFn) -> ReconcileFn:
    if not _is_async(reconcile_fn):
        raise TypeError("reconcile function must be async")
    current = definition_of(real_fn)
    if current is None:
        raise TypeError(f"{_label(real_fn)} is not decorated with @tool — cannot attach a reconciler")
    _attach(real_fn, dataclasses.replace(current, reconcile_fn=reconcile_fn))
    return reconcile_fn


def _is_async(fn: object) -> bool:
    return inspect.iscoroutinefunction(fn)


def _label(fn: object) -> str:
    return str(getattr(fn, "__name__", None) or repr(fn))


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _s(names: list[str]) -> str:
    return "" if len(names) == 1 else "s"
