"""Tools: the `@tool` decorator, and the set of tools a run may use. `bobcat.signature` binds calls to them.

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
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, cast, get_args, overload

from bobcat.errors import ArgumentError
from bobcat.frozen import FrozenDict
from bobcat.model import Effect, ToolDef, ToolMetadata
from bobcat.run_values import Reconcile
from bobcat.signature import GIVEN, Signature, bind_arguments, given_parameters, signature_of, taken_by
from bobcat.tool_names import check_tool_name

__all__ = [
    "COSTS",
    "GIVEN",
    "LYNX_META",
    "META",
    "ArgumentError",
    "Cost",
    "Signature",
    "ToolFunction",
    "ToolSet",
    "bind_arguments",
    "declare",
    "definition_of",
    "given_parameters",
    "reconcile",
    "shadow",
    "signature_of",
    "taken_by",
    "tool",
]

META = "__bobcat_meta__"
LYNX_META = "__lynx_meta__"

# Any: tools take and return what they like.
Fn = TypeVar("Fn", bound=Callable[..., Awaitable[Any]])
_EMPTY: Mapping[str, ToolDef] = FrozenDict()
ReconcileFn = TypeVar("ReconcileFn", bound=Reconcile)
P = ParamSpec("P")
R = TypeVar("R", bound=Awaitable[Any])
R_co = TypeVar("R_co", bound=Awaitable[Any], covariant=True)

Cost = Literal["low", "medium", "high"]
COSTS: tuple[Cost, ...] = get_args(Cost)


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
    opaque_args: Sequence[str] = (),
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
    opaque_args: Sequence[str] = (),
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

    Arguments must be exact values that fit the annotations; `docs/reference/tool-arguments.md` says which fit. Those
    that `opaque_args` names may be any object: the tool gets it, and no rule, approver or journal can read it.
    """
    if fn is not None and not callable(fn):
        raise TypeError(f"@tool takes keyword arguments only, got {fn!r}; a name is written @tool(name={fn!r})")
    if isinstance(scope, str):  # one scope per letter otherwise, and no rule on `fs:write` would fire
        raise TypeError(f"scope must be a tuple of strings, got the string {scope!r}; write scope=({scope!r},)")
    if isinstance(opaque_args, str):
        raise TypeError(
            f"opaque_args must be a tuple of strings, got the string {opaque_args!r}; write ({opaque_args!r},)"
        )
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
        opaque_args=tuple(opaque_args),
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
    opaque_args: Sequence[str] = (),
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
        definition = ToolDef(name or label, text, fn, None, metadata, opaque_args=tuple(opaque_args))
        missing = next(iter(GIVEN[effect][:1]), None)
        if missing is not None and missing not in given_parameters(definition):
            raise TypeError(f"@tool(effect={effect!r}) requires a parameter `{missing}`; {label} has none")
        strangers = [] if not opaque_args else sorted(set(opaque_args).difference(_names_of(fn)))
        if strangers:
            raise ValueError(f"opaque_args names parameters of the tool; {label} has none called {strangers}")
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
        for name in self.tools:
            check_tool_name(name)

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


def _names_of(fn: Callable[..., Any]) -> set[str]:
    return {p.name for p in inspect.signature(fn).parameters.values() if p.kind is not Parameter.POSITIONAL_ONLY}


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
