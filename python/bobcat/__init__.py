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
    from bobcat.bundle.load import load_bundle
    from bobcat.bundle.model import PolicyBundle, PolicyDefaults
    from bobcat.compiler import compile_policy, load_policy_file
    from bobcat.decisions import allow, approve_required, deny, dry_run, transform
    from bobcat.diagnostics import Diagnostic, Severity, Span
    from bobcat.errors import BundleError, PolicyCompileError, PolicyWarning, RequestError
    from bobcat.model import ActionRequest, Decision, ExecutionContext, Principal, ToolDef, ToolMetadata, Verdict
    from bobcat.pdp import Explanation, evaluate, evaluate_json, evaluate_many, explain
    from bobcat.requests import request_from_json, request_to_json

__all__ = [
    "ActionRequest",
    "BundleError",
    "Decision",
    "Diagnostic",
    "ExecutionContext",
    "Explanation",
    "PolicyBundle",
    "PolicyCompileError",
    "PolicyDefaults",
    "PolicyWarning",
    "Principal",
    "RequestError",
    "Severity",
    "Span",
    "ToolDef",
    "ToolMetadata",
    "Verdict",
    "__version__",
    "allow",
    "approve_required",
    "compile_policy",
    "deny",
    "dry_run",
    "evaluate",
    "evaluate_json",
    "evaluate_many",
    "explain",
    "load_bundle",
    "load_policy_file",
    "request_from_json",
    "request_to_json",
    "transform",
]

_HOMES: dict[str, tuple[str, ...]] = {
    "bobcat._core": ("__version__", "evaluate", "evaluate_json", "evaluate_many"),
    "bobcat.bundle.explanation": ("Explanation", "explain"),
    "bobcat.bundle.load": ("load_bundle",),
    "bobcat.bundle.model": ("PolicyBundle", "PolicyDefaults"),
    "bobcat.compiler": ("compile_policy", "load_policy_file"),
    "bobcat.decisions": ("allow", "approve_required", "deny", "dry_run", "transform"),
    "bobcat.diagnostics": ("Diagnostic", "Severity", "Span"),
    "bobcat.errors": ("BundleError", "PolicyCompileError", "PolicyWarning", "RequestError"),
    "bobcat.model": (
        "ActionRequest",
        "Decision",
        "ExecutionContext",
        "Principal",
        "ToolDef",
        "ToolMetadata",
        "Verdict",
    ),
    "bobcat.requests": ("request_from_json", "request_to_json"),
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
