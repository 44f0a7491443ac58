"""Tools from functions, synchronous ones included, and functions that submit to a guard."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from bobcat.model.run import INPUT_SCHEMA, ToolDef
from bobcat.tools.action import is_marked, uses_action
from bobcat.tools.decorator import definition_of, tool
from bobcat.tools.function_schema import with_input_schema
from bobcat.tools.signature import supplied_parameters
from bobcat.tools.toolset import ToolSet

if TYPE_CHECKING:
    from bobcat.guard.outcome import Outcome

Function = Callable[..., Any]  # Any: arguments and results of tools have any type


def tool_set(tools: ToolSet | Iterable[Function]) -> ToolSet:
    """Return a set of tools. Functions without `@tool` are declared under their own names, as `unsafe`."""
    if isinstance(tools, ToolSet):
        return tools
    if callable(tools) or not isinstance(tools, Iterable):
        raise TypeError(f"tools must be a ToolSet or a sequence of functions, got {type(tools).__name__}")
    found: dict[str, ToolDef] = {}
    for fn in tools:
        definition = tool_of(fn)
        if definition.name in found:
            raise ValueError(f"two tools are named {definition.name!r}")
        found[definition.name] = definition
    return ToolSet(found)


def tool_of(fn: Function, **declared: Any) -> ToolDef:  # Any: the keywords of `@tool`
    """Return the definition of a function as a tool: that of `@tool` on it, or a new one with `declared`.

    A synchronous function runs in a thread.
    """
    if not callable(fn):
        raise TypeError(f"a tool must be a function, got {type(fn).__name__}")
    definition = definition_of(fn)
    if definition is not None:
        if declared:
            raise TypeError(f"{definition.name!r} is declared by @tool already")
        return definition
    declared.setdefault("name", getattr(fn, "__name__", None))
    # A function of our own: the decorator attaches the definition to it, not to the caller's.
    return cast("ToolDef", definition_of(tool(**declared)(_async_form(fn))))


def executed_by(run: Function | ToolDef, name: str, known: ToolDef | None) -> ToolDef:
    """Return a tool that `run` executes, with the declaration and the signature of the `known` tool if there is one.

    Without one, calls are checked by the schema that `with_input_schema` has put on `run`, if any. A `run` that is a
    tool is returned; it must have that name.
    """
    if isinstance(run, ToolDef):
        if run.name != name:
            raise ValueError(f"run is the tool {run.name!r}, and the call is of {name!r}")
        return run
    if not callable(run):
        raise TypeError(f"run must be a function, got {type(run).__name__}")
    execute = _async_form(run)

    async def call(**arguments: Any) -> Any:
        return await execute(**arguments)

    if is_marked(run):
        uses_action(call)
    if known is None:
        schema = getattr(run, INPUT_SCHEMA, None)
        return tool_of(call if schema is None else with_input_schema(call, schema), name=name)
    return dataclasses.replace(known, fn=functools.wraps(known.fn, updated=())(call))


def _async_form(fn: Function) -> Function:
    form = _wrapped(fn)
    if is_marked(fn):
        uses_action(form)
    schema = getattr(fn, INPUT_SCHEMA, None)
    return form if schema is None else with_input_schema(form, schema)


def _wrapped(fn: Function) -> Function:
    if inspect.iscoroutinefunction(fn):

        @functools.wraps(fn, updated=())
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await fn(*args, **kwargs)
    else:

        @functools.wraps(fn, updated=())
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(fn, *args, **kwargs)

    return call


def guarded(definition: ToolDef, fn: Function, submit: Function, submit_sync: Function) -> Function:
    """Return a function with the signature of `fn` whose calls are submitted.

    It returns the value of an outcome that is `ok`, and raises as `Outcome.raise_for_status` does for others.
    """
    supplied, whole = supplied_parameters(definition), inspect.signature(fn)
    signature = whole.replace(parameters=[each for name, each in whole.parameters.items() if name not in supplied])

    def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return _by_name(signature, signature.bind(*args, **kwargs))

    if inspect.iscoroutinefunction(fn):

        @functools.wraps(fn, updated=())
        async def call(*args: Any, **kwargs: Any) -> Any:
            outcome: Outcome = await submit(definition.name, arguments(args, kwargs))
            return outcome.raise_for_status().value
    else:

        @functools.wraps(fn, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            outcome: Outcome = submit_sync(definition.name, arguments(args, kwargs))
            return outcome.raise_for_status().value

    del call.__wrapped__  # no way around the guard
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _by_name(signature: inspect.Signature, bound: inspect.BoundArguments) -> dict[str, Any]:
    found = dict(bound.arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            found.update(found.pop(parameter.name, {}))
    return found
