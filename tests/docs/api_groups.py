"""The groups of the API reference: every public name of `bobcat` stands in one."""

from __future__ import annotations

from typing import get_args

import bobcat
import bobcat.stores

GROUPS = {
    "Policies": "Policy compile_policy load_policy_file load_bundle PolicyDefaults PolicyBundle",
    "Distribution": "ReloadingPolicy PolicyStatus HttpSource",
    "Python rules": "rule allow deny dry_run approve_required transform",
    "Decisions": "evaluate evaluate_many evaluate_json explain Explanation Decision Verdict decide_again",
    "Requests": "Request ActionRequest ExecutionContext Principal ToolMetadata request_from_json request_to_json "
    "bind_request",
    "Tools": "tool shadow reconcile ToolSet ToolDef Reconciled Happened NotHappened Unknown "
    "Action current_action uses_action",
    "Runs": "run_agent Durable RunResult RunOutcome RunErrorCode Budget CancelToken CancelSignal Cancelled Agent "
    "AgentAction ToolCall FinalAnswer Message Usage ActionResult mediate",
    "Deltas": "StreamingAgent TextDelta ThinkingDelta CallDelta ReplyEnd DeltasLost Delta DeltaEvent",
    "Guard": "Guard Outcome",
    "Obligations": "Obligation ObligationCall ObligationHandler",
    "Undo": "Undo UndoEntry Recovered",
    "Ledger": "Ledger Cap Price Prices LedgerAccount Reservation Balance Spending",
    "Threads": "Thread Threads ThreadInfo PurgeReport ThreadEvent TurnStarted ThreadText ThreadThinking ReplyDiscarded "
    "CallProposed Decided Asked CallStarted CallResult ThreadUsage Ended",
    "Windows": "Window Recent LastMessages LastTokens Summary Pinned Compressed Facts",
    "Triggers": "Triggers Trigger Firing WorkerTriggers",
    "Compressors": "Compressor truncate_compressor dedup_compressor external_filter_compressor "
    "compose_compressors route_compressor identity_compressor",
    "Executors": "Executor inline_executor subprocess_executor route_executor",
    "Approvals": "ApprovalHandler ApprovalRequest ApprovalDecision auto_approve auto_deny all_approve "
    "callback_approval cli_prompt_approval durable_approvals Approvals Allowlist ConfirmationGate "
    "StoredConfirmationGate current_scope",
    "Sinks": "Sink AuditEvent AuditGap jsonl_sink stdout_sink callback_sink multi_sink noop_sink otel_sink",
    "Stores and journals": f"RunStore {' '.join(bobcat.stores.__all__)} StepRecord "
    "step_record_from_json step_record_to_json idempotency_key replay RunView StepView",
    "Graphs": "run_graph GraphNode GraphResult NodeOutcome Router compile_graph load_graph_file GraphSpec",
    "Errors and diagnostics": "PolicyCompileError GraphCompileError BundleError SourceError RequestError StoreError "
    "AuditError ApprovalError ActionBlocked ToolError UndoError LedgerError ThreadError ThreadBusy TriggerError "
    "DuplicateRecord PolicyWarning StoreWarning Diagnostic Severity Span",
    "Package": "__version__",
}

NOTES = {
    "__version__": "The version of the package.",
    "AgentAction": "What an agent's `step` may return.",
    "Delta": "The deltas that an agent yields: `TextDelta`, `ThinkingDelta` or `CallDelta`.",
    "DeltaEvent": "The events that `on_delta` receives: a `Delta`, a `ReplyEnd` or a `DeltasLost`.",
    "RunOutcome": f"Outcome of a run, as text: {', '.join(get_args(bobcat.RunOutcome))}.",
    "RunErrorCode": f"Cause of a run's end, as text: {', '.join(get_args(bobcat.RunErrorCode))}.",
    "PolicyBundle": "Older name of `Policy`.",
    "ObligationHandler": "A function that performs an obligation: it gets the `Obligation` and an `ObligationCall`.",
    "Cancelled": "Older name of `CancelSignal`, and lynx-agent's.",
}
