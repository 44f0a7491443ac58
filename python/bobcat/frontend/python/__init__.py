"""Python rules: callables `(ActionRequest, ExecutionContext) -> Decision | None` beside the rules of a policy.

`host.to_rules` is the interface between a callable and the IR: a function is lowered from its own source into a
`FunctionRule` with nodes of `bobcat.ir.code`; a function that cannot be lowered is an error, or stays a `HostRule`.

    source ─► function ─► statements, expressions, calls, cases ─► code
    (text,      (names,      (one node of Python to one of code;
     checked)    kinds)       constructs without an exact counterpart are errors)
"""
