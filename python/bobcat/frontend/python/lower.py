"""Lowering of a Python rule to a `FunctionRule` from the callable's own source, or every reason that it cannot be.

`host` calls this for each rule of the strict profile.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from bobcat._core import CoreError, Program
from bobcat.bundle.host_code import HostFunction
from bobcat.bundle.source_map import Position
from bobcat.diagnostics.model import Span
from bobcat.frontend.observation import Finding, errors
from bobcat.frontend.python.analysis import inference, objects
from bobcat.frontend.python.analysis.bindings import Parameter, SlotBinding
from bobcat.frontend.python.analysis.kinds import ORIGINS
from bobcat.frontend.python.analysis.refusal import CannotLower, LoweringProblem
from bobcat.frontend.python.analysis.scope import Lowerer, Scope, Session
from bobcat.frontend.python.analysis.source import FunctionNode, NoSource, source_of
from bobcat.frontend.python.lowering import expressions, statements
from bobcat.frontend.python.lowering.inlining import bind_object, body_of, check_definition, target_of
from bobcat.ir import canonical, construct, visit
from bobcat.ir import code as ir
from bobcat.ir.memory import used
from bobcat.ir.schema import Definition, FunctionRule
from bobcat.ir.spelling import source_name

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
    the author cannot intend. `memory` has the counts, sums and formulas that it reads, and `findings` are about those.
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
    memory: Mapping[str, Definition] = field(default_factory=dict)
    reads_run: bool = False
    findings: tuple[Finding, ...] = ()


def lower_function(
    fn: HostFunction,
    name: str,
    priority: int,
    sources: Mapping[str, Definition] | None = MappingProxyType({}),
) -> LoweredFunction:
    """Lower a callable that is a rule. Never raises because of the rule's content.

    `sources` are those of the policy by their names in the IR; None if they are not known.
    """
    target = target_of(fn)
    if target is None:
        return _without(f"is a `{type(fn).__name__}`, which has no source text in Python", "pass a function")
    if hasattr(target.fn, "__wrapped__"):
        return _without("is wrapped by a decorator", "pass the plain function, or keep it as a host rule")
    try:
        source = source_of(target.fn.__code__, target.fn.__globals__)
    except NoSource as reason:
        return _without(f"cannot be read: {reason}", "define it in a file that does not change after its import")
    names_of_sources = None if sources is None else {source_name(known): known for known in sources}
    session = Session(LOWERER, sources=names_of_sources)
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
    session.reads_run = session.reads_run or _names_run(function)
    warnings = tuple(dict.fromkeys(session.warnings))
    frozen = tuple((table, place, kind) for table, (place, kind) in session.frozen.items())
    found = LoweredFunction(
        None, span, text, description, refusals, frozen=frozen, warnings=warnings, reads_run=session.reads_run,
        findings=tuple(dict.fromkeys(session.diagnostics)),
    )  # fmt: skip
    if refusals or errors(found.findings) or (sources is None and session.reads_run):
        return found
    rule = FunctionRule(name, priority, session.slots, body)
    memory = used([rule], {**(sources or {}), **session.memory})
    problem = _problem(rule, memory)
    if problem is not None:
        refusals = (LoweringProblem("shape", span, problem, "split the rule, or use a table for its cases"),)
        return replace(found, refusals=refusals)
    names = tuple(session.names.get(slot, "") for slot in range(session.slots))
    return replace(found, rule=rule, places=_places(rule, span, session), names=names, memory=memory)


def _names_run(f: Scope) -> bool:
    """Return true if a function has an expression that reads the state of the run, lowered or not."""
    reads = (node for node in ast.walk(f.source.node) if isinstance(node, ast.Attribute))
    return any(node.attr in ("run", *ORIGINS) and f.kind(node.value) == "request" for node in reads)


def _places(rule: FunctionRule, whole: Span, session: Session) -> tuple[Position, ...]:
    """Return the statement positions of a rule; all zero for a rule without its own text."""
    places: list[Position] = []
    for statement, _ in visit.statements(rule.body):
        _, span = session.places.get(id(statement), (statement, None))
        own = span is not None and span.file == whole.file
        places.append((span.line, span.column, span.end_line, span.end_column) if own and span else (0, 0, 0, 0))
    return tuple(places)


def _problem(rule: FunctionRule, memory: Mapping[str, Definition]) -> str | None:
    """Return the core limit that a rule exceeds; None if the core accepts it."""
    try:
        Program(canonical.encode(construct.policy([rule], memory=memory)), ())
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
