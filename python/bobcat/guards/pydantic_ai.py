"""PydanticAI: a capability that puts a `Guard` in front of an agent's tools.

    capability = GuardedTools(guard)
    agent = Agent(model, tools=[search, pay], capabilities=[capability], output_type=[str, DeferredToolRequests])

The guard decides and records; the agent runs the tool. All toolsets are guarded, those of MCP servers and those that a
run adds included. A call that needs an approval is deferred: the run ends with `DeferredToolRequests`, which
`GuardedTools.answer` turns into the results to continue with. Native tools, which the model's provider executes, are
refused. Output functions are no tools, and are not guarded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bobcat.guard import Guard
from bobcat.guards.answers import GivenAnswers, answer_text, grants, in_callers_loop, question, undecided
from bobcat.text.json_text import json_text

try:
    from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
    from pydantic_ai.exceptions import ApprovalRequired, ToolFailed, UserError
    from pydantic_ai.toolsets import WrapperToolset
    from pydantic_core import to_jsonable_python
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this door needs `pip install 'bobcat[pydantic-ai]'`", name=error.name) from error

_HARMLESS_NATIVE_TOOLS = ("tool_search",)
"""Native tools that do nothing but show the definitions of other tools."""


@dataclass(init=False)
class GuardedTools(AbstractCapability[Any]):
    """The capability. It is the innermost: no other one changes a call after the decision.

    `approver` is the name that a bare approval, `approvals={id: True}`, counts for; without it only `answer` and
    `metadata={id: {"approver": name}}` grant. Without `interrupts`, the guard's `on_approval` answers.
    """

    def __init__(self, guard: Guard, *, approver: str = "", interrupts: bool = True) -> None:
        if not isinstance(guard, Guard):
            raise TypeError(f"guard must be a Guard, got {type(guard).__name__}")
        super().__init__()
        self.guard = guard
        self.approver = approver
        self.interrupts = interrupts

    def get_ordering(self) -> CapabilityOrdering:
        """Stand inside of all other capabilities."""
        return CapabilityOrdering(position="innermost")

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        """Put the guard in front of the tools of a run."""
        return _GuardedToolset(toolset, self)

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Refuse a request with tools that the model's provider would execute."""
        for tool in request_context.model_request_parameters.native_tools:
            if tool.kind not in _HARMLESS_NATIVE_TOOLS:
                raise UserError(f"native tool {tool.kind!r} cannot be guarded: the model's provider executes it")
        return request_context

    async def answer(self, requests: DeferredToolRequests, answers: Mapping[str, object]) -> DeferredToolResults:
        """Return the results for the approvals of a run, to pass as `deferred_tool_results` to the next one.

        `answers` has an answer for each call's id, a mapping: `granted` (exactly True grants), `approver`, and `reason`
        or other `args`, which are decided again; where a rule needs several approvers, a list of them. A refusal is
        recorded at once. Raises `LookupError` for a call without an answer.
        """
        approvals: dict[str, Any] = {}
        metadata: dict[str, dict[str, Any]] = {}
        for call in requests.approvals:
            if call.tool_call_id not in answers:
                raise LookupError(f"no answer for the call {call.tool_call_id!r} of {call.tool_name!r}")
            answer = answers[call.tool_call_id]
            if grants(answer):
                approvals[call.tool_call_id] = ToolApproved()
                metadata[call.tool_call_id] = {"answer": answer}
                continue
            outcome = await self.guard.submit(
                call.tool_name, call.args_as_dict(), run=undecided, on_approval=GivenAnswers(answer)
            )
            approvals[call.tool_call_id] = ToolDenied(answer_text(outcome))
        return requests.build_results(approvals=approvals, metadata=metadata)

    def approval(self, ctx: Any) -> dict[str, Any]:
        """The handler with the answer that a continued run brings for a call."""
        if not ctx.tool_call_approved:
            return {}
        metadata = ctx.tool_call_metadata if isinstance(ctx.tool_call_metadata, Mapping) else {}
        bare = {"granted": True, "approver": metadata.get("approver", self.approver)}
        return {"on_approval": GivenAnswers(metadata.get("answer", bare))}


@dataclass
class _GuardedToolset(WrapperToolset[Any]):
    """Submits each call of a toolset."""

    door: GuardedTools

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Decide a call, and execute it if that is permitted. Raises `ToolFailed` with the reason otherwise."""
        guard, args = self.door.guard, to_jsonable_python(tool_args)
        results: list[Any] = []
        raised: list[Exception] = []

        async def run(**effective: Any) -> Any:
            try:
                # Arguments of the tool's own types, such as dates, are made from JSON anew only where that changed.
                changed = json_text(effective) != json_text(args)
                given = tool.args_validator.validate_python(effective) if changed else tool_args
                results.append(await self.wrapped.call_tool(name, given, ctx, tool))
            except Exception as error:
                raised.append(error)
                raise
            return results[-1]

        execute = in_callers_loop(run)
        if self.door.interrupts and not ctx.tool_call_approved:
            decided = await guard.check(name, args, run=execute)
            if decided.status == "waiting":
                raise ApprovalRequired(metadata=question(decided))
        outcome = await guard.submit(name, args, run=execute, **self.door.approval(ctx))
        if outcome.ok and results:
            return results[-1]
        if outcome.status == "failed" and raised:
            raise raised[-1]
        if outcome.status == "previewed":
            return answer_text(outcome)
        raise ToolFailed(answer_text(outcome))

    def visit_and_replace(self, visitor: Any) -> Any:
        """Replace the toolsets inside, with the guard still in front."""
        return type(self)(self.wrapped.visit_and_replace(visitor), self.door)
