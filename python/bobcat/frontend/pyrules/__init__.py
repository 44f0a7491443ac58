"""Python rules: callables `(ActionRequest, ExecutionContext) -> Decision | None` beside the rules of a policy.

`host.to_rules` is the seam between a callable and the IR: a function is lowered from its own source into a
`FunctionRule`, whose nodes are those of `bobcat.ir.code`; what cannot be lowered is refused, or stays a `HostRule`.

    source ─► function ─► statements, expressions, calls, cases ─► code
    (text,      (names,      (one node of Python to one of code;
     checked)    kinds)       what has no exact counterpart is refused where it stands)
"""

from bobcat.frontend.pyrules.host import Host, Priorities, PythonRules, to_rules

__all__ = ["Host", "Priorities", "PythonRules", "to_rules"]
