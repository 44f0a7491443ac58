"""The public names of Bobcat. `bobcat/__init__.py` reads where each of them lives from this file."""

from bobcat._core import __version__ as __version__
from bobcat._core import (
    evaluate as evaluate,
)
from bobcat._core import (
    evaluate_json as evaluate_json,
)
from bobcat._core import (
    evaluate_many as evaluate_many,
)
from bobcat.aio.cancel import (
    Cancelled as Cancelled,
)
from bobcat.aio.cancel import (
    CancelSignal as CancelSignal,
)
from bobcat.aio.cancel import (
    CancelToken as CancelToken,
)
from bobcat.approvals import (
    Allowlist as Allowlist,
)
from bobcat.approvals import (
    ApprovalHandler as ApprovalHandler,
)
from bobcat.approvals import (
    Approvals as Approvals,
)
from bobcat.approvals import (
    ConfirmationGate as ConfirmationGate,
)
from bobcat.approvals import (
    StoredConfirmationGate as StoredConfirmationGate,
)
from bobcat.approvals import (
    all_approve as all_approve,
)
from bobcat.approvals import (
    auto_approve as auto_approve,
)
from bobcat.approvals import (
    auto_deny as auto_deny,
)
from bobcat.approvals import (
    callback_approval as callback_approval,
)
from bobcat.approvals import (
    cli_prompt_approval as cli_prompt_approval,
)
from bobcat.approvals import (
    current_scope as current_scope,
)
from bobcat.approvals import (
    durable_approvals as durable_approvals,
)
from bobcat.bundle.load import load_bundle as load_bundle
from bobcat.bundle.model import (
    Policy as Policy,
)
from bobcat.bundle.model import (
    PolicyBundle as PolicyBundle,
)
from bobcat.bundle.views import (
    PolicyDefaults as PolicyDefaults,
)
from bobcat.compiler import (
    compile_policy as compile_policy,
)
from bobcat.compiler import (
    load_policy_file as load_policy_file,
)
from bobcat.compression import Compressor as Compressor
from bobcat.compression import compose_compressors as compose_compressors
from bobcat.compression import dedup_compressor as dedup_compressor
from bobcat.compression import external_filter_compressor as external_filter_compressor
from bobcat.compression import identity_compressor as identity_compressor
from bobcat.compression import route_compressor as route_compressor
from bobcat.compression import truncate_compressor as truncate_compressor
from bobcat.diagnostics.model import (
    Diagnostic as Diagnostic,
)
from bobcat.diagnostics.model import (
    Severity as Severity,
)
from bobcat.diagnostics.model import (
    Span as Span,
)
from bobcat.distribution import HttpSource as HttpSource
from bobcat.distribution import PolicyStatus as PolicyStatus
from bobcat.distribution import ReloadingPolicy as ReloadingPolicy
from bobcat.errors import (
    ActionBlocked as ActionBlocked,
)
from bobcat.errors import (
    ApprovalError as ApprovalError,
)
from bobcat.errors import (
    AuditError as AuditError,
)
from bobcat.errors import (
    BundleError as BundleError,
)
from bobcat.errors import (
    GraphCompileError as GraphCompileError,
)
from bobcat.errors import (
    LedgerError as LedgerError,
)
from bobcat.errors import (
    PolicyCompileError as PolicyCompileError,
)
from bobcat.errors import (
    PolicyWarning as PolicyWarning,
)
from bobcat.errors import (
    RequestError as RequestError,
)
from bobcat.errors import (
    SourceError as SourceError,
)
from bobcat.errors import (
    StoreError as StoreError,
)
from bobcat.errors import (
    StoreWarning as StoreWarning,
)
from bobcat.errors import (
    ThreadBusy as ThreadBusy,
)
from bobcat.errors import (
    ThreadError as ThreadError,
)
from bobcat.errors import (
    ToolError as ToolError,
)
from bobcat.errors import (
    TriggerError as TriggerError,
)
from bobcat.errors import (
    UndoError as UndoError,
)
from bobcat.executors import (
    Executor as Executor,
)
from bobcat.executors import (
    inline_executor as inline_executor,
)
from bobcat.executors import (
    route_executor as route_executor,
)
from bobcat.executors import (
    subprocess_executor as subprocess_executor,
)
from bobcat.graph import (
    GraphNode as GraphNode,
)
from bobcat.graph import (
    GraphResult as GraphResult,
)
from bobcat.graph import (
    GraphSpec as GraphSpec,
)
from bobcat.graph import (
    NodeOutcome as NodeOutcome,
)
from bobcat.graph import (
    Router as Router,
)
from bobcat.graph import (
    compile_graph as compile_graph,
)
from bobcat.graph import (
    load_graph_file as load_graph_file,
)
from bobcat.graph import (
    run_graph as run_graph,
)
from bobcat.guard import Guard as Guard
from bobcat.guard import Outcome as Outcome
from bobcat.journal.keys import idempotency_key as idempotency_key
from bobcat.journal.records import (
    DuplicateRecord as DuplicateRecord,
)
from bobcat.journal.records import (
    RunStore as RunStore,
)
from bobcat.journal.records import (
    StepRecord as StepRecord,
)
from bobcat.journal.records import (
    step_record_from_json as step_record_from_json,
)
from bobcat.journal.records import (
    step_record_to_json as step_record_to_json,
)
from bobcat.journal.views import (
    RunView as RunView,
)
from bobcat.journal.views import (
    StepView as StepView,
)
from bobcat.journal.views import (
    replay as replay,
)
from bobcat.ledger import (
    Balance as Balance,
)
from bobcat.ledger import (
    Cap as Cap,
)
from bobcat.ledger import (
    Ledger as Ledger,
)
from bobcat.ledger import (
    LedgerAccount as LedgerAccount,
)
from bobcat.ledger import (
    Price as Price,
)
from bobcat.ledger import (
    Prices as Prices,
)
from bobcat.ledger import (
    Reservation as Reservation,
)
from bobcat.ledger import (
    Spending as Spending,
)
from bobcat.model.agent import Agent as Agent
from bobcat.model.constructors import (
    allow as allow,
)
from bobcat.model.constructors import (
    approve_required as approve_required,
)
from bobcat.model.constructors import (
    deny as deny,
)
from bobcat.model.constructors import (
    dry_run as dry_run,
)
from bobcat.model.constructors import (
    transform as transform,
)
from bobcat.model.decision import (
    ActionRequest as ActionRequest,
)
from bobcat.model.decision import (
    Decision as Decision,
)
from bobcat.model.decision import (
    ExecutionContext as ExecutionContext,
)
from bobcat.model.decision import Obligation as Obligation
from bobcat.model.decision import (
    Principal as Principal,
)
from bobcat.model.decision import (
    ToolMetadata as ToolMetadata,
)
from bobcat.model.decision import (
    Verdict as Verdict,
)
from bobcat.model.deltas import (
    CallDelta as CallDelta,
)
from bobcat.model.deltas import (
    Delta as Delta,
)
from bobcat.model.deltas import (
    DeltaEvent as DeltaEvent,
)
from bobcat.model.deltas import (
    DeltasLost as DeltasLost,
)
from bobcat.model.deltas import (
    ReplyEnd as ReplyEnd,
)
from bobcat.model.deltas import (
    StreamingAgent as StreamingAgent,
)
from bobcat.model.deltas import (
    TextDelta as TextDelta,
)
from bobcat.model.deltas import (
    ThinkingDelta as ThinkingDelta,
)
from bobcat.model.request import Request as Request
from bobcat.model.request_json import (
    request_from_json as request_from_json,
)
from bobcat.model.request_json import (
    request_to_json as request_to_json,
)
from bobcat.model.rule_decorator import rule as rule
from bobcat.model.run import (
    ActionResult as ActionResult,
)
from bobcat.model.run import (
    AgentAction as AgentAction,
)
from bobcat.model.run import (
    ApprovalDecision as ApprovalDecision,
)
from bobcat.model.run import (
    ApprovalRequest as ApprovalRequest,
)
from bobcat.model.run import (
    AuditEvent as AuditEvent,
)
from bobcat.model.run import (
    AuditGap as AuditGap,
)
from bobcat.model.run import (
    Budget as Budget,
)
from bobcat.model.run import (
    FinalAnswer as FinalAnswer,
)
from bobcat.model.run import (
    Happened as Happened,
)
from bobcat.model.run import (
    Message as Message,
)
from bobcat.model.run import (
    NotHappened as NotHappened,
)
from bobcat.model.run import (
    Reconciled as Reconciled,
)
from bobcat.model.run import (
    RunErrorCode as RunErrorCode,
)
from bobcat.model.run import (
    RunOutcome as RunOutcome,
)
from bobcat.model.run import (
    RunResult as RunResult,
)
from bobcat.model.run import (
    ToolCall as ToolCall,
)
from bobcat.model.run import (
    ToolDef as ToolDef,
)
from bobcat.model.run import (
    Unknown as Unknown,
)
from bobcat.model.run import (
    Usage as Usage,
)
from bobcat.pdp import (
    Explanation as Explanation,
)
from bobcat.pdp import (
    explain as explain,
)
from bobcat.runtime.decide_again import decide_again as decide_again
from bobcat.runtime.loop import run_agent as run_agent
from bobcat.runtime.mediator import (
    bind_request as bind_request,
)
from bobcat.runtime.mediator import (
    mediate as mediate,
)
from bobcat.runtime.obligations import ObligationCall as ObligationCall
from bobcat.runtime.obligations import ObligationHandler as ObligationHandler
from bobcat.runtime.options import Durable as Durable
from bobcat.sinks import (
    Sink as Sink,
)
from bobcat.sinks import (
    callback_sink as callback_sink,
)
from bobcat.sinks import (
    jsonl_sink as jsonl_sink,
)
from bobcat.sinks import (
    multi_sink as multi_sink,
)
from bobcat.sinks import (
    noop_sink as noop_sink,
)
from bobcat.sinks import (
    stdout_sink as stdout_sink,
)
from bobcat.sinks.otel import otel_sink as otel_sink
from bobcat.stores import (
    FileStore as FileStore,
)
from bobcat.stores import (
    MemoryStore as MemoryStore,
)
from bobcat.stores import (
    PostgresStore as PostgresStore,
)
from bobcat.stores import (
    RedisStore as RedisStore,
)
from bobcat.stores import (
    SQLiteStore as SQLiteStore,
)
from bobcat.threads import Asked as Asked
from bobcat.threads import CallProposed as CallProposed
from bobcat.threads import CallResult as CallResult
from bobcat.threads import CallStarted as CallStarted
from bobcat.threads import Compressed as Compressed
from bobcat.threads import Decided as Decided
from bobcat.threads import Ended as Ended
from bobcat.threads import Facts as Facts
from bobcat.threads import LastMessages as LastMessages
from bobcat.threads import LastTokens as LastTokens
from bobcat.threads import Pinned as Pinned
from bobcat.threads import PurgeReport as PurgeReport
from bobcat.threads import Recent as Recent
from bobcat.threads import ReplyDiscarded as ReplyDiscarded
from bobcat.threads import Summary as Summary
from bobcat.threads import Thread as Thread
from bobcat.threads import ThreadEvent as ThreadEvent
from bobcat.threads import ThreadInfo as ThreadInfo
from bobcat.threads import Threads as Threads
from bobcat.threads import ThreadText as ThreadText
from bobcat.threads import ThreadThinking as ThreadThinking
from bobcat.threads import ThreadUsage as ThreadUsage
from bobcat.threads import TurnStarted as TurnStarted
from bobcat.threads import Window as Window
from bobcat.tools.action import Action as Action
from bobcat.tools.action import current_action as current_action
from bobcat.tools.action import uses_action as uses_action
from bobcat.tools.decorator import (
    reconcile as reconcile,
)
from bobcat.tools.decorator import (
    shadow as shadow,
)
from bobcat.tools.decorator import (
    tool as tool,
)
from bobcat.tools.toolset import ToolSet as ToolSet
from bobcat.triggers import Firing as Firing
from bobcat.triggers import Trigger as Trigger
from bobcat.triggers import Triggers as Triggers
from bobcat.triggers import WorkerTriggers as WorkerTriggers
from bobcat.undo import (
    Recovered as Recovered,
)
from bobcat.undo import (
    Undo as Undo,
)
from bobcat.undo import (
    UndoEntry as UndoEntry,
)
