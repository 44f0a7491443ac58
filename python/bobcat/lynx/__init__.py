"""lynx-agent 2.5 on Bobcat: its names, module paths, defaults and behaviour, implemented with the parts of `bobcat`.

Change `from lynx import ...` to `from bobcat.lynx import ...`, or change nothing: after `bobcat.lynx.install()` the
name `lynx` refers to this package, and `python -m bobcat.lynx script.py` runs a script that way. The remaining
differences are listed in `docs/migrating-from-lynx.md`.
"""

from bobcat.lynx.approvals import ApprovalHandler, auto_approve, auto_deny, callback_approval, cli_prompt_approval
from bobcat.lynx.cancel import Cancelled, CancelToken
from bobcat.lynx.core.scheduler import run_agent
from bobcat.lynx.core.types import (
    ActionRequest,
    ActionResult,
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
    ToolSet,
    Usage,
    Verdict,
)
from bobcat.lynx.decorators import shadow, tool
from bobcat.lynx.durability import (
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
from bobcat.lynx.executors import Executor, inline_executor, route_executor, subprocess_executor
from bobcat.lynx.graph import (
    GraphCompileError,
    GraphNode,
    GraphResult,
    GraphSpec,
    NodeOutcome,
    Router,
    compile_graph,
    load_graph_file,
    run_graph,
)
from bobcat.lynx.installing import install as install
from bobcat.lynx.installing import uninstall as uninstall
from bobcat.lynx.policy import (
    PolicyBundle,
    allow,
    approve_required,
    compile_policy,
    deny,
    dry_run,
    load_policy_file,
    transform,
)
from bobcat.lynx.sdk import Agent, AgentAction
from bobcat.lynx.sinks import Sink, callback_sink, jsonl_sink, multi_sink, noop_sink, stdout_sink

__version__ = "2.5.0"

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
    "CancelToken",
    "Cancelled",
    "Decision",
    "DuplicateRecord",
    "ExecutionContext",
    "Executor",
    "FinalAnswer",
    "GraphCompileError",
    "GraphNode",
    "GraphResult",
    "GraphSpec",
    "Message",
    "NodeOutcome",
    "PolicyBundle",
    "Principal",
    "Router",
    "RunResult",
    "RunStore",
    "RunView",
    "Sink",
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
    "idempotency_key",
    "inline_executor",
    "jsonl_sink",
    "load_graph_file",
    "load_policy_file",
    "multi_sink",
    "noop_sink",
    "replay",
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
