"""Scope of one function being lowered: its names, and the facts known about them.

`lower` creates one for a rule; every inlined call creates another, over the slots of the same session. A scope calls
the modules that infer and lower through the `Lowerer` of its session, so that this module imports none of them.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bobcat.diagnostics.model import Span
from bobcat.frontend.observation import Finding
from bobcat.frontend.python.analysis.assignments import bound_once, value_of
from bobcat.frontend.python.analysis.bindings import MISSING, Alias, DispatchedObject, Parameter, SlotBinding, Static
from bobcat.frontend.python.analysis.changes import change_of_cell, changing_names, local_names
from bobcat.frontend.python.analysis.escape import RELIED_ON, LocalContainer, local_containers
from bobcat.frontend.python.analysis.freeze import MUTABLE, NotConstant, described, freeze
from bobcat.frontend.python.analysis.hints import hint_for
from bobcat.frontend.python.analysis.impure import reads_outside
from bobcat.frontend.python.analysis.kinds import OBJECTS, InferredKind, kind_of_value
from bobcat.frontend.python.analysis.refusal import CannotLower, LoweringProblem
from bobcat.frontend.python.analysis.source import FunctionNode, FunctionSource, Module
from bobcat.ir.code import Code, Constant, Local, Statement
from bobcat.ir.schema import Definition
from bobcat.model.decision import Verdict

MAX_NODES = 20_000
"""Expressions and statements of one rule, inlined functions counted at every call."""


KEPT: dict[InferredKind, tuple[str, str]] = {
    "run": ("keeps `request.run`", 'call one of its functions: `request.run.count("send_money")`'),
    "origin": (
        "keeps the origin of a value",
        'test it where it is needed: `"directory" in request.origin("to")`, `request.origin("to") & {"task"}`',
    ),
}
"""The problem and the replacement for values that can only be used at once."""


@dataclass(frozen=True, slots=True)
class Nested:
    """A name bound to a nested function."""

    node: FunctionNode
    owner: Scope


Binding: TypeAlias = "SlotBinding | Static | Nested | Parameter | Alias | DispatchedObject"
"""All that a name of a function under lowering can stand for."""


@dataclass(frozen=True, slots=True)
class Lowerer:
    """The functions that infer kinds and that lower expressions and statements."""

    infer: Callable[[Scope], None]
    kind_of: Callable[[ast.expr, Scope], InferredKind]
    static: Callable[[ast.expr, Scope], Any]  # Any: every object, or MISSING
    expression: Callable[[ast.expr, Scope], Code]
    statement: Callable[[ast.stmt, Scope], tuple[Statement, ...]]
    body: Callable[[Sequence[ast.stmt], Scope], tuple[Statement, ...]]


@dataclass(slots=True, eq=False)
class Session:
    """State shared by all functions of one rule."""

    lowerer: Lowerer
    slots: int = 0
    nodes: int = 0
    stack: list[object] = field(default_factory=list)  # the rule itself, then the inlined functions
    frozen: dict[str, tuple[Span, str]] = field(default_factory=dict)
    found: list[LoweringProblem] = field(default_factory=list)
    warnings: list[LoweringProblem] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    # The sources of the policy, by the author's names; None if they are not known.
    sources: Mapping[str, str] | None = None
    memory: dict[str, Definition] = field(default_factory=dict)  # the counts, sums and formulas that the rule reads
    reads_run: bool = False
    diagnostics: list[Finding] = field(default_factory=list)
    places: dict[int, tuple[Statement, Span]] = field(default_factory=dict)

    def new_slot(self, name: str = "") -> int:
        """Return a new slot with the author's name for it."""
        self.slots += 1
        if name:
            self.names[self.slots - 1] = name
        return self.slots - 1

    def note_span(self, statement: Statement, span: Span) -> None:
        """Record the position of a statement unless it is already known."""
        self.places.setdefault(id(statement), (statement, span))  # This also prevents reuse of its id.


class Scope:
    """A function being lowered: the rule itself, or an inlined callee."""

    def __init__(
        self,
        session: Session,
        source: FunctionSource,
        *,
        fn: types.FunctionType | None = None,
        parent: Scope | None = None,
    ) -> None:
        self.session = session
        self.source = source
        self.parent = parent
        self._globals: Mapping[str, Any] = fn.__globals__ if fn is not None else {}
        self._cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)) if fn is not None else {}
        self.own = local_names(source.node)
        self.once = bound_once(source.node)
        self.bindings: dict[str, Binding] = {}
        self.kinds: dict[str, InferredKind] = {}
        self.assigned: set[str] = set()
        self.scopes: list[dict[str, Binding]] = []
        self.local_containers: dict[str, LocalContainer] = local_containers(source.node)
        if any(name in self.own or name in self._cells or name in self._globals for name in RELIED_ON):
            self.local_containers = {name: LocalContainer(None, source.node) for name in self.local_containers}
        self.returned: InferredKind | None = None
        # Keep the node so that its id is not reused.
        self.call_kinds: dict[int, tuple[ast.expr, InferredKind]] = {}

    # --- names ---

    def infer(self) -> None:
        """Infer the facts about the locals; call it after the parameters are bound."""
        self.session.lowerer.infer(self)

    def resolve(self, node: ast.Name) -> Binding:
        """Resolve a name at the position of its read."""
        return self._resolve(node, node.id)

    def _resolve(self, node: ast.Name, name: str) -> Binding:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.own:
            binding = self.local(name)
            if not isinstance(binding, SlotBinding) and name not in self.assigned:  # on some paths only, or later
                raise self.error_at(node, f"reads `{name}`, which may be unassigned here", "assign it on every path")
            return binding
        if self.parent is not None:
            return self.parent._resolve(node, name)
        return Static(self._outer(node, name))

    def local(self, name: str) -> Binding:
        """Return the binding of a local name; a slot unless a more specific binding is known."""
        if name not in self.bindings:
            self.bindings[name] = SlotBinding(self.session.new_slot(name))
        return self.bindings[name]

    def slot_of(self, name: str) -> int:
        """Return the slot of a local."""
        binding = self.local(name)
        assert isinstance(binding, SlotBinding)
        return binding.slot

    def _outer(self, node: ast.Name, name: str) -> Any:  # Any: every object
        if name in self._cells or name in self._globals:
            tree = self.source.module.tree
            in_cell = name in self._cells
            line = change_of_cell(tree, self.source.node, name) if in_cell else changing_names(tree).get(name)
            if line is not None:
                raise self.error_changing(node, name, line)
            if name in self._globals and name not in self._cells:
                return self._globals[name]
            try:
                return self._cells[name].cell_contents
            except ValueError as error:
                problem = f"reads `{name}`, which is not yet assigned"
                raise self.error_at(node, problem, "define it before the rule is compiled") from error
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise self.error_at(node, f"reads `{name}`, which is not defined", "define it before the rule is compiled")

    def kind(self, node: ast.expr) -> InferredKind:
        """Return the known kind of an expression's value."""
        return self.session.lowerer.kind_of(node, self)

    def kind_of_name(self, node: ast.Name) -> InferredKind:
        """Return the known kind of a name at the position of its read."""
        for scope in reversed(self.scopes):
            if node.id in scope:
                binding = scope[node.id]
                return kind_of_value(binding.value) if isinstance(binding, Static) else "any"
        if node.id in self.own:
            static = self.bindings.get(node.id)
            if isinstance(static, DispatchedObject):
                return "choice"
            return kind_of_value(static.value) if isinstance(static, Static) else self.kinds.get(node.id, "any")
        if self.parent is not None:
            return self.parent.kind_of_name(node)
        try:
            return kind_of_value(self._outer(node, node.id))
        except CannotLower:
            return "any"

    def is_certain(self, name: str) -> bool:
        """Return true if a local is definitely assigned at this point."""
        if any(name in scope for scope in self.scopes):
            return True
        if name in self.own:
            return name in self.assigned or not isinstance(self.bindings.get(name), SlotBinding | None)
        return self.parent is None or self.parent.is_certain(name)

    def written_once(self, node: ast.Name) -> ast.expr | None:
        """Return the only expression assigned to a local; None if it is not certain at the read."""
        if any(node.id in scope for scope in self.scopes):
            return None
        if node.id not in self.own:
            return None if self.parent is None else self.parent.written_once(node)
        if node.id not in self.once or node.id not in self.assigned:
            return None
        return value_of(self.source.node, node.id)

    def alias(self, node: ast.Name) -> ast.expr | None:
        """Return the expression that a local aliases, if all names in it have the same meaning at the read."""
        binding = self.bindings.get(node.id) if node.id in self.own else None
        if not isinstance(binding, Alias) or node.id not in self.assigned:
            return None
        names = {node.id, *(item.id for item in ast.walk(binding.node) if isinstance(item, ast.Name))}
        return None if any(name in scope for scope in self.scopes for name in names) else binding.node

    # --- objects ---

    def static(self, node: ast.expr) -> Any:  # Any: every object, or MISSING
        """Return the compile-time object of an expression; `MISSING` without one."""
        return self.session.lowerer.static(node, self)

    def known(self, node: ast.expr) -> Any:  # Any: every object, or MISSING
        """Return the same object; `MISSING` also where lowering the expression would be an error."""
        try:
            return self.static(node)
        except CannotLower:
            return MISSING

    def constant_name(self, node: ast.expr, value: object) -> None:
        """Record that a table is captured at compile time."""
        if isinstance(value, MUTABLE) and isinstance(node, ast.Name) and not node.id.isupper():
            self.session.frozen.setdefault(node.id, (self.source.place.span(node), type(value).__name__))

    def constant(self, node: ast.AST, value: Any, what: str) -> Constant:  # Any: every object
        """Convert an object to a constant. Raises if it cannot be one."""
        outside = reads_outside(value)
        if outside is not None:
            raise self.error_at(node, outside[0], outside[1], kind="impure")
        try:
            const = freeze(value)
        except NotConstant as reason:
            help = "use strings, numbers, bools, None, and tuples, lists, sets and dicts of them"
            if callable(value):  # usually a decision constructor without its parentheses
                help = f"call it, `{what}(...)`"
            if isinstance(value, Verdict):
                help = f"return a decision: `{value}(...)`"
            raise self.error_at(
                node, f"uses `{what}`, which cannot be frozen into the policy: {reason}", help
            ) from reason
        if isinstance(node, ast.expr):
            self.constant_name(node, value)
        return Constant(const)

    # --- lowering ---

    def value(self, node: ast.expr) -> Code:
        """Lower an expression whose value is used without restriction."""
        code = self.raw(node)
        kind = self.kind(node)
        if kind in OBJECTS:
            if kind == "choice":
                raise self.error_at(node, "keeps an object of a table", "call it or read a field of it immediately")
            if kind in KEPT:
                raise self.error_at(node, *KEPT[kind])
            what = "an object of the call" if kind == "mixed" else f"the {kind}"
            raise self.error_at(
                node, f"uses {what} as a value", "use one of its fields: `request.args`, `context.principal.id`"
            )
        if kind == "view":
            raise self.error_at(
                node,
                "keeps a view of a dict",
                "iterate over it in a `for` or a comprehension, or create a list: `list(...)`",
            )
        return code

    def raw(self, node: ast.expr) -> Code:
        """Lower an expression whose value may be an object of the request."""
        self.count(node)
        return self.session.lowerer.expression(node, self)

    def iterable(self, node: ast.expr) -> Code:
        """Lower an expression that is consumed by iteration at once."""
        return self.raw(node) if self.kind(node) == "view" else self.value(node)

    def ordered(self, node: ast.expr) -> Code:
        """Lower an expression that is iterated over in a significant order."""
        code = self.iterable(node)
        if self.kind(node) == "set":
            raise self.error_at(
                node, "iterates over a set, whose order is not defined", "iterate over `sorted(...)` of it"
            )
        return code

    def check_shown(self, node: ast.expr) -> None:
        """Reject the conversion of a value to text if the text is not deterministic."""
        kind = self.kind(node)
        if kind == "set":
            raise self.error_at(node, "shows a set, whose order is not defined", "show `sorted(...)` of it")
        if kind in ("datetime", "decision"):
            raise self.error_at(node, f"shows a {kind}", "show a string or a number: `context.timestamp.isoformat()`")

    def body(self, nodes: Sequence[ast.stmt]) -> tuple[Statement, ...]:
        """Lower statements in order."""
        return self.session.lowerer.body(nodes, self)

    def count(self, node: ast.AST) -> None:
        """Count a node against the limit."""
        self.session.nodes += 1
        if self.session.nodes > MAX_NODES:
            raise self.error_at(
                node,
                f"has more than {MAX_NODES} expressions after its calls are inlined",
                "split the rule, or use a table for its cases",
            )

    def temporary(self, shown: str = "") -> tuple[int, Local]:
        """Return a new slot and a read of it. `shown` is its name in explanations."""
        slot = self.session.new_slot(shown)
        return slot, Local(slot)

    def error_at(self, node: ast.AST, problem: str, instead: str, *, kind: Any = "shape") -> CannotLower:
        """Return the error to raise for a node of this function."""
        return self.source.place.error_at(node, problem, instead, kind=kind)

    def error_changing(self, node: ast.AST, name: str, line: int) -> CannotLower:
        """Return the error for a name that does not keep its value."""
        problem = f"reads `{name}`, which changes in line {line} of its module"
        return self.error_at(node, problem, "assign the name once, or pass the value in `context.extra`", kind="impure")

    def warn_at(self, node: ast.AST, problem: str, instead: str) -> None:
        """Report a construct whose meaning the author cannot intend."""
        self.session.warnings.append(LoweringProblem("shape", self.source.place.span(node), problem, instead))

    def error_at_value(self, node: ast.AST, value: object, what: str, instead: str) -> CannotLower:
        """Return the error for an object, with the reason "impure" if it is known to be impure."""
        outside = reads_outside(value)
        if outside is not None:
            return self.error_at(node, outside[0], outside[1], kind="impure")
        return self.error_at(node, f"{what} {described(value)}", hint_for(value) or instead)

    def guarded(self, node: ast.stmt) -> tuple[Statement, ...]:
        """Lower a statement; on error, record it and return no statements, so that later errors are found too."""
        try:
            return self.session.lowerer.statement(node, self)
        except CannotLower as refused:
            self.session.found.append(refused.refusal)
        except RecursionError:
            self.session.found.append(
                LoweringProblem("shape", self.source.place.span(node), "is nested too deeply", "give its parts names")
            )
        return ()

    @property
    def module_name(self) -> str:
        """Return the name of the function's module."""
        return str(self._globals.get("__name__", "")) if self.parent is None else self.parent.module_name

    @property
    def module(self) -> Module:
        """Return the source text of the function."""
        return self.source.module
