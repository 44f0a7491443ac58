"""Policies built in Python: the same language as YAML, for programs that generate rules.

    from bobcat.build import Policy, args, context, tool, when

    policy = Policy(
        when(tool == "shell", args.cmd.lower().contains("rm -rf")).deny("not that", id="no-rm", priority=10),
        when(tool == "edit", args.owner == context.principal.id).allow(id="own-documents"),
    )
    bundle = policy.compile()           # or compile_policy(policy), or python_rules=policy beside YAML

Building checks only that conditions and operands have valid types; the compiler checks rules as
it checks YAML, and reports the Python line of each.
"""

from bobcat.build.capabilities import Capability, capability
from bobcat.build.conditions import Condition, all_of, any_of, not_
from bobcat.build.memory import record, result, run
from bobcat.build.paths import Edit, Path, args, context, declared, element, path, tool
from bobcat.build.policy import Policy
from bobcat.build.rules import Rule, When, always, when

__all__ = [
    "Capability",
    "Condition",
    "Edit",
    "Path",
    "Policy",
    "Rule",
    "When",
    "all_of",
    "always",
    "any_of",
    "args",
    "capability",
    "context",
    "declared",
    "element",
    "not_",
    "path",
    "record",
    "result",
    "run",
    "tool",
    "when",
]
