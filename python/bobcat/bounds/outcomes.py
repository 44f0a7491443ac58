"""The outcomes that the match of a rule can have when only a part of a request is known.

INVARIANT: the outcome on every request with the known part is among those returned. More may be returned, never fewer.
The calls that pass a limit of the core are left out: a rule without budget is in error.
"""

from __future__ import annotations

from bobcat._core import CoreError, Program, explain
from bobcat.bounds.known import Exactly, Fact, Known, Other, Path
from bobcat.errors import RequestError
from bobcat.ir import canonical, construct
from bobcat.ir.memory import reads_memory
from bobcat.ir.schema import AllExpr, AnyExpr, Expr, Leaf, NotExpr, Profile
from bobcat.ir.visit import refs

TRUE, FALSE, ABSENT, ERROR = 1, 2, 4, 8
ANY = TRUE | FALSE | ABSENT | ERROR
_OUTCOMES = {"true": TRUE, "false": FALSE, "absent": ABSENT, "error": ERROR}


class Outcomes:
    """Bounds of the outcomes of expressions, as sets of bits; each known comparison is evaluated by the core, once."""

    def __init__(self, profile: Profile) -> None:
        self._strict = profile == "strict"
        self._profile = profile
        self._leaves: dict[tuple[int, bool, Path, str], int] = {}

    def of(self, expr: Expr, known: Known, *, permits: bool) -> int:
        """The outcomes of an expression in a rule that permits, or in one that restricts."""
        match expr:
            case Leaf():
                return self._leaf(expr, known, permits)
            case NotExpr(item):
                found = self.of(item, known, permits=permits)
                return (found & (ABSENT | ERROR)) | (found & TRUE and FALSE) | (found & FALSE and TRUE)
            case AllExpr(items):
                return self._joined([self.of(item, known, permits=permits) for item in items], TRUE, FALSE)
            case AnyExpr(items):
                return self._joined([self.of(item, known, permits=permits) for item in items], FALSE, TRUE)

    def _joined(self, items: list[int], neutral: int, decisive: int) -> int:
        """Join outcomes: one decisive item decides, all must be neutral for the neutral outcome."""
        decided = decisive in items
        if decided and self._strict:
            return decisive
        found = 0
        for item in items:
            found |= item & (ABSENT | ERROR | decisive)
        if decided:  # in the order of the items, an earlier one may be in error
            return found & (ERROR | decisive)
        return found | (neutral if all(item & neutral for item in items) else 0)

    def _leaf(self, leaf: Leaf, known: Known, permits: bool) -> int:
        path = (leaf.head, *leaf.path)
        fact = known.facts.get(path)
        if fact is None or reads_memory(leaf) or next(refs(leaf.operand), None) is not None:
            return TRUE | FALSE if leaf.op == "exists" else ANY
        key = (id(leaf), permits, path, repr(fact))
        if key not in self._leaves:
            exact = isinstance(fact, Exactly)
            self._leaves[key] = self._evaluated(leaf, path, fact, permits) if exact else _other(leaf, fact)
        return self._leaves[key]

    def _evaluated(self, leaf: Leaf, path: Path, fact: Fact, permits: bool) -> int:
        """The outcome of a comparison with a known value."""
        rule = construct.rule("", leaf, "allow" if permits else "deny")
        try:
            program = Program(canonical.encode(construct.policy([rule], profile=self._profile)))
            request = Known({path: fact}).request
        except (CoreError, RequestError):  # a definition that the program lacks, or a value that JSON cannot hold
            return ANY
        _, ((_, _, _, comparison, _),) = explain(program, request)
        return _OUTCOMES[comparison[1]]


def _other(leaf: Leaf, fact: Fact) -> int:
    """The outcomes of a comparison with any text outside of a set; a text of the context may be absent."""
    texts = fact.texts if isinstance(fact, Other) else frozenset()
    absent = 0 if leaf.head == "tool" else ABSENT | FALSE
    operands = leaf.operand if leaf.op in ("in", "not_in") else [leaf.operand] if leaf.op == "eq" else None
    if operands is None or not all(isinstance(each, str) for each in operands):
        return ANY
    equal = FALSE if texts.issuperset(operands) else TRUE | FALSE
    if leaf.op == "not_in":
        equal = TRUE if equal == FALSE else equal
    return equal | absent
