"""Fields that `bobcat.lynx` has beyond those of lynx-agent 2.5: tests compare all others."""

from __future__ import annotations

EXTRA_FIELDS = {
    "Message": ["provider_data", "attachments"],
    "ToolCall": ["text", "problem", "provider_data"],
    "ApprovalDecision": ["args"],
    "ApprovalRequest": [
        "run_id",
        "bundle_id",
        "round",
        "granted_by",
        "uncertain",
        "definition",
        "asked",
        "notes",
        "filled",
    ],
    "Decision": ["approvals_needed", "obligations"],
    "ExecutionContext": ["task"],
    "GraphNode": ["exceeds"],
    "GraphSpec": ["diagnostics"],
    "GraphResult": ["outcome"],
    "RunResult": ["approvals", "audit_gaps", "traceback", "outcome", "code"],
    "ToolDef": ["reconcile_fn", "definition", "opaque_args", "snapshotter"],
    "ToolMetadata": ["effect", "compress"],
}
"""Fields behind those of lynx-agent. `docs/migrating-from-lynx.md` names each."""
OTHERWISE = {"ToolMetadata"}
"""Names of 2.11 that are called in another way: `docs/reference/lynx-2-11.md` says how."""
OTHER_OUTPUT = {34, 35}
"""Examples of 2.11 whose output differs: a further event of the proxy, an address of a provider."""
