"""Conditions that read the run: lowering of counts, sums and sequences to definitions, and leaves that read them."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol, TypeAlias, get_args

from msgspec import UNSET

from bobcat._core import MappingNode, Node, ScalarNode
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.comparisons import Comparison
from bobcat.frontend.strict.durations import window
from bobcat.frontend.strict.fields import check_keys, wrong_type
from bobcat.frontend.strict.formulas import Formulas
from bobcat.frontend.strict.key_syntax import KeySyntaxError, split, written
from bobcat.frontend.strict.keys import Key, KeyProblem
from bobcat.frontend.strict.run_keys import COMPARISONS, WITH_THIS, MeasureKey, RunKey, SequenceKey
from bobcat.frontend.strict.scopes import Scope
from bobcat.frontend.strict.sizes import Sized
from bobcat.frontend.strict.vocabulary import not_an_operator
from bobcat.frontend.suggest import listed, synonyms
from bobcat.frontend.yaml.nodes import Entries, entries, string_of
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.ir import construct
from bobcat.ir.canonical import definition_name
from bobcat.ir.schema import Definition, Expr, FormulaDefinition, Leaf, Measure
from bobcat.language.kinds import OperandKind

By: TypeAlias = Literal["principal", "session", "tenant"]
BY: tuple[By, ...] = get_args(By)
"""The callers whose calls of all runs a measure can count."""
WHOLE = "."
"""The field of a source that is the record itself, of a list of texts or numbers."""
_OPTIONS = ("within", "by", WITH_THIS)
_BY_SYNONYMS = synonyms({"principal": "user caller", "session": "thread conversation", "tenant": "org customer"})


class Lowering(Protocol):
    """The parts of the lowering of matches that definitions need."""

    def definition(self, node: Node, where: str, scope: Scope) -> Sized | None:
        """Lower a match that is part of a definition."""

    def compare(self, node: Node, key: Key) -> Comparison | None:
        """Lower the comparison of a key with its operand."""


class Condition(NamedTuple):
    """The leaves of one condition, each with the nodes at its start and its end, and its number of nodes."""

    leaves: list[tuple[Leaf, Node, Node]]
    nodes: int


class _Options(NamedTuple):
    of: Expr
    field: tuple[str, ...]
    within: int | None
    by: By | None
    nodes: int


class Memory:
    """Lowering of the conditions of one policy that read the run. Methods return None after they have reported an
    error.
    """

    def __init__(self, report: DiagnosticCollector, lowering: Lowering) -> None:
        self._report = report
        self._lowering = lowering
        self._formulas = Formulas(report, lowering.definition)
        self.definitions: dict[str, Definition] = {}

    def condition(self, key: RunKey, key_node: ScalarNode, node: Node) -> Condition | None:
        """Lower one entry of a match."""
        if isinstance(key, SequenceKey):
            found = self._formulas.condition(key.word, node)
            if found is None:
                return None
            formula, nodes = found
            name = self._define(FormulaDefinition(formula))
            return Condition([(construct.leaf("run", (name,), "eq", True), key_node, node)], nodes + 1)
        if isinstance(node, MappingNode) and not key.op:
            return self._measured(key, key_node, node)
        if key.tool is None:
            help = f"write `run.{key.measure}: {{of: {{tool: NAME}}, le: 3}}`, or `run.{key.measure}.NAME.le: 3`"
            wrong_type(node, key.text, "a mapping with `of`", self._report, help=help)
            return None
        options = _Options(_of_tool(key.tool), key.field, None, None, 1)
        leaf = self._leaf(options, key, key.op, node, this=key.this)
        return None if leaf is None else Condition([(leaf, key_node, node)], 2)

    def reference(self, key: RunKey) -> Key | KeyProblem:
        """Return the key of a measure or a condition as the operand of another comparison."""
        if isinstance(key, SequenceKey) or key.tool is None or key.op:
            problem = "an operand names the count of a tool or the sum of an argument"
            return KeyProblem("E1005", {"key": key.text, "problem": problem}, "write `{ref: run.count.send_money}`")
        return self._key(_Options(_of_tool(key.tool), key.field, None, None, 1), key, "", this=key.this)

    def _measured(self, key: MeasureKey, key_node: ScalarNode, node: MappingNode) -> Condition | None:
        """Lower the mapping of operators and options of a measure."""
        fields = entries(node, self._report)
        options = self._options(key, key_node, fields)
        tests: list[tuple[str, ScalarNode, Node, bool]] = []
        for name, (name_node, item) in fields.items():
            if name == WITH_THIS:
                inner = self._with_this(key, name_node, item)
                if inner is None:
                    return None
                tests.extend((op, op_node, operand, True) for op, (op_node, operand) in inner.items())
            elif name not in _known_options(key):
                tests.append((name, name_node, item, key.this))
        if not tests and not self._report.has_errors():
            help = f"write a comparison beside it, such as `le: 3`; the operators are {listed(COMPARISONS)}"
            self._report.add("E1005", key_node, key=shown(key.text), problem="it is compared with nothing", help=help)
        known = (*COMPARISONS, *_known_options(key))
        found: list[tuple[Leaf, Node, Node]] = []
        valid = bool(tests)
        for op, op_node, operand, this in tests:
            if op not in COMPARISONS:
                near = {op: intended} if (intended := not_an_operator(op)) in COMPARISONS else {}
                check_keys({op: (op_node, operand)}, known, f"`{shown(key.text)}`", self._report, near)
                valid = False
                continue
            leaf = None if options is None else self._leaf(options, key, op, operand, this=this)
            valid = valid and leaf is not None
            if leaf is not None:
                found.append((leaf, op_node, operand))
        return Condition(found, len(found) + options.nodes) if valid and options is not None else None

    def _with_this(self, key: MeasureKey, name_node: ScalarNode, item: Node) -> Entries | None:
        if key.this:
            problem = "`with_this` stands in the key and in the operand"
            self._report.add("E1005", name_node, key=shown(key.text), problem=problem, help="keep one of the two")
            return None
        if isinstance(item, MappingNode) and item.value:
            return entries(item, self._report)
        help = "write `with_this: {le: 3}`"
        wrong_type(item, WITH_THIS, "a mapping of operators", self._report, help=help)
        return None

    def _options(self, key: MeasureKey, key_node: ScalarNode, fields: Entries) -> _Options | None:
        """Return what is measured."""
        within = window(fields["within"][1], self._report) if "within" in fields else None
        by = caller(fields["by"][1], self._report) if "by" in fields else None
        valid = not ("within" in fields and within is None) and not ("by" in fields and by is None)
        of, nodes, field = None, 1, key.field
        if key.tool is not None:
            of = _of_tool(key.tool)
        elif "of" not in fields:
            help = f"write `run.{key.measure}: {{of: {{tool: NAME}}, ...}}`, or `run.{key.measure}.NAME`"
            self._report.add("E0203", key_node, where=f"`{key.text}`", key="of", help=help)
        else:
            lowered = self._lowering.definition(fields["of"][1], "`of`", Scope.DEFINITION)
            if lowered is not None:
                of, _, nodes = lowered
        if key.tool is None and key.measure == "sum":
            if "field" not in fields:
                help = "name the argument whose values are added: `field: amount`"
                self._report.add("E0203", key_node, where=f"`{key.text}`", key="field", help=help)
                return None
            steps = field_steps(fields["field"][1], "field", self._report)
            if steps is None:
                return None
            field = steps
        return _Options(of, field, within, by, nodes) if of is not None and valid else None

    def _leaf(self, options: _Options, key: MeasureKey, op: str, node: Node, *, this: bool) -> Leaf | None:
        measured = self._key(options, key, op, this=this)
        comparison = self._lowering.compare(node, measured)
        return None if comparison is None else construct.leaf("run", measured.path, comparison[0], comparison[1])

    def _key(self, options: _Options, key: MeasureKey, op: str, *, this: bool) -> Key:
        """Return the key of the value of a measure, and register the definition."""
        definition = Measure(
            options.of,
            options.field or UNSET,
            UNSET if options.within is None else options.within,
            UNSET if options.by is None else options.by,
            this,
        )
        base = key.text[: -len(key.op) - 1] if key.op else key.text
        return Key("run", (self._define(definition),), op or "eq", not op, OperandKind.NUMBER, base)

    def _define(self, definition: Definition) -> str:
        name = definition_name(definition)
        self.definitions[name] = definition
        return name


def caller(node: Node, report: DiagnosticCollector) -> By | None:
    """Return whose calls are counted; None after an error has been reported."""
    text = string_of(node, report)
    for each in BY:
        if text == each:
            return each
    near = _BY_SYNONYMS.get((text or "").lower())
    help = f"did you mean `{near}`?" if near else None
    value = kind_of_node(node) if text is None else shown(text)
    report.add("E0206", node, key="by", value=value, known=listed(BY), help=help)
    return None


def field_steps(node: Node, key: str, report: DiagnosticCollector) -> tuple[str, ...] | None:
    """Return the steps of a field, such as `payment.amount`; None after an error has been reported."""
    text = string_of(node, report)
    if text is None:
        wrong_type(node, key, "the name of a field", report)
        return None
    if text == WHOLE and key != "field":
        return ()
    try:
        # A head in front makes a bracket at the start a step like any other.
        return tuple(step.text for step in split(f"args{text}" if text.startswith("[") else f"args.{text}")[1:])
    except KeySyntaxError as problem:
        help = f"quote a name with other characters: `{written('', (text,)).removeprefix('.')}`"
        report.add("E0305", node, key=shown(text), problem=str(problem), help=help)
        return None


def _of_tool(name: str) -> Expr:
    return construct.leaf("tool", (), "eq", name)


def _known_options(key: MeasureKey) -> tuple[str, ...]:
    if key.tool is not None:
        return _OPTIONS
    return ("of", "field", *_OPTIONS) if key.measure == "sum" else ("of", *_OPTIONS)
