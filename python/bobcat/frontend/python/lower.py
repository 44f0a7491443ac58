"""Lowering of a Python rule to a `FunctionRule` from the callable's own source, or every reason that it cannot be.

`host` calls this for each rule of the strict profile.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass

from bobcat._core import CoreError, Program
from bobcat.bundle.host_code import HostFunction
from bobcat.bundle.source_map import Position
from bobcat.diagnostics.model import Span
from bobcat.frontend.python.analysis import inference, objects
from bobcat.frontend.python.analysis.bindings import Parameter, SlotBinding
from bobcat.frontend.python.analysis.refusal import CannotLower, LoweringProblem
from bobcat.frontend.python.analysis.scope import Lowerer, Scope, Session
from bobcat.frontend.python.analysis.source import FunctionNode, NoSource, source_of
from bobcat.frontend.python.lowering import expressions, statements
from bobcat.frontend.python.lowering.inlining import bind_object, body_of, check_definition, target_of
from bobcat.ir import canonical, construct, visit
from bobcat.ir import code as ir
from bobcat.ir.schema import FunctionRule

LOWERER = Lowerer(
    infer=inference.infer,
    kind_of=inference.kind_of,
    static=objects.static,
    expression=expressions.lower,
    statement=statements.lower,
    body=statements.lower_body,
)


@dataclass(frozen=True, slots=True)
class LoweredFunction:
    """Result of lowering a callable. `rule` is None if there are errors; `span` is None if there is no source.

    `places` and `names` belong to a source map: the positions of statements, and the locals. `frozen` lists the
    tables captured at compile time: name, position of the read, type. `warnings` report code whose meaning
    the author cannot intend.
    """

    rule: FunctionRule | None
    span: Span | None
    text: str
    description: str
    refusals: tuple[LoweringProblem, ...]
    places: tuple[Position, ...] = ()
    names: tuple[str, ...] = ()
    frozen: tuple[tuple[str, Span, str], ...] = ()
    warnings: tuple[LoweringProblem, ...] = ()


def lower_function(fn: HostFunction, name: str, priority: int) -> LoweredFunction:
    """Lower a callable that is a rule. Never raises because of the rule's content."""
    target = target_of(fn)
    if target is None:
        return _without(f"is a `{type(fn).__name__}`, which has no source text in Python", "pass a function")
    if hasattr(target.fn, "__wrapped__"):
        return _without("is wrapped by a decorator", "pass the plain function, or keep it as a host rule")
    try:
        source = source_of(target.fn.__code__, target.fn.__globals__)
    except NoSource as reason:
        return _without(f"cannot be read: {reason}", "define it in a file that does not change after its import")
    session = Session(LOWERER)
    function = Scope(session, source, fn=target.fn)
    span, text = source.place.span(source.node), source.module.text
    described = (ast.get_docstring(source.node) if not isinstance(source.node, ast.Lambda) else None) or ""
    description = described.partition("\n")[0]
    session.stack.append(target.fn.__code__)
    body: tuple[ir.Statement, ...] = ()
    try:
        check_definition(function)
        prologue = _bind(function, (target.args, dict(target.keywords)), target.fn)
        function.infer()
        body = (*prologue, *function.body(body_of(source.node)))
    except CannotLower as refused:
        session.found.append(refused.refusal)
    except RecursionError:
        session.found.append(LoweringProblem("shape", span, "is nested too deeply", "give its parts names"))
    refusals = tuple(dict.fromkeys(session.found))
    warnings = tuple(dict.fromkeys(session.warnings))
    frozen = tuple((table, place, kind) for table, (place, kind) in session.frozen.items())
    if refusals:
        return LoweredFunction(None, span, text, description, refusals, frozen=frozen, warnings=warnings)
    rule = FunctionRule(name, priority, session.slots, body)
    problem = _problem(rule)
    if problem is not None:
        refusals = (LoweringProblem("shape", span, problem, "split the rule, or use a table for its cases"),)
        return LoweredFunction(None, span, text, description, refusals, frozen=frozen, warnings=warnings)
    names = tuple(session.names.get(slot, "") for slot in range(session.slots))
    return LoweredFunction(rule, span, text, description, (), _places(rule, span, session), names, frozen, warnings)


def _places(rule: FunctionRule, whole: Span, session: Session) -> tuple[Position, ...]:
    """Return the statement positions of a rule; all zero for a rule without its own text."""
    places: list[Position] = []
    for statement, _ in visit.statements(rule.body):
        _, span = session.places.get(id(statement), (statement, None))
        own = span is not None and span.file == whole.file
        places.append((span.line, span.column, span.end_line, span.end_column) if own and span else (0, 0, 0, 0))
    return tuple(places)


def _problem(rule: FunctionRule) -> str | None:
    """Return the core limit that a rule exceeds; None if the core accepts it."""
    try:
        Program(canonical.encode(construct.policy([rule])), ())
    except canonical.EncodingError as error:
        return f"cannot be stored in a bundle: {error}"
    except CoreError as error:
        return f"exceeds a limit of the core: {str(error).removeprefix('rules[0]: ')}"
    return None


def _bind(f: Scope, bound: tuple[tuple[object, ...], dict[str, object]], fn: HostFunction) -> tuple[ir.Statement, ...]:
    """Bind the parameters of a rule: bound arguments first, then the request, the context, and defaults."""
    definition: FunctionNode = f.source.node
    args, keywords = bound
    if definition.args.vararg is not None:
        raise f.error_at(definition.args.vararg, "takes any number of arguments", "name its parameters")
    names = [arg.arg for arg in (*definition.args.posonlyargs, *definition.args.args)]
    every = [*names, *(arg.arg for arg in definition.args.kwonlyargs)]
    prologue: list[ir.Statement] = []
    fixed: dict[str, object] = dict(zip(names, args, strict=False))
    free = names[len(args) :]
    if len(free) < 2 or any(name in keywords for name in free[:2]):
        raise f.error_at(
            definition, "is not called with a request and a context", "write `def name(request, context):`"
        )
    fixed.update(keywords)
    roots = (("request", ir.Root("request")), ("context", ir.Root("context")))
    for name, (kind, root) in zip(free[:2], roots, strict=True):
        f.kinds[name] = "request" if kind == "request" else "context"
        if name in _stored(definition):
            binding = f.local(name)
            assert isinstance(binding, SlotBinding)
            prologue.append(ir.Assign(ir.SlotTarget(binding.slot), root))
        else:
            f.bindings[name] = Parameter(root)
    parameters = inspect.signature(fn).parameters
    for name in every:
        if name in f.bindings:
            continue
        if name not in fixed and parameters[name].default is inspect.Parameter.empty:
            raise f.error_at(definition, f"has no value for its parameter `{name}`", "give it a default")
        value = fixed.get(name, parameters[name].default) if name in fixed else parameters[name].default
        pair = bind_object(f, name, value, definition, f)
        if pair is not None:
            prologue.append(ir.Assign(ir.SlotTarget(pair[0]), pair[1]))
    f.assigned |= set(every)
    return tuple(prologue)


def _stored(node: FunctionNode) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}


def _without(problem: str, instead: str) -> LoweredFunction:
    return LoweredFunction(None, None, "", "", (LoweringProblem("shape", None, problem, instead),))
