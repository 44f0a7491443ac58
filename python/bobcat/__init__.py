"""Bobcat compiles policies for AI-agent tool calls, decides on calls, and runs agents behind those decisions.

    bundle = bobcat.compile_policy(text)            # or load_policy_file(path), load_bundle(path)
    decision = bobcat.evaluate(bundle, request)     # or bundle.evaluate(request)

Every name is loaded on first use, so a worker that only decides never loads the compiler, PyYAML or google-re2.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bobcat._core import __version__
    from bobcat.agent import Agent
    from bobcat.approvals import ApprovalHandler, auto_approve, auto_deny, callback_approval, cli_prompt_approval
    from bobcat.bundle.load import load_bundle
    from bobcat.bundle.model import PolicyBundle, PolicyDefaults
    from bobcat.cancel import Cancelled, CancelToken
    from bobcat.compiler import compile_policy, load_policy_file
    from bobcat.decisions import allow, approve_required, deny, dry_run, transform
    from bobcat.diagnostics import Diagnostic, Severity, Span
    from bobcat.errors import BundleError, GraphCompileError, PolicyCompileError, PolicyWarning, RequestError
    from bobcat.executors import Executor, inline_executor, route_executor, subprocess_executor
    from bobcat.graph import (
        GraphNode,
        GraphResult,
        GraphSpec,
        NodeOutcome,
        Router,
        compile_graph,
        load_graph_file,
        run_graph,
    )
    from bobcat.journal import (
        DuplicateRecord,
        RunStore,
        RunView,
        StepRecord,
        StepView,
        idempotency_key,
        replay,
        step_record_from_json,
        step_record_to_json,
    )
    from bobcat.kernel.loop import run_agent
    from bobcat.mediator import mediate
    from bobcat.model import (
        ActionRequest,
        ActionResult,
        AgentAction,
        ApprovalDecision,
        ApprovalRequest,
        AuditEvent,
        Budget,
        Decision,
        ExecutionContext,
        FinalAnswer,
        Message,
        Principal,
        RunResult,
        ToolCall,
        ToolDef,
        ToolMetadata,
        Usage,
        Verdict,
    )
    from bobcat.pdp import Explanation, evaluate, evaluate_json, evaluate_many, explain
    from bobcat.requests import request_from_json, request_to_json
    from bobcat.sinks import Sink, callback_sink, jsonl_sink, multi_sink, noop_sink, stdout_sink
    from bobcat.stores import MemoryStore
    from bobcat.tools import ToolSet, shadow, tool

__all__ = [
    "ActionRequest",
    "ActionResult",
    "Agent",
    "AgentAction",
    "ApprovalDecision",
    "ApprovalHandler",
    "ApprovalRequest",
    "AuditEvent",
    "Budget",
    "BundleError",
    "CancelToken",
    "Cancelled",
    "Decision",
    "Diagnostic",
    "DuplicateRecord",
    "ExecutionContext",
    "Executor",
    "Explanation",
    "FinalAnswer",
    "GraphCompileError",
    "GraphNode",
    "GraphResult",
    "GraphSpec",
    "MemoryStore",
    "Message",
    "NodeOutcome",
    "PolicyBundle",
    "PolicyCompileError",
    "PolicyDefaults",
    "PolicyWarning",
    "Principal",
    "RequestError",
    "Router",
    "RunResult",
    "RunStore",
    "RunView",
    "Severity",
    "Sink",
    "Span",
    "StepRecord",
    "StepView",
    "ToolCall",
    "ToolDef",
    "ToolMetadata",
    "ToolSet",
    "Usage",
    "Verdict",
    "__version__",
    "allow",
    "approve_required",
    "auto_approve",
    "auto_deny",
    "callback_approval",
    "callback_sink",
    "cli_prompt_approval",
    "compile_graph",
    "compile_policy",
    "deny",
    "dry_run",
    "evaluate",
    "evaluate_json",
    "evaluate_many",
    "explain",
    "idempotency_key",
    "inline_executor",
    "jsonl_sink",
    "load_bundle",
    "load_graph_file",
    "load_policy_file",
    "mediate",
    "multi_sink",
    "noop_sink",
    "replay",
    "request_from_json",
    "request_to_json",
    "route_executor",
    "run_agent",
    "run_graph",
    "shadow",
    "stdout_sink",
    "step_record_from_json",
    "step_record_to_json",
    "subprocess_executor",
    "tool",
    "transform",
]

_HOMES: dict[str, tuple[str, ...]] = {
    "bobcat._core": ("__version__", "evaluate", "evaluate_json", "evaluate_many"),
    "bobcat.agent": ("Agent",),
    "bobcat.approvals": ("ApprovalHandler", "auto_approve", "auto_deny", "callback_approval", "cli_prompt_approval"),
    "bobcat.bundle.explanation": ("Explanation", "explain"),
    "bobcat.bundle.load": ("load_bundle",),
    "bobcat.bundle.model": ("PolicyBundle", "PolicyDefaults"),
    "bobcat.cancel": ("CancelToken", "Cancelled"),
    "bobcat.compiler": ("compile_policy", "load_policy_file"),
    "bobcat.decisions": ("allow", "approve_required", "deny", "dry_run", "transform"),
    "bobcat.diagnostics": ("Diagnostic", "Severity", "Span"),
    "bobcat.errors": ("BundleError", "GraphCompileError", "PolicyCompileError", "PolicyWarning", "RequestError"),
    "bobcat.executors": ("Executor", "inline_executor", "route_executor", "subprocess_executor"),
    "bobcat.graph": (
        "GraphNode",
        "GraphResult",
        "GraphSpec",
        "NodeOutcome",
        "Router",
        "compile_graph",
        "load_graph_file",
        "run_graph",
    ),
    "bobcat.journal": (
        "DuplicateRecord",
        "RunStore",
        "RunView",
        "StepRecord",
        "StepView",
        "idempotency_key",
        "replay",
        "step_record_from_json",
        "step_record_to_json",
    ),
    "bobcat.kernel.loop": ("run_agent",),
    "bobcat.mediator": ("mediate",),
    "bobcat.model": (
        "ActionRequest",
        "ActionResult",
        "AgentAction",
        "ApprovalDecision",
        "ApprovalRequest",
        "AuditEvent",
        "Budget",
        "Decision",
        "ExecutionContext",
        "FinalAnswer",
        "Message",
        "Principal",
        "RunResult",
        "ToolCall",
        "ToolDef",
        "ToolMetadata",
        "Usage",
        "Verdict",
    ),
    "bobcat.requests": ("request_from_json", "request_to_json"),
    "bobcat.sinks": ("Sink", "callback_sink", "jsonl_sink", "multi_sink", "noop_sink", "stdout_sink"),
    "bobcat.stores": ("MemoryStore",),
    "bobcat.tools": ("ToolSet", "shadow", "tool"),
}
"""Where each name lives; a name is imported when it is first asked for."""


def __getattr__(name: str) -> Any:  # Any: type checkers see the imports above
    for module, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
