"""Plainer calls with the same decisions: without values that no decision needs, and with a plain name of the tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from bobcat.bundle.model import Policy
from bobcat.errors import RequestError
from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.request_json import request_from_data

Data: TypeAlias = Mapping[str, Any]  # Any: JSON
OTHER_TOOL = "other_tool"
"""The name of a tool that no policy names."""


def plainer(
    policies: Sequence[Policy],
    data: Data,
    request: ActionRequest,
    decisions: tuple[Decision, ...],
    *,
    is_unnamed: bool = True,
) -> ActionRequest:
    """Return a call without the values that no decision of the policies needs; what is left out has its default.

    A policy that stands for a match decides, too, so that the call still has what was asked for. `is_unnamed`: an empty
    name of the tool can become a plain one.
    """
    keys = [(head, key) for head in ("context", "declared", "args") for key in data.get(head, ())]
    for head, key in keys:
        other = {**data, head: {name: value for name, value in data[head].items() if name != key}}
        found = _alike(policies, other, decisions)
        if found is not None:
            data, request = other, found
    named = any(f'"{OTHER_TOOL}"'.encode() in policy.ir_bytes for policy in policies)
    if is_unnamed and not request.tool and not named:
        request = _alike(policies, {**data, "tool": OTHER_TOOL}, decisions) or request
    return request


def _alike(policies: Sequence[Policy], data: Data, decisions: tuple[Decision, ...]) -> ActionRequest | None:
    """Return a request if the policies decide it alike."""
    try:
        request = request_from_data(data)
    except RequestError:
        return None
    return request if tuple(policy.evaluate(request) for policy in policies) == decisions else None
