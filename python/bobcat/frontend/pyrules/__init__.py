"""Python rules: callables `(ActionRequest, ExecutionContext) -> Decision | None` beside the rules of a policy.

`to_rules` is the seam between a callable and the IR. Today every callable becomes a `HostRule`, called back at run time
and pinned by the digest of its code; what can be lowered into a declarative `Rule` will come out of here as one.
"""

from bobcat.frontend.pyrules.host import PythonRules, to_rules

__all__ = ["PythonRules", "to_rules"]
