"""Policies, under lynx-agent's path."""

from bobcat.lynx.core.policy import (
    PolicyBundle,
    PolicyCompileError,
    PolicyDefaults,
    PythonRule,
    allow,
    approve_required,
    compile_policy,
    deny,
    dry_run,
    evaluate,
    load_policy_file,
    transform,
)

__all__ = [
    "PolicyBundle",
    "PolicyCompileError",
    "PolicyDefaults",
    "PythonRule",
    "allow",
    "approve_required",
    "compile_policy",
    "deny",
    "dry_run",
    "evaluate",
    "load_policy_file",
    "transform",
]
