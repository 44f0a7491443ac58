"""Environments, workspaces, principals and tasks of runs: one of each kind that rules tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from bobcat.analysis.calls import plain
from bobcat.analysis.engine import Constraint, Questions
from bobcat.analysis.matches import RESTRICTS, policy_of_match
from bobcat.analysis.model import Witness
from bobcat.analysis.paths import ABSENT, Data, Path, value_at
from bobcat.bundle.model import Policy
from bobcat.ir import construct
from bobcat.ir.canonical import encode
from bobcat.ir.constants import to_const
from bobcat.ir.memory import reads_memory
from bobcat.ir.schema import Expr, Leaf
from bobcat.ir.visit import leaves, refs
from bobcat.model.decision import ExecutionContext
from bobcat.model.defaults import CONTEXT
from bobcat.model.request_json import context_data

MAX_SURROUNDINGS = 16
"""Surroundings that are tried."""
_FIELDS = ("environment", "workspace", "principal", "task")


class Surroundings:
    """The contexts of runs that the rules in question tell apart."""

    def __init__(self, exprs: Iterable[Expr]) -> None:
        read = [leaf for expr in exprs for leaf in leaves(expr)]
        self.joined = any(_is_shared(path) for leaf in read for path in refs(leaf.operand))
        """True if a rule compares a part of them with something else."""
        own = {encode(leaf): leaf for leaf in read if _is_shared((leaf.head, *leaf.path)) and not reads_memory(leaf)}
        self._leaves = [leaf for _, leaf in sorted(own.items())]
        paths = [(str(leaf.head), *leaf.path) for leaf in self._leaves]
        self._paths = sorted({*paths, *(path for leaf in read for path in refs(leaf.operand) if _is_shared(path))})
        self.complete = True
        """False after more contexts than are tried."""
        self._count = 0

    def each(self) -> Iterator[ExecutionContext]:
        """Yield one context of each kind, the default one first where it is one of them."""
        if not self._leaves:
            yield CONTEXT
            return
        questions = Questions([policy_of_match(leaf, RESTRICTS, {}) for leaf in self._leaves])
        yield from sorted(filter(_is_text, self._split(questions, [])), key=_changes)

    def _split(self, questions: Questions, known: list[Constraint]) -> Iterator[ExecutionContext]:
        answer = questions.find(*known, tools=[None])
        if not isinstance(answer, Witness):
            return
        if len(known) == len(self._leaves):
            self._count += 1
            if self._count > MAX_SURROUNDINGS:
                self.complete = False
                return
            yield shared_part(answer.request.context, CONTEXT)
            return
        for outcomes in (["true"], ["false", "absent"], ["error"]):
            yield from self._split(questions, [*known, {"match": len(known), "is": outcomes}])

    def match(self, context: ExecutionContext) -> Policy:
        """Return the match of calls in a context, as far as rules tell contexts apart."""
        data: Data = {"context": context_data(context)}
        return policy_of_match(construct.all_(self._same(data)), RESTRICTS, {})

    def _same(self, data: Data) -> Iterator[Leaf]:
        for path in self._paths:
            value = value_at(data, path)
            if value is ABSENT or value is None:
                yield construct.leaf("context", path[1:], "exists", False)
            else:
                yield construct.leaf("context", path[1:], "eq", to_const(plain(value)))


def shared_part(context: ExecutionContext, own: ExecutionContext) -> ExecutionContext:
    """Return a context with the surroundings of another one."""
    return replace(own, **{name: getattr(context, name) for name in _FIELDS})


def at(context: ExecutionContext, time: datetime) -> ExecutionContext:
    """Return a context at a time."""
    return replace(context, timestamp=time)


def _is_shared(path: Path) -> bool:
    return path[0] == "context" and len(path) > 1 and path[1] in _FIELDS


def _is_text(context: ExecutionContext) -> bool:
    """Return true unless a text has half a surrogate pair, which no JSON has: only such a text is in error."""
    texts = (context.environment, context.workspace, context.principal.id, context.task or "")
    return not any("\ud800" <= sign <= "\udfff" for text in texts for sign in text)


def _changes(context: ExecutionContext) -> int:
    return sum(getattr(context, name) != getattr(CONTEXT, name) for name in _FIELDS)
