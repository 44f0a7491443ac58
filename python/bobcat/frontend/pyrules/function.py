"""One function under lowering: its names, what is known of them, and the way to its expressions and statements.

`lower` makes one for a rule; every call of another function makes one more, over the slots of the same session.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bobcat.diagnostics import Span
from bobcat.frontend.pyrules import expressions, objects, statements
from bobcat.frontend.pyrules.bindings import Alias, Binding, Chosen, Slot, Static
from bobcat.frontend.pyrules.changes import change_of_cell, changing_names, local_names
from bobcat.frontend.pyrules.freeze import MUTABLE, NotConstant, described, freeze
from bobcat.frontend.pyrules.hints import hint_for
from bobcat.frontend.pyrules.impure import reads_outside
from bobcat.frontend.pyrules.inference import bound_once, infer, kind_of, value_of
from bobcat.frontend.pyrules.kinds import OBJECTS, Kind, kind_of_value
from bobcat.frontend.pyrules.mutation import RELIED_ON, Fresh, fresh_names
from bobcat.frontend.pyrules.refusal import CannotLower, Refusal
from bobcat.frontend.pyrules.source import FunctionSource, Module
from bobcat.ir.code import Code, Constant, Local, Statement
from bobcat.model import Verdict

MAX_NODES = 20_000
"""Expressions and statements of one rule, called functions included each time they are called."""


@dataclass(slots=True, eq=False)
class Session:
    """What the functions of one rule share."""

    slots: int = 0
    nodes: int = 0
    stack: list[object] = field(default_factory=list)
    frozen: dict[str, tuple[Span, str]] = field(default_factory=dict)
    found: list[Refusal] = field(default_factory=list)
    mistakes: list[Refusal] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    places: dict[int, tuple[Statement, Span]] = field(default_factory=dict)

    @property
    def stack_depth(self) -> int:
        """How many functions are in each other, the rule itself counted."""
        return len(self.stack)

    def new_slot(self, name: str = "") -> int:
        """A slot that nothing else uses, with the name that an author gave it."""
        self.slots += 1
        if name:
            self.names[self.slots - 1] = name
        return self.slots - 1

    def stands(self, statement: Statement, span: Span) -> None:
        """Note where a statement stands, unless that is known."""
        self.places.setdefault(id(statement), (statement, span))  # which also keeps its id from being used again


class Function:
    """One function: the root of a rule, or a callee in place."""

    def __init__(
        self,
        session: Session,
        source: FunctionSource,
        *,
        fn: types.FunctionType | None = None,
        parent: Function | None = None,
    ) -> None:
        self.session = session
        self.source = source
        self.parent = parent
        self._globals: Mapping[str, Any] = fn.__globals__ if fn is not None else {}
        self._cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)) if fn is not None else {}
        self.own = local_names(source.node)
        self.once = bound_once(source.node)
        self.bindings: dict[str, Binding] = {}
        self.kinds: dict[str, Kind] = {}
        self.assigned: set[str] = set()
        self.scopes: list[dict[str, Binding]] = []
        self.fresh: dict[str, Fresh] = fresh_names(source.node)
        if any(name in self.own or name in self._cells or name in self._globals for name in RELIED_ON):
            self.fresh = {name: Fresh(None, source.node) for name in self.fresh}
        self.returned: Kind | None = None
        # With the node, which keeps its id from being used again.
        self.call_kinds: dict[int, tuple[ast.expr, Kind]] = {}

    # --- names ---

    def infer(self) -> None:
        """Find out what is known of the locals; after the parameters are bound."""
        infer(self)

    def resolve(self, node: ast.Name) -> Binding:
        """What a name stands for where it is read."""
        return self._resolve(node, node.id)

    def _resolve(self, node: ast.Name, name: str) -> Binding:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.own:
            binding = self.local(name)
            if not isinstance(binding, Slot) and name not in self.assigned:  # on some ways only, or later
                raise self.cannot(
                    node, f"reads `{name}`, which may have no value here", "give it a value before, on every way"
                )
            return binding
        if self.parent is not None:
            return self.parent._resolve(node, name)
        return Static(self._outer(node, name))

    def local(self, name: str) -> Binding:
        """What a name of this function stands for; a slot unless it is known better."""
        if name not in self.bindings:
            self.bindings[name] = Slot(self.session.new_slot(name))
        return self.bindings[name]

    def slot_of(self, name: str) -> int:
        """The slot of a name that is a local."""
        binding = self.local(name)
        assert isinstance(binding, Slot)
        return binding.slot

    def _outer(self, node: ast.Name, name: str) -> Any:  # Any: every object
        if name in self._cells or name in self._globals:
            tree = self.source.module.tree
            in_cell = name in self._cells
            line = change_of_cell(tree, self.source.node, name) if in_cell else changing_names(tree).get(name)
            if line is not None:
                raise self.cannot(
                    node,
                    f"reads `{name}`, which changes in line {line} of its module",
                    "give the name one value that stays, or put what changes into `context.extra`",
                    kind="impure",
                )
            if name in self._globals and name not in self._cells:
                return self._globals[name]
            try:
                return self._cells[name].cell_contents
            except ValueError as error:
                problem = f"reads `{name}`, which has no value yet"
                raise self.cannot(node, problem, "define it before the rule is compiled") from error
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise self.cannot(node, f"reads `{name}`, which is not defined", "define it before the rule is compiled")

    def kind(self, node: ast.expr) -> Kind:
        """What is known of the value of an expression."""
        return kind_of(node, self)

    def kind_of_name(self, node: ast.Name) -> Kind:
        """What is known of a name where it is read."""
        for scope in reversed(self.scopes):
            if node.id in scope:
                binding = scope[node.id]
                return kind_of_value(binding.value) if isinstance(binding, Static) else "any"
        if node.id in self.own:
            static = self.bindings.get(node.id)
            if isinstance(static, Chosen):
                return "choice"
            return kind_of_value(static.value) if isinstance(static, Static) else self.kinds.get(node.id, "any")
        if self.parent is not None:
            return self.parent.kind_of_name(node)
        try:
            return kind_of_value(self._outer(node, node.id))
        except CannotLower:
            return "any"

    def is_certain(self, name: str) -> bool:
        """Whether a local certainly has a value by now."""
        if any(name in scope for scope in self.scopes):
            return True
        if name in self.own:
            return name in self.assigned or not isinstance(self.bindings.get(name), Slot | None)
        return self.parent is None or self.parent.is_certain(name)

    def written_once(self, node: ast.Name) -> ast.expr | None:
        """The expression that a local was given as its only value; None when that is not certain where it is read."""
        if any(node.id in scope for scope in self.scopes):
            return None
        if node.id not in self.own:
            return None if self.parent is None else self.parent.written_once(node)
        if node.id not in self.once or node.id not in self.assigned:
            return None
        return value_of(self.source.node, node.id)

    def alias(self, node: ast.Name) -> ast.expr | None:
        """The expression that a local is another name for, where all names in it mean what they meant there."""
        binding = self.bindings.get(node.id) if node.id in self.own else None
        if not isinstance(binding, Alias) or node.id not in self.assigned:
            return None
        names = {node.id, *(item.id for item in ast.walk(binding.node) if isinstance(item, ast.Name))}
        return None if any(name in scope for scope in self.scopes for name in names) else binding.node

    # --- objects ---

    def static(self, node: ast.expr) -> Any:  # Any: every object, or MISSING
        """The object that an expression stands for when the rule is compiled; `MISSING` when there is none."""
        return objects.static(node, self)

    def constant_name(self, node: ast.expr, value: object) -> None:
        """Note that a table is taken as it is now."""
        if isinstance(value, MUTABLE) and isinstance(node, ast.Name) and not node.id.isupper():
            self.session.frozen.setdefault(node.id, (self.source.place.span(node), type(value).__name__))

    def constant(self, node: ast.AST, value: Any, what: str) -> Constant:  # Any: every object
        """An object as a constant; refused when it cannot be one."""
        outside = reads_outside(value)
        if outside is not None:
            raise self.cannot(node, f"reads {outside[0]}", outside[1], kind="impure")
        try:
            const = freeze(value)
        except NotConstant as reason:
            help = "use strings, numbers, bools, None, and tuples, lists, sets and dicts of them"
            if callable(value):  # most often one of the constructors of decisions, without its parentheses
                help = f"call it, `{what}(...)`"
            if isinstance(value, Verdict):
                help = f"make a decision: `{value}(...)`"
            raise self.cannot(
                node, f"uses `{what}`, which cannot be frozen into the policy: {reason}", help
            ) from reason
        if isinstance(node, ast.expr):
            self.constant_name(node, value)
        return Constant(const)

    # --- lowering ---

    def value(self, node: ast.expr) -> Code:
        """An expression whose value may be used for anything."""
        code = self.raw(node)
        kind = self.kind(node)
        if kind in OBJECTS:
            if kind == "choice":
                raise self.cannot(node, "keeps an object of a table", "call it, or read a field of it, at once")
            what = "an object of the call" if kind == "mixed" else f"the {kind}"
            raise self.cannot(
                node, f"uses {what} as a value", "use one of its fields: `request.args`, `context.principal.id`"
            )
        if kind == "view":
            raise self.cannot(
                node, "keeps a view of a dict", "go over it in a `for` or a comprehension, or make a list: `list(...)`"
            )
        return code

    def raw(self, node: ast.expr) -> Code:
        """An expression; its value may be an object of the request."""
        self.count(node)
        return expressions.lower(node, self)

    def iterable(self, node: ast.expr) -> Code:
        """An expression that something goes over at once."""
        return self.raw(node) if self.kind(node) == "view" else self.value(node)

    def ordered(self, node: ast.expr) -> Code:
        """An expression that something goes over in an order that counts."""
        code = self.iterable(node)
        if self.kind(node) == "set":
            raise self.cannot(node, "goes over a set, whose order is not defined", "go over `sorted(...)` of it")
        return code

    def check_shown(self, node: ast.expr) -> None:
        """Refuse to make text of what has no text of its own that could be relied on."""
        kind = self.kind(node)
        if kind == "set":
            raise self.cannot(node, "shows a set, whose order is not defined", "show `sorted(...)` of it")
        if kind in ("datetime", "decision"):
            raise self.cannot(node, f"shows a {kind}", "show a string or a number: `context.timestamp.isoformat()`")

    def body(self, nodes: Sequence[ast.stmt]) -> tuple[Statement, ...]:
        """Statements in order."""
        return statements.lower_body(nodes, self)

    def count(self, node: ast.AST) -> None:
        """Count a node against the limit."""
        self.session.nodes += 1
        if self.session.nodes > MAX_NODES:
            raise self.cannot(
                node,
                f"has more than {MAX_NODES} expressions once the functions it calls are put in",
                "split the rule, or put cases into a table",
            )

    def temporary(self, shown: str = "") -> tuple[int, Local]:
        """A slot of its own, and the reading of it. `shown` is what an explanation calls it."""
        slot = self.session.new_slot(shown)
        return slot, Local(slot)

    def cannot(self, node: ast.AST, problem: str, instead: str, *, kind: Any = "shape") -> CannotLower:
        """The refusal of a node of this function, to be raised."""
        return self.source.place.cannot(node, problem, instead, kind=kind)

    def mistake(self, node: ast.AST, problem: str, instead: str) -> None:
        """Note what has a meaning that nobody wants."""
        self.session.mistakes.append(Refusal("shape", self.source.place.span(node), problem, instead))

    def cannot_value(self, node: ast.AST, value: object, what: str, instead: str) -> CannotLower:
        """The refusal of an object: as impure when it is known to be that."""
        outside = reads_outside(value)
        if outside is not None:
            return self.cannot(node, f"reads {outside[0]}", outside[1], kind="impure")
        return self.cannot(node, f"{what} {described(value)}", hint_for(value) or instead)

    def guarded(self, node: ast.stmt) -> tuple[Statement, ...]:
        """A statement; none after its refusal has been noted, so that others are found too."""
        try:
            return statements.lower(node, self)
        except CannotLower as refused:
            self.session.found.append(refused.refusal)
        except RecursionError:
            self.session.found.append(
                Refusal("shape", self.source.place.span(node), "is nested too deeply", "name its parts")
            )
        return ()

    @property
    def module_name(self) -> str:
        """The name of the module that the function was defined in."""
        return str(self._globals.get("__name__", "")) if self.parent is None else self.parent.module_name

    @property
    def module(self) -> Module:
        """The text that the function stands in."""
        return self.source.module
