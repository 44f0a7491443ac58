"""The API reference: signatures and docstrings of the public names of `bobcat`, each in one group."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from functools import reduce
from pathlib import Path
from types import FunctionType
from typing import Any, get_args

import bobcat
import bobcat.stores

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "api.md"

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

_HEAD = """# API reference

The public names of `bobcat`: signature, first paragraph of the docstring, and the same of public members. `help(bobcat.NAME)` shows the rest.
`BOBCAT_UPDATE_API=1 pytest tests/docs/test_api_reference.py` writes this page.
"""  # noqa: E501

_NOTES = {
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

_SHORTER = (
    (r"<function (\w+) at 0x\w+>", r"\1"),
    (r"<(\w+\.\w+): [^>]*>", r"\1"),
    (r"<factory>", "..."),
    (r"\b(?:bobcat|collections|typing|datetime)(?:\.\w+)*\.(?=\w)", ""),
)
_WIDTH = 110


def page() -> str:
    """Render the page."""
    entries = {
        title: [_entry(name, getattr(bobcat, name)) for name in names.split()] for title, names in GROUPS.items()
    }
    return _HEAD + "".join(f"\n## {title}\n{''.join(texts)}" for title, texts in entries.items())


def _entry(name: str, value: Any) -> str:  # Any: every kind of public name, here and below
    text = f"\n### `{name}`\n\n{_NOTES.get(name) or _summary(value)}\n"
    opaque = getattr(value, "_is_protocol", False) or value is bobcat.Policy or name in _NOTES
    if not opaque and not (inspect.isclass(value) and issubclass(value, (Exception, Enum))):
        text += f"\n```python no-run\n{_call(name, value)}\n```\n"
    rows = "".join(_rows(value)) if inspect.isclass(value) and name not in _NOTES else ""
    return text + (f"\n| member | |\n|---|---|\n{rows}" if rows else "")


def _rows(owner: type) -> Iterator[str]:
    """Yield the table rows of the documented public methods and properties of a class, inherited ones first."""
    members: dict[str, Any] = {}
    for each in reversed(owner.__mro__):
        members |= vars(each) if each is owner or each.__module__.startswith("bobcat.stores.") else {}
    for name, member in members.items():
        inner = getattr(member, "__func__", member)
        if name.startswith("_") or not isinstance(inner, (FunctionType, property)) or not inner.__doc__:
            continue
        shown = name
        if isinstance(inner, FunctionType):
            parameters = _parameters(inner, annotated=False)[0 if isinstance(member, staticmethod) else 1 :]
            shown = f"{name}({', '.join(parameters)})"
        yield f"| `{shown}` | {_summary(inner).replace('|', chr(92) + '|')} |\n"


def _call(name: str, value: Any) -> str:
    parameters, returned = _parameters(value, annotated=True), inspect.signature(value).return_annotation
    answer = "" if inspect.isclass(value) or returned is inspect.Signature.empty else f" -> {_text(returned)}"
    line = f"{name}({', '.join(parameters)}){answer}"
    lines = ",\n    ".join(parameters)
    return line if len(line) <= _WIDTH else f"{name}(\n    {lines},\n){answer}"


def _parameters(value: Any, *, annotated: bool) -> list[str]:
    """List the parameters of a callable as Python writes them, with `/` and `*`."""
    shown: list[str] = []
    for each in inspect.signature(value).parameters.values():
        if each.kind is each.KEYWORD_ONLY and not any(text.startswith("*") for text in shown):
            shown.append("*")
        text = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "") + each.name
        typed = annotated and each.annotation is not each.empty
        text += f": {_text(each.annotation)}" if typed else ""
        if each.default is not each.empty:
            text += f"{' = ' if typed else '='}{_text(repr(each.default))}"
        shown.append(text)
        if each.kind is each.POSITIONAL_ONLY:
            shown = [text for text in shown if text != "/"] + ["/"]
    return shown


def _text(annotation: Any) -> str:
    """Show an annotation or the `repr` of a default without modules and addresses."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return reduce(lambda text, rule: re.sub(*rule, text), _SHORTER, text)


def _summary(value: Any) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
