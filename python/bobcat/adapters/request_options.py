"""Request options of a model API: sampling, timeouts, retries and other parameters of the provider.

The adapter sets the model, the conversation and the tools. An option that would set them, or make the provider run
tools by itself, is refused: no policy would see those.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from inspect import Parameter, signature
from typing import Any

EXTRA_BODY = "extra_body"
"""The option of the SDKs whose keys replace those of the request's body."""


# Any: the provider checks the values.
def options(extra: Mapping[str, Any] | None, reserved: Collection[str], **named: float | None) -> dict[str, Any]:
    """The parameters of a request: those of `named` that are given, and `extra`.

    Raises `ValueError` when `extra` names a parameter of `reserved` or `named`, also inside `extra_body`, and
    `TypeError` when it is not a mapping with string keys.
    """
    given = {name: value for name, value in named.items() if value is not None}
    if extra is None:
        return given
    body = extra.get(EXTRA_BODY) if isinstance(extra, Mapping) else None
    for part in (extra, {} if body is None else body):
        if not isinstance(part, Mapping) or not all(isinstance(name, str) for name in part):
            raise TypeError(f"extra must be a mapping of parameter names to values, got {extra!r}")
        taken = sorted({*reserved, *named}.intersection(part))
        if taken:
            raise ValueError(f"extra sets `{taken[0]}`, which the adapter sets: use {_named(taken[0], named)}")
    return {**given, **extra}


def _named(name: str, named: Collection[str]) -> str:
    return f"its parameter `{name}`" if name in named else "the arguments of the run"


async def send(method: Callable[..., Awaitable[Any]], request: Mapping[str, Any]) -> Any:
    """Await a method of an SDK with the parameters of a request."""
    return await method(**fitting(method, request))


def fitting(method: Callable[..., Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a request for a method of an SDK; those unknown to its release go into `extra_body`."""
    try:
        known = signature(method).parameters
    except (TypeError, ValueError):  # some callables have no readable signature
        return dict(request)
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values()):
        return dict(request)
    found = {name: value for name, value in request.items() if name in known}
    others = {name: value for name, value in request.items() if name not in known}
    return {**found, EXTRA_BODY: {**others, **(request.get(EXTRA_BODY) or {})}} if others else found


def with_limits(client: Any, *, timeout: float | None, retries: int | None) -> Any:
    """The client with another timeout, in seconds, or another number of retries; unchanged without either."""
    limits = {"timeout": timeout, "max_retries": retries}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    return client.with_options(**given) if given else client
