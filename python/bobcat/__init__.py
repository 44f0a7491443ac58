"""Bobcat compiles policies for AI-agent tool calls, decides on calls, and runs agents behind those decisions.

    bundle = bobcat.compile_policy(text)            # or load_policy_file(path), load_bundle(path)
    decision = bobcat.evaluate(bundle, request)     # or bundle.evaluate(request)

Every name is loaded on first use, so a worker that only decides never loads the compiler, PyYAML or google-re2.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bobcat._core import __version__
    from bobcat.agent import Agent
    from bobcat.approvals import (
        Allowlist,
        ApprovalHandler,
        Approvals,
        ConfirmationGate,
        StoredConfirmationGate,
        all_approve,
        auto_approve,
        auto_deny,
        callback_approval,
        cli_prompt_approval,
        current_scope,
        durable_approvals,
    )
    from bobcat.audit import decide_again
    from bobcat.bundle.load import load_bundle
    from bobcat.bundle.model import PolicyBundle, PolicyDefaults
    from bobcat.cancel import Cancelled, CancelToken
    from bobcat.compiler import compile_policy, load_policy_file
    from bobcat.decisions import allow, approve_required, deny, dry_run, transform
    from bobcat.diagnostics import Diagnostic, Severity, Span
    from bobcat.errors import (
        ActionBlocked,
        ApprovalError,
        AuditError,
        BundleError,
        GraphCompileError,
        PolicyCompileError,
        PolicyWarning,
        RequestError,
        StoreError,
        StoreWarning,
    )
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
    from bobcat.mediator import bind_request, mediate
    from bobcat.model import (
        ActionRequest,
        ActionResult,
        AgentAction,
        ApprovalDecision,
        ApprovalRequest,
        AuditEvent,
        AuditGap,
        Budget,
        Decision,
        ExecutionContext,
        FinalAnswer,
        Happened,
        Message,
        NotHappened,
        Principal,
        RunResult,
        ToolCall,
        ToolDef,
        ToolMetadata,
        Unknown,
        Usage,
        Verdict,
    )
    from bobcat.pdp import Explanation, evaluate, evaluate_json, evaluate_many, explain
    from bobcat.python_rule import rule
    from bobcat.requests import request_from_json, request_to_json
    from bobcat.sinks import Sink, callback_sink, jsonl_sink, multi_sink, noop_sink, stdout_sink
    from bobcat.stores import FileStore, MemoryStore, PostgresStore, RedisStore, SQLiteStore
    from bobcat.tools import ToolSet, reconcile, shadow, tool

__all__ = [
    "ActionBlocked",
    "ActionRequest",
    "ActionResult",
    "Agent",
    "AgentAction",
    "Allowlist",
    "ApprovalDecision",
    "ApprovalError",
    "ApprovalHandler",
    "ApprovalRequest",
    "Approvals",
    "AuditError",
    "AuditEvent",
    "AuditGap",
    "Budget",
    "BundleError",
    "CancelToken",
    "Cancelled",
    "ConfirmationGate",
    "Decision",
    "Diagnostic",
    "DuplicateRecord",
    "ExecutionContext",
    "Executor",
    "Explanation",
    "FileStore",
    "FinalAnswer",
    "GraphCompileError",
    "GraphNode",
    "GraphResult",
    "GraphSpec",
    "Happened",
    "MemoryStore",
    "Message",
    "NodeOutcome",
    "NotHappened",
    "PolicyBundle",
    "PolicyCompileError",
    "PolicyDefaults",
    "PolicyWarning",
    "PostgresStore",
    "Principal",
    "RedisStore",
    "RequestError",
    "Router",
    "RunResult",
    "RunStore",
    "RunView",
    "SQLiteStore",
    "Severity",
    "Sink",
    "Span",
    "StepRecord",
    "StepView",
    "StoreError",
    "StoreWarning",
    "StoredConfirmationGate",
    "ToolCall",
    "ToolDef",
    "ToolMetadata",
    "ToolSet",
    "Unknown",
    "Usage",
    "Verdict",
    "__version__",
    "all_approve",
    "allow",
    "approve_required",
    "auto_approve",
    "auto_deny",
    "bind_request",
    "callback_approval",
    "callback_sink",
    "cli_prompt_approval",
    "compile_graph",
    "compile_policy",
    "current_scope",
    "decide_again",
    "deny",
    "dry_run",
    "durable_approvals",
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
    "reconcile",
    "replay",
    "request_from_json",
    "request_to_json",
    "route_executor",
    "rule",
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
    "bobcat.approvals": (
        "Allowlist",
        "ApprovalHandler",
        "Approvals",
        "ConfirmationGate",
        "StoredConfirmationGate",
        "all_approve",
        "auto_approve",
        "auto_deny",
        "callback_approval",
        "cli_prompt_approval",
        "current_scope",
        "durable_approvals",
    ),
    "bobcat.audit": ("decide_again",),
    "bobcat.bundle.explanation": ("Explanation", "explain"),
    "bobcat.bundle.load": ("load_bundle",),
    "bobcat.bundle.model": ("PolicyBundle", "PolicyDefaults"),
    "bobcat.cancel": ("CancelToken", "Cancelled"),
    "bobcat.compiler": ("compile_policy", "load_policy_file"),
    "bobcat.decisions": ("allow", "approve_required", "deny", "dry_run", "transform"),
    "bobcat.diagnostics": ("Diagnostic", "Severity", "Span"),
    "bobcat.errors": (
        "ActionBlocked",
        "ApprovalError",
        "AuditError",
        "BundleError",
        "GraphCompileError",
        "PolicyCompileError",
        "PolicyWarning",
        "RequestError",
        "StoreError",
        "StoreWarning",
    ),
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
    "bobcat.mediator": ("bind_request", "mediate"),
    "bobcat.model": (
        "ActionRequest",
        "ActionResult",
        "AgentAction",
        "ApprovalDecision",
        "ApprovalRequest",
        "AuditEvent",
        "AuditGap",
        "Budget",
        "Decision",
        "ExecutionContext",
        "FinalAnswer",
        "Happened",
        "Message",
        "NotHappened",
        "Principal",
        "RunResult",
        "ToolCall",
        "ToolDef",
        "ToolMetadata",
        "Unknown",
        "Usage",
        "Verdict",
    ),
    "bobcat.python_rule": ("rule",),
    "bobcat.requests": ("request_from_json", "request_to_json"),
    "bobcat.sinks": ("Sink", "callback_sink", "jsonl_sink", "multi_sink", "noop_sink", "stdout_sink"),
    "bobcat.stores": ("FileStore", "MemoryStore", "PostgresStore", "RedisStore", "SQLiteStore"),
    "bobcat.tools": ("ToolSet", "reconcile", "shadow", "tool"),
}
"""Where each name lives; a name is imported when it is first asked for."""


def __getattr__(name: str) -> Any:  # Any: type checkers see the imports above
    for module, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(module), name)
            globals()[name] = value
            return value
    # With the name and the object, Python itself says which name is close.
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
