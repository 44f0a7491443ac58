"""The policy as the most permissive run sees it."""

from __future__ import annotations

import msgspec

from bobcat.ir import construct
from bobcat.ir.memory import reads_memory, used
from bobcat.ir.schema import AllExpr, AnyExpr, Expr, IrPolicy, IrRule, Leaf, NotExpr
from bobcat.lint.implication import PERMITS


def without_memory(policy: IrPolicy) -> IrPolicy:
    """Return the policy that decides as if the state of the run let every rule permit and no rule restrict."""
    if isinstance(policy.memory, msgspec.UnsetType) and not any(
        isinstance(rule, IrRule) and reads_memory(rule.match) for rule in policy.rules
    ):
        return policy
    rules = tuple(
        msgspec.structs.replace(rule, match=_freed(rule.match, rule.verdict in PERMITS))
        if isinstance(rule, IrRule)
        else rule
        for rule in policy.rules
    )
    definitions = {} if isinstance(policy.memory, msgspec.UnsetType) else policy.memory
    memory = used(rules, definitions) or msgspec.UNSET  # of functions, which read the state as they are
    return msgspec.structs.replace(policy, rules=rules, memory=memory)


def _freed(expr: Expr, holds: bool) -> Expr:
    match expr:
        case Leaf():
            if not reads_memory(expr):
                return expr
            return construct.TRUE if holds else construct.FALSE
        case NotExpr(item):
            return construct.not_(_freed(item, not holds))
        case AllExpr(items):
            return construct.all_([_freed(item, holds) for item in items])
        case AnyExpr(items):
            return construct.any_([_freed(item, holds) for item in items])
