"""`@tool`: declare a function as a tool, with its shadow, its reconciler and its undo."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from inspect import Parameter
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, cast, get_args, overload

from bobcat.model.decision import Effect, ToolMetadata
from bobcat.model.run import Reconcile, ToolDef
from bobcat.tools.function_snapshots import FunctionSnapshotter, ReadState, WriteState
from bobcat.tools.signature import SUPPLIED, signature_of, supplied_parameters

META = "__bobcat_meta__"
LYNX_META = "__lynx_meta__"

# Any: arguments and results of tools have any type.
Fn = TypeVar("Fn", bound=Callable[..., Awaitable[Any]])
ReconcileFn = TypeVar("ReconcileFn", bound=Reconcile)
ReadFn = TypeVar("ReadFn", bound=ReadState)
WriteFn = TypeVar("WriteFn", bound=WriteState)
P = ParamSpec("P")
R = TypeVar("R", bound=Awaitable[Any])
R_co = TypeVar("R_co", bound=Awaitable[Any], covariant=True)

Cost = Literal["low", "medium", "high"]
COSTS: tuple[Cost, ...] = get_args(Cost)


class ToolFunction(Protocol[P, R_co]):
    """The result of `@tool` on an async function, for type checkers: the function, and its decorators."""

    __name__: str
    __qualname__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function itself. The policy is not asked."""

    def shadow(self, fn: Fn, /) -> Fn:
        """Attach the dry-run twin; see `shadow`."""

    def reconcile(self, fn: ReconcileFn, /) -> ReconcileFn:
        """Attach the reconciler, which reports whether an action happened; see `reconcile`."""

    def snapshot(self, *, target: str | None = None) -> Callable[[ReadFn], ReadFn]:
        """Attach the function that reads, as JSON, the state which the tool changes: for `Undo`.

        `target` names the argument that names the resource, which policies read in `undo.apply`.
        """

    def undo(self, fn: WriteFn, /) -> WriteFn:
        """Attach the function that restores a state which `snapshot` read: `async def undo_pay(snapshot, args)`."""


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
    compress: str | None = None,
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
    compress: str | None = None,
) -> Any:  # Any: see the overloads
    """Declare an async function as a tool, with the metadata that policies read: `@tool`, or `@tool(cost="high")`.

    Policies read `cost`, `reversible`, `scope`, `blast_radius_hint` (the number of things that one call may touch),
    `isolation` (the executors that may run it) and `effect` under `declared`. Policies and models call the tool by
    `name`.

    The function is returned unchanged, with its `ToolDef` attached, a `.shadow` decorator for its dry-run twin, and a
    `.reconcile` decorator for the function that reports whether an action happened; `.snapshot` and `.undo` are those
    of the functions that `Undo` calls. The name defaults to the function's, the description to its docstring.

    `effect` states how an action of the tool happens once, however often a run is interrupted and resumed:

    * `none`: it has no effect; `idempotent`: running it again with the same arguments changes nothing more;
    * `keyed`: it gets `idempotency_key: str`, and the service it calls acts once per key;
    * `transactional`: it gets `transaction`, writes through `transaction.connection`, and its result is committed
      together with its writes;
    * `fenced`: it gets `fence: int`; the service it writes to refuses a lower fence than the highest it has seen,
      and a repetition under a higher one replaces the earlier effect;
    * `unsafe`: none of these. An action that may have run is run again only with an approval.

    These parameters are not part of the tool's schema, and no argument of a call can set them. A `transactional` and a
    `fenced` tool may take `idempotency_key`, too.

    Arguments must be exact values that fit the annotations; `docs/reference/tool-arguments.md` lists the types. Those
    that `opaque_args` names may be any object: the tool gets it, and no rule, approver or journal can read it.

    `compress` selects the compressor of the tool's results in `route_compressor`.
    """
    if fn is not None and not callable(fn):
        raise TypeError(f"@tool takes keyword arguments only, got {fn!r}; write @tool(name={fn!r})")
    if isinstance(scope, str):  # otherwise every letter is a scope, and no rule on `fs:write` matches
        raise TypeError(f"scope must be a tuple of strings, got the string {scope!r}; write scope=({scope!r},)")
    if isinstance(opaque_args, str):
        raise TypeError(
            f"opaque_args must be a tuple of strings, got the string {opaque_args!r}; write ({opaque_args!r},)"
        )
    scope = tuple(scope)
    _check_declared(cost, reversible, scope, blast_radius_hint, isolation)
    if compress is not None and not isinstance(compress, str):
        raise TypeError(f"compress must be a string or None, got {compress!r}")
    metadata = ToolMetadata(cost, reversible, scope, blast_radius_hint, False, isolation, effect, compress)
    decorate = declare(metadata, name, description, tuple(opaque_args))
    return decorate if fn is None else decorate(cast("Callable[..., Awaitable[Any]]", fn))


def _check_declared(
    cost: object, reversible: object, scope: tuple[object, ...], radius: object, isolation: object
) -> None:
    """Reject declared values that no rule expects: such a rule would silently never match."""
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
    metadata: ToolMetadata, name: str | None, description: str | None, opaque_args: tuple[str, ...] = ()
) -> Callable[[Fn], Fn]:
    """`tool`, without checks of the declared values."""
    effect = metadata.effect
    if effect not in SUPPLIED:
        raise ValueError(f"effect must be one of {', '.join(map(repr, SUPPLIED))}, got {effect!r}")

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
        definition = ToolDef(name or label, text, fn, None, metadata, opaque_args=opaque_args)
        missing = next(iter(SUPPLIED[effect][:1]), None)
        if missing is not None and missing not in supplied_parameters(definition):
            raise TypeError(f"@tool(effect={effect!r}) requires a parameter `{missing}`, which {label} lacks")
        unknown = [] if not opaque_args else sorted(set(opaque_args).difference(_names_of(fn)))
        if unknown:
            raise ValueError(f"opaque_args must name parameters of the tool; {label} lacks {unknown}")
        _attach(fn, definition)
        with suppress(ValueError):  # defaults that cannot be frozen: reported when a call needs them
            signature_of(definition)
        fn.shadow = lambda shadow_fn: _add_shadow(fn, shadow_fn)  # type: ignore[attr-defined]
        fn.reconcile = lambda reconcile_fn: _add_reconcile(fn, reconcile_fn)  # type: ignore[attr-defined]
        fn.snapshot = lambda *, target=None: partial(_add_snapshot, fn, target)  # type: ignore[attr-defined]
        fn.undo = lambda undo_fn: _add_undo(fn, undo_fn)  # type: ignore[attr-defined]
        return fn

    return decorate


def shadow(real_fn: Callable[..., Any]) -> Callable[[Fn], Fn]:
    """Attach the dry-run twin of a tool: `@shadow(write_file)` is `@write_file.shadow`."""
    _definition(real_fn, "shadow")
    return lambda shadow_fn: _add_shadow(real_fn, shadow_fn)


def reconcile(real_fn: Callable[..., Any]) -> Callable[[ReconcileFn], ReconcileFn]:
    """Attach a reconciler, which reports whether an action happened: `@reconcile(pay)` is `@pay.reconcile`.

        @pay.reconcile
        async def did_pay(key: str, args: Mapping[str, Any]) -> Reconciled: ...

    It is called for an action whose run was interrupted after the intent, with the idempotency key and the arguments of
    that action. An exception counts as `Reconciled.unknown()`.
    """
    _definition(real_fn, "reconciler")
    return lambda reconcile_fn: _add_reconcile(real_fn, reconcile_fn)


def definition_of(fn: object) -> ToolDef | None:
    """The `ToolDef` that `@tool` attached to a function, or None."""
    # Programs written for lynx-agent store a changed definition under its attribute, which takes precedence.
    found = getattr(fn, LYNX_META, None) or getattr(fn, META, None)
    return cast("ToolDef | None", found)


def _definition(fn: Callable[..., Any], part: str) -> ToolDef:
    """The `ToolDef` of a function that gets a part. Raises `TypeError`."""
    found = definition_of(fn)
    if found is None:
        raise TypeError(f"{_label(fn)} is not decorated with @tool — cannot attach a {part}")
    return found


def _names_of(fn: Callable[..., Any]) -> set[str]:
    return {p.name for p in inspect.signature(fn).parameters.values() if p.kind is not Parameter.POSITIONAL_ONLY}


def _attach(fn: Callable[..., Any], definition: ToolDef) -> None:
    setattr(fn, META, definition)
    setattr(fn, LYNX_META, definition)


def _add_shadow(real_fn: Callable[..., Any], shadow_fn: Fn) -> Fn:
    if not _is_async(shadow_fn):
        raise TypeError("shadow function must be async")
    current = _definition(real_fn, "shadow")
    metadata = dataclasses.replace(current.metadata, has_shadow=True)
    _attach(real_fn, dataclasses.replace(current, shadow_fn=shadow_fn, metadata=metadata))
    return shadow_fn


def _add_reconcile(real_fn: Callable[..., Any], reconcile_fn: ReconcileFn) -> ReconcileFn:
    if not _is_async(reconcile_fn):
        raise TypeError("reconcile function must be async")
    _attach(real_fn, dataclasses.replace(_definition(real_fn, "reconciler"), reconcile_fn=reconcile_fn))
    return reconcile_fn


def _add_snapshot(real_fn: Callable[..., Any], target: str | None, read: ReadFn) -> ReadFn:
    if not _is_async(read):
        raise TypeError("snapshot function must be async")
    if target is not None and target not in _names_of(real_fn):
        raise ValueError(f"target must name a parameter of the tool; {_label(real_fn)} lacks {target!r}")
    current = _definition(real_fn, "snapshot")
    found = dataclasses.replace(_snapshotter_of(current), read=read, target=target)
    _attach(real_fn, dataclasses.replace(current, snapshotter=found))
    return read


def _add_undo(real_fn: Callable[..., Any], write: WriteFn) -> WriteFn:
    if not _is_async(write):
        raise TypeError("undo function must be async")
    current = _definition(real_fn, "undo")
    found = dataclasses.replace(_snapshotter_of(current), write=write)
    _attach(real_fn, dataclasses.replace(current, snapshotter=found))
    return write


def _snapshotter_of(definition: ToolDef) -> FunctionSnapshotter:
    found = definition.snapshotter
    if found is None:
        return FunctionSnapshotter()
    if not isinstance(found, FunctionSnapshotter):
        raise TypeError(f"{definition.name!r} has a snapshotter already")
    return found


def _is_async(fn: object) -> bool:
    return inspect.iscoroutinefunction(fn)


def _label(fn: object) -> str:
    return str(getattr(fn, "__name__", None) or repr(fn))
