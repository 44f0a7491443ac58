"""Validation of run arguments before a run starts: an early `TypeError` that names the fix.

Called by `run_agent` and `run_graph`. It checks types only: it calls none of the arguments and changes nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from bobcat.sinks.fanout import MultiSink, takes_deltas

FACTORIES = {
    "sinks": frozenset({"callback_sink", "jsonl_sink", "multi_sink", "noop_sink", "stdout_sink"}),
    "on_approval": frozenset(
        {"auto_approve", "auto_deny", "callback_approval", "cli_prompt_approval", "durable_approvals"}
    ),
    "executor": frozenset({"inline_executor", "route_executor", "subprocess_executor"}),
    "compressor": frozenset(
        {
            "compose_compressors",
            "dedup_compressor",
            "external_filter_compressor",
            "identity_compressor",
            "route_compressor",
            "truncate_compressor",
        }
    ),
}
"""Factories by argument: callers forget to call them and pass the function itself."""


def check_surroundings(
    *, sinks: object, principal: object, environment: object, store: object, executor: object, cancel: object,
    compressor: object = None, user_task: object = None, session: object = None, tenant: object = None,
) -> None:  # fmt: skip
    """Raise `TypeError` for an argument of the wrong type."""
    if not isinstance(environment, str):  # rules about the environment would never match
        raise TypeError(f"environment must be a string, got {_kind(environment)}")
    if user_task is not None and not isinstance(user_task, str):
        raise TypeError(f"user_task must be a string, got {_kind(user_task)}")
    for name, text in (("session", session), ("tenant", tenant)):
        if text is not None and (not isinstance(text, str) or not text):
            raise TypeError(f"{name} must be a non-empty string, got {text!r}")
    _check_sinks(sinks)
    _check_callable("executor", executor)
    _check_callable("compressor", compressor)
    if not (_has(principal, "kind") and _has(principal, "id")):
        hint = f'; write Principal("user", {principal!r})' if isinstance(principal, str) else ""
        raise TypeError(f"principal must be a Principal, got {_kind(principal)}{hint}")
    check_store(store)
    if cancel is not None and not _has(cancel, "cancelled"):
        raise TypeError(f"cancel must have an attribute `cancelled`, as a CancelToken() has; got {_kind(cancel)}")


def check_actors(agent: object, *, on_approval: object, budget: object, on_delta: object = None) -> None:
    """Raise `TypeError` for an invalid agent, approval handler, reader of deltas or budget."""
    if isinstance(agent, type):
        raise TypeError(f"agent must be an object, got the class {agent.__name__}; write {agent.__name__}(...)")
    if not _has(agent, "step"):
        raise TypeError(f"agent must have a method `async def step(self, conversation)`, which {_kind(agent)} lacks")
    _check_callable("on_approval", on_approval)
    _check_callable("on_delta", on_delta)
    if not (_has(budget, "steps") and _has(budget, "duration_seconds")):
        hint = f"; write Budget(steps={budget})" if isinstance(budget, int) and not isinstance(budget, bool) else ""
        raise TypeError(f"budget must be a Budget, got {_kind(budget)}{hint}")


def check_store(store: object) -> None:
    """Raise `TypeError` for an invalid store. None is allowed: the run then has no store."""
    if store is None or (not isinstance(store, type) and _has(store, "append") and _has(store, "load")):
        return
    hint = "an object with `append` and `load`, such as SQLiteStore('runs.db')"
    if isinstance(store, type):
        hint = f"an object; write {store.__name__}(...)"
    elif isinstance(store, str):
        hint = f"an object; write SQLiteStore({store!r})"
        if ":" in store:
            hint = f"an object; `bobcat.stores.urls.open_store({store!r})` opens a store from a URL"
    raise TypeError(f"store must be {hint}; got {_kind(store)}")


def _check_sinks(sinks: object) -> None:
    if callable(sinks) or isinstance(sinks, str) or not isinstance(sinks, Iterable):
        raise TypeError(f"sinks must be a list of sinks, got {_kind(sinks)}; write sinks=[...]")
    if not isinstance(sinks, list | tuple):
        return  # the run consumes an iterator that can be consumed only once
    for sink in sinks:
        if not isinstance(sink, MultiSink):
            _check_callable("sinks", sink)
            if getattr(sink, "required", False) is True and takes_deltas(sink):
                raise ValueError("a required sink takes no deltas: its events are delivered before the next effect")


def _check_callable(name: str, value: object) -> None:
    if value is None and name != "sinks":
        return
    label = "a sink" if name == "sinks" else name
    if isinstance(value, type):
        raise TypeError(f"{label} must be an object, got the class {value.__name__}; write {value.__name__}(...)")
    factory = getattr(value, "__qualname__", "")
    if factory in FACTORIES.get(name, ()) and str(getattr(value, "__module__", "")).startswith("bobcat."):
        raise TypeError(f"{label} must be the result of {factory}(), got the function itself; write {factory}(...)")
    if not callable(value):
        raise TypeError(f"{label} must be a function, or an object that can be called; got {_kind(value)}")


def _has(value: object, name: str) -> bool:
    """Return true if the attribute exists, without reading it: a property may run any code."""
    kind = type(value)
    if any(name in base.__dict__ for base in kind.__mro__):  # PERF: the usual case; a tenth of the time
        return True
    missing: Any = object()  # Any: an attribute of any type
    found = inspect.getattr_static(value, name, missing)
    return found is not missing or hasattr(kind, "__getattr__")


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
