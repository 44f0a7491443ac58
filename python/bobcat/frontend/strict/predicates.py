"""Predicates: matches with a name, lowered once and expanded at every use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bobcat._core import Node, ScalarNode, is_printable
from bobcat.diagnostics.model import Related
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.marks import file_of, resolved, unqualified
from bobcat.frontend.strict.sizes import MAX_EXPR_DEPTH, Sized
from bobcat.frontend.strict.vocabulary import CONNECTIVES
from bobcat.frontend.suggest import MAX_COMPARISONS, Names
from bobcat.frontend.yaml.nodes import Entries


@dataclass(slots=True)
class _Predicate:
    name: str
    key: ScalarNode
    body: Node
    done: bool = False
    lowered: Sized | None = None
    uses: set[str] = field(default_factory=set)


class Predicates:
    """The predicates of one policy. `lower` lowers the body of one; `charge` counts its nodes.

    Methods return None after they have reported an error.
    """

    def __init__(
        self,
        report: DiagnosticCollector,
        lower: Callable[[Node, str], Sized | None],
        charge: Callable[[Node, int], bool],
    ) -> None:
        self._report = report
        self._lower = lower
        self._charge = charge
        self._found: dict[str, _Predicate] = {}
        self._names: Names | None = None
        self._stack: list[str] = []
        self._used: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def define(self, found: Entries) -> None:
        """Register the predicates and check every body, used or not."""
        for name, (key_node, body) in found.items():
            problem = _name_problem(unqualified(name, key_node))
            if problem:
                self._report.add("E0503", key_node, name=shown(name), problem=problem)
                continue
            self._found[name] = _Predicate(name, key_node, body)
        for predicate in self._found.values():
            if self._report.full:
                return
            self._lowered(predicate)

    def report_unused(self) -> None:
        """Record predicates of the policy's own file that no rule reaches."""
        reached: set[str] = set()
        waiting = list(self._used)
        while waiting:
            name = waiting.pop()
            if name not in reached and name in self._found:
                reached.add(name)
                waiting.extend(self._found[name].uses)
        for name, predicate in self._found.items():
            if name not in reached and file_of(predicate.key) is None:
                self._report.observe("unused-predicate", predicate.key, name=shown(name))

    def use(self, node: Node, name: str) -> Sized | None:
        """Return the match of a name; `node` is the place of the use."""
        name = resolved(name, node, self._found)
        predicate = self._found.get(name)
        if predicate is None:
            self._report.add("E0501", node, name=shown(name), help=self._suggestion(name))
            return None
        if self._stack:
            self._found[self._stack[-1]].uses.add(name)
        else:
            self._used.add(name)
        if name in self._stack:
            cycle = [*self._stack[self._stack.index(name) :], name]
            related = [Related(self._report.span(predicate.key), f"`{shown(name)}` is defined here")]
            chain = " -> ".join(f"`{shown(step)}`" for step in cycle)
            self._report.add("E0502", node, name=shown(name), chain=chain, related=related)
            return None
        if len(self._stack) >= MAX_EXPR_DEPTH:
            self._report.add("E0504", node, limit=MAX_EXPR_DEPTH)
            return None
        return self._lowered(predicate)

    def _suggestion(self, name: str) -> str:
        """Return a help line about an unknown predicate."""
        if self._names is None:
            self._names = Names(self._found)
        near = self._names.closest(name)
        if near is not None:
            return f"did you mean `{shown(near)}`?"
        if self._names.exhausted:
            limit = f"{MAX_COMPARISONS:,}"
            return f"define it under `predicates`; the search for a similar name stopped after {limit} comparisons"
        return "define it under `predicates`"

    def _lowered(self, predicate: _Predicate) -> Sized | None:
        if not predicate.done:
            self._stack.append(predicate.name)
            predicate.lowered = self._lower(predicate.body, f"the predicate `{shown(predicate.name)}`")
            self._stack.pop()
            predicate.done = True
            if predicate.lowered is not None and not self._charge(predicate.body, predicate.lowered[2]):
                predicate.lowered = None
        return predicate.lowered


def _name_problem(name: str) -> str | None:
    if not name.strip():
        return "it is empty"
    if not is_printable(name):
        return "it holds a control character"
    if name in CONNECTIVES:
        return "it is a connective"
    return None
