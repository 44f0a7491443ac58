"""Front end of the `lynx` profile: accepts and lowers what lynx-agent 2.5 does.

It takes text or a mapping and uses the error messages of lynx-agent. An input on which lynx-agent raises another
exception is rejected here like any other mistake. The first problem ends the compilation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from yaml.nodes import Node, SequenceNode

from bobcat.bundle.source_map import RuleSource, SourceMap
from bobcat.diagnostics.model import Span
from bobcat.frontend.lynx.bundle_id import MAX_SIZE, NoLynxId, lynx_id
from bobcat.frontend.lynx.match import Clause, LynxMatchLowering, MatchPart, MatchRefused, constant
from bobcat.frontend.lynx.source import UnreadableSource, position_of, read_text, snapshot, value_nodes
from bobcat.frontend.observation import observed
from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.result import LoweringResult
from bobcat.frontend.yaml.source import collector_paused
from bobcat.ir import construct
from bobcat.ir.schema import Defaults, IrPolicy, IrRule, Transform, VerdictName

VERDICTS = ("allow", "deny", "dry_run", "approve_required", "transform")
MAX_RULES = 100_000
"""Rules of one policy."""
_INT64 = range(-(2**63), 2**63)
_OPERATIONS = ("append", "delete", "set")
_ROOT = "$.args"


@dataclass(frozen=True, slots=True, eq=False)
class WrittenRule:
    """A rule as written: its data, its lowering, the clauses of its match, and its node."""

    spec: Mapping[Any, Any]
    rule: IrRule
    clauses: tuple[Clause, ...]
    node: Node | None


@dataclass(frozen=True, slots=True, eq=False)
class WrittenPolicy:
    """A policy as written, for the lint of permissive behaviour."""

    data: Mapping[Any, Any]
    root: Node | None
    version: int
    rules: tuple[WrittenRule, ...]


def compile_lynx(
    source: str | Mapping[Any, Any],  # Any: a caller's mapping is inspected, not trusted
    source_path: str,
) -> LoweringResult:
    """Lower a policy of the `lynx` profile. Never raises because of the policy's content."""
    report = DiagnosticCollector(source_path)
    text = source if isinstance(source, str) else None
    try:
        with collector_paused():
            data, root = read_text(source) if isinstance(source, str) else (snapshot(source), None)
            lowering = _Lowering(report, source_path)
            policy, source_map = lowering.lower(data, root)
    except UnreadableSource as error:
        span = Span(source_path, error.line, error.column, error.line, error.column + 1) if error.line else None
        report.add("E0902" if error.capped else "E0901", span, problem=error)
    except MatchRefused as error:
        span = None if error.node is None else Span(source_path, *position_of(error.node))
        report.add("E0902" if error.capped else "E0901", span, problem=error)
    except (RecursionError, ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        report.add("E0901", None, problem=f"{type(error).__name__}: {error}")
    else:
        written = WrittenPolicy(data, root, policy.language_version, tuple(lowering.written))
        findings = (observed("lynx-permissive", None, file=source_path, policy=written),)
        return LoweringResult(policy, source_map, findings, lambda: data, text)
    return LoweringResult(None, None, report.sorted(), None, text)


class _Lowering:
    def __init__(self, report: DiagnosticCollector, source_path: str) -> None:
        self._report = report
        self._file = source_path
        self.written: list[WrittenRule] = []

    def lower(self, data: Any, root: Node | None) -> tuple[IrPolicy, SourceMap]:
        if not isinstance(data, Mapping):
            raise MatchRefused(f"Policy root must be a mapping, got {type(data).__name__}", root)
        nodes = value_nodes(root)
        version = self._integer(data.get("version", 1), f"version must be an integer, got {data.get('version')!r}")
        defaults = self._defaults(data.get("defaults", {}) or {})
        predicates = data.get("predicates", {}) or {}
        matches = LynxMatchLowering(predicates, nodes.get("predicates"))
        lowered: list[tuple[IrRule, RuleSource]] = []
        rules = list(data.get("rules", []) or [])
        if len(rules) > MAX_RULES:
            raise MatchRefused(f"{len(rules)} rules, more than {MAX_RULES}", capped=True)
        places = _items(nodes.get("rules"), len(rules))
        for index, (spec, place) in enumerate(zip(rules, places, strict=True)):
            lowered.append(self._rule(spec, index, place, matches))
        self._check_id(data)
        lowered.sort(key=lambda pair: construct.evaluation_key(pair[0]))
        policy = construct.policy(
            [rule for rule, _ in lowered], profile="lynx", defaults=defaults, language_version=version
        )
        return policy, SourceMap((self._file,), tuple(place for _, place in lowered))

    def _check_id(self, data: Any) -> None:
        """Reject a policy without an id: lynx-agent rejects a policy that it can compile but not hash."""
        try:
            lynx_id(data)
        except NoLynxId as error:
            raise MatchRefused(str(error), capped=str(MAX_SIZE) in str(error)) from error

    def _defaults(self, raw: Any) -> Defaults:
        missing_shadow = _verdict(raw.get("on_missing_shadow", "approve_required"), "<defaults.on_missing_shadow>")
        no_match = _verdict(raw.get("on_no_match", "deny"), "<defaults.on_no_match>")
        return Defaults(no_match, missing_shadow, "continue")

    def _integer(self, value: Any, problem: str) -> int:
        try:
            number = int(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise MatchRefused(problem) from error
        if number not in _INT64:
            raise MatchRefused(f"{problem}; 64 bits at most", capped=True)
        return number

    def _rule(self, spec: Any, index: int, node: Node | None, matches: LynxMatchLowering) -> tuple[IrRule, RuleSource]:
        if not isinstance(spec, Mapping):
            raise MatchRefused(f"rules[{index}] must be a mapping, got {type(spec).__name__}", node)
        id = spec.get("id") or f"rule_{index}"
        try:
            rule, piece = self._body(spec, id, value_nodes(node), matches)
        except MatchRefused as error:
            raise MatchRefused(str(error), error.node or node, capped=error.capped) from error
        self.written.append(WrittenRule(spec, rule, piece.clauses, node))
        description = spec.get("description", "")
        described = description if isinstance(description, str) else str(description)
        if node is None:
            place = (0, 0, 0, 0)
        else:
            place = position_of(node)
        return rule, RuleSource(0, *place, described, index, piece.places)

    def _body(
        self, spec: Any, id: Any, nodes: Mapping[str, Node], matches: LynxMatchLowering
    ) -> tuple[IrRule, MatchPart]:
        priority = self._integer(
            spec.get("priority", 0), f"Rule {id!r}: priority must be an integer, got {spec.get('priority')!r}"
        )
        piece = matches.lower(spec.get("match", {}), nodes.get("match"))
        verdict = _verdict(spec.get("decision", spec.get("verdict", "deny")) or "deny", id)
        approvers = spec.get("approvers", [])
        try:
            names = tuple(approvers)
        except TypeError as error:
            raise MatchRefused(
                f"Rule {id!r}: approvers must be a list, got {approvers!r}", nodes.get("approvers")
            ) from error
        rule = IrRule(
            constant(id, nodes.get("id")),
            priority,
            piece.expr,
            verdict,
            constant(spec.get("reason", ""), nodes.get("reason")),
            tuple(constant(name, nodes.get("approvers")) for name in names),
            constant(spec.get("timeout_seconds"), nodes.get("timeout_seconds")),
            _transform(spec.get("transform"), verdict, id, nodes.get("transform")),
        )
        return rule, piece


def _verdict(value: Any, rule: Any) -> VerdictName:
    if not isinstance(value, str):
        raise MatchRefused(f"Rule {rule!r}: verdict must be a string, got {type(value).__name__}")
    name = value.lower()
    if name not in VERDICTS:
        raise MatchRefused(f"Rule {rule!r}: unknown verdict {value!r}; valid: {list(VERDICTS)}")
    return cast(VerdictName, name)


def _transform(spec: Any, verdict: str, rule: Any, node: Node | None) -> Transform | None:
    if verdict == "transform" and spec is None:
        raise MatchRefused(
            f"Rule {rule!r}: decision is 'transform' but no `transform:` block given. "
            "A transform rule must specify at least one of set/append/delete."
        )
    if spec is None:
        return None
    if verdict != "transform":
        raise MatchRefused(f"Rule {rule!r}: `transform:` block only applies to a transform decision", node)
    if not isinstance(spec, Mapping):
        raise MatchRefused(f"Rule {rule!r}: transform must be a mapping, got {type(spec).__name__}", node)
    used = [name for name in _OPERATIONS if name in spec]
    if not used:
        raise MatchRefused(f"Rule {rule!r}: transform must declare at least one of {list(_OPERATIONS)}", node)
    if len(used) > 1:
        raise MatchRefused(f"Rule {rule!r}: transform may declare only one of {used} per rule", node)
    path = spec.get("jsonpath", _ROOT)
    if not isinstance(path, str) or not path.startswith(_ROOT):
        raise MatchRefused(
            f"Rule {rule!r}: transform jsonpath must start with '$.args' (got {path!r}). "
            "Only top-level `args.<key>` rewrites are supported.",
            node,
        )
    key = (path.removeprefix(_ROOT + "."),)
    constant(key[0], node)
    match used[0]:
        case "set":
            return Transform("set", key, constant(spec["set"], node))
        case "append":
            return Transform("append", key, constant(str(spec["append"]), node))
        case _:
            return Transform("delete", key, None)


def _items(node: Node | None, count: int) -> list[Node | None]:
    if isinstance(node, SequenceNode) and len(node.value) == count:
        return list(node.value)
    return [None] * count
