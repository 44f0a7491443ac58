"""`Request`: one proposed tool call, written by hand.

A run makes its requests itself. Programs that only ask for decisions, and tests of policies, write them with this
function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from bobcat.lazy import resolve
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata
from bobcat.model.defaults import CONTEXT, DECLARED
from bobcat.model.frozen import FrozenDict

if TYPE_CHECKING:
    from bobcat.model.run import ToolDef

# Any: arguments of any call, functions of any signature.
_NO_ARGS: Mapping[str, Any] = FrozenDict()
Declared: TypeAlias = "ToolMetadata | ToolDef | Callable[..., Any] | Mapping[str, Any]"


def Request(
    tool: str,
    args: Mapping[str, Any] = _NO_ARGS,
    *,
    principal: str | Principal | Mapping[str, Any] = CONTEXT.principal,
    environment: str = CONTEXT.environment,
    declared: Declared = DECLARED,
    extra: Mapping[str, Any] = CONTEXT.extra,
    workspace: str = CONTEXT.workspace,
    correlation_id: str = CONTEXT.correlation_id,
    step_seq: int = CONTEXT.step_seq,
    timestamp: datetime = CONTEXT.timestamp,
    task: str | None = None,
) -> ActionRequest:
    """Build the `ActionRequest` of a call of `tool` with `args`; omitted fields default as in `request_from_json`.

    `principal` is a `Principal`, the id of a user, or a mapping with `kind`, `id` and `name`. `declared` is the
    declaration: a function with `@tool`, a `ToolDef`, a `ToolMetadata`, or a mapping with the keys of `declared` in
    JSON. Without it the tool counts as costly, irreversible and unsafe to repeat. `timestamp` is an aware datetime,
    the beginning of 1970 by default: the same request gets the same decision. `task` is the user's own words.

    The arguments of a tool with a signature are checked and completed by `bind_request`. Raises `TypeError` for a value
    of another type, and `RequestError` for a mapping with other keys.
    """
    if not isinstance(tool, str):
        raise TypeError(f"tool must be the name of a tool, got {type(tool).__name__}")
    for name, value in (("args", args), ("extra", extra)):
        if not isinstance(value, Mapping):
            raise TypeError(f"{name} must be a mapping, got {type(value).__name__}")
    if task is not None and not isinstance(task, str):
        raise TypeError(f"task must be a string or None, got {type(task).__name__}")
    acting_principal = _principal(principal)
    context = ExecutionContext(
        acting_principal, environment, workspace, correlation_id, step_seq, timestamp, extra, task
    )
    return ActionRequest(tool, args, _declared(declared), context)


def _principal(given: object) -> Principal:
    if isinstance(given, Principal):
        return given
    if isinstance(given, str):
        return Principal("user", given)
    if isinstance(given, Mapping):
        from bobcat.model.request_json import principal_from_json

        return principal_from_json(given)
    raise TypeError(f"principal must be a Principal, the id of a user or a mapping, got {type(given).__name__}")


def _declared(given: object) -> ToolMetadata:
    if isinstance(given, ToolMetadata):
        return given
    # PERF: a call without a declaration, or with metadata, needs neither the values of a run nor the reader of JSON.
    from bobcat.model.request_json import declared_from_json
    from bobcat.model.run import ToolDef

    if isinstance(given, ToolDef):
        return given.metadata
    if isinstance(given, Mapping):
        return declared_from_json(given)
    if callable(given):
        definition: ToolDef | None = resolve("bobcat.tools.decorator", "definition_of")(given)
        if definition is not None:
            return definition.metadata
    raise TypeError(
        f"declared must be a function with @tool, a ToolDef, a ToolMetadata or a mapping, got {type(given).__name__}"
    )
