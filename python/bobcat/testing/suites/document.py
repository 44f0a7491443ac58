"""Reading of a suite: its text to cases, or every error with its place. Nothing is loaded or run here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple, get_args

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.diagnostics.model import Diagnostic, Related, Span
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.durations import window
from bobcat.frontend.strict.fields import check_keys, string, wrong_type
from bobcat.frontend.suggest import closest, listed
from bobcat.frontend.yaml.nodes import Entries, checked_data, entries, value
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.frontend.yaml.source import collector_paused, compose
from bobcat.ir.schema import Profile
from bobcat.testing.suites import keys
from bobcat.testing.suites.calls import Context, read_context, read_declarations, read_expectation, read_request
from bobcat.testing.suites.model import Case, Json, Step, Suite
from bobcat.testing.suites.tables import Row, Substitution, rows_of

Fields = Mapping[str, Node]


class SuiteReading(NamedTuple):
    """A suite, or None, and the errors of its file."""

    suite: Suite | None
    diagnostics: tuple[Diagnostic, ...]


def read_suite(text: str, file: str) -> SuiteReading:
    """Read the text of a suite. Never raises because of its content."""
    report = DiagnosticCollector(file)
    with collector_paused():
        root = compose(text, report)
        if root is None and not report.has_errors():
            report.add("E1101", Span(file, 1, 1, 1, 2), kind="an empty document")
        suite = None if root is None or report.has_errors() else _Reader(report).suite(root, text)
    return SuiteReading(None if report.has_errors() else suite, report.diagnostics())


class _Reader:
    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report
        self._context: Context = {}
        self._names: dict[str, Node] = {}

    def suite(self, root: Node, text: str) -> Suite | None:
        report = self._report
        if not isinstance(root, MappingNode):
            report.add("E1101", root, kind=kind_of_node(root))
            return None
        found = self._fields(entries(root, report), keys.SUITE, "a suite")
        for key in ("policy", "cases"):
            if key not in found:
                report.add("E0203", root, where="the suite", key=key, help=_MISSING[key])
        policy = string(found["policy"], "policy", report) if "policy" in found else None
        profile = self._profile(found["profile"]) if "profile" in found else None
        tools, declarations = self._tools(found["tools"]) if "tools" in found else (None, {})
        if "context" in found:
            self._context = read_context(found["context"], report)
        cases = self._cases(found["cases"]) if "cases" in found else []
        if policy is None:
            return None
        tools_span = report.span(found["tools"]) if "tools" in found else None
        span = report.span(found["policy"])
        return Suite(report.file, text, policy, span, tuple(cases), profile, tools, tools_span, declarations)

    def _fields(self, found: Entries, known: tuple[str, ...], where: str) -> Fields:
        check_keys(found, known, where, self._report, keys.synonyms_for(known))
        return {name: item for name, (_, item) in found.items() if name in known}

    def _profile(self, node: Node) -> Profile | None:
        text = string(node, "profile", self._report)
        for profile in get_args(Profile):
            if text == profile:
                return profile  # type: ignore[no-any-return]  # a word of the type
        if text is not None:
            known = get_args(Profile)
            near = closest(text, known)
            help = f"did you mean `{near}`?" if near else None
            self._report.add("E0206", node, key="profile", value=shown(text), known=listed(known), help=help)
        return None

    def _tools(self, node: Node) -> tuple[str | None, Any]:  # Any: declarations by tool
        if isinstance(node, MappingNode):
            return None, read_declarations(node, self._report)
        if isinstance(node, SequenceNode):
            expected = "`FILE.py`, `MODULE:NAME` or a mapping of tools to what they declare"
            wrong_type(node, "tools", expected, self._report)
            return None, {}
        return string(node, "tools", self._report), {}

    def _cases(self, node: Node) -> list[Case]:
        if not isinstance(node, SequenceNode):
            help = "put `- ` before each case" if isinstance(node, MappingNode) else None
            wrong_type(node, "cases", "a list", self._report, help=help)
            return []
        cases: list[Case] = []
        for index, item in enumerate(node.value):
            cases += self._written(item, index)
            if self._report.full:
                break
        return cases

    def _is_new(self, name: str, node: Node) -> None:
        first = self._names.setdefault(name, node)
        if first is not node:
            related = [Related(self._report.span(first), "the first one is here")]
            self._report.add("E1102", node, name=shown(name), related=related)

    def _written(self, node: Node, index: int) -> list[Case]:
        """Return the cases of one entry of the list."""
        report = self._report
        if not isinstance(node, MappingNode):
            wrong_type(node, "cases", "a list of mappings", report, help="write `- name: ...` and a `request`")
            return []
        found = self._fields(entries(node, report), keys.CASE, "a case")
        if "name" not in found:
            report.add("E0203", node, where="the case", key="name", help="say in a few words what it shows")
            return []
        self._exclude(found, ("request", "sequence"), ("expect", "sequence"))
        if "request" not in found and "sequence" not in found:
            help = "write `request: {tool: NAME, args: {...}}`, or a `sequence` of calls"
            report.add("E0203", node, where="the case", key="request", help=help)
            return []
        if "table" not in found:
            if "parameters" in found:
                help = "`parameters` name the columns of a table"
                report.add("E0203", node, where="the case", key="table", help=help)
            self._is_new(str(found["name"].value), found["name"])
            case = self._case(found, node, index, None)
            return [] if case is None else [case]
        return self._rows(found, node, index)

    def _rows(self, found: Fields, node: Node, index: int) -> list[Case]:
        report = self._report
        rows = rows_of(found["table"], found.get("parameters"), report)
        substitution = Substitution(report)
        cases: list[Case] = []
        seen: dict[tuple[str, ...], Node] = {}
        for number, row in enumerate(rows):
            before = report.count
            fields = {
                key: substitution.apply(item, row.values)
                for key, item in found.items()
                if key not in ("table", "parameters")
            }
            case = self._case(fields, node, index, number)
            if report.count != before or case is None:
                return []
            if seen.setdefault(row.identity(), row.node) is not row.node:
                related = [Related(report.span(seen[row.identity()]), "the first one is here")]
                report.add("E1107", row.node, problem="stands in the table twice", help="keep one", related=related)
                continue
            labelled = fields["name"].value != found["name"].value
            name = case.name if labelled else f"{case.name} [{row.label()}]"
            if not labelled and name in self._names:  # two long values with the same beginning
                name = f"{name} #{number + 1}"
            self._is_new(name, row.node)
            cases.append(replace(case, name=name, span=report.span(row.node)))
        if rows:
            self._check_used(substitution.used, found, rows[0])
        return cases

    def _check_used(self, used: Collection[str], found: Fields, row: Row) -> None:
        for name in row.values:
            if name not in used:
                self._report.add("E1108", found.get("parameters", row.node), name=shown(name))

    def _case(self, found: Fields, node: Node, index: int, row: int | None) -> Case | None:
        report = self._report
        before = report.count
        name = string(found["name"], "name", report)
        if name is not None and not name.strip():
            report.add("E1105", found["name"], key="name")
        tags = self._tags(found["tags"]) if "tags" in found else ()
        context = {**self._context, **(read_context(found["context"], report) if "context" in found else {})}
        if "sequence" in found:
            steps = self._sequence(found["sequence"], context)
        else:
            steps = self._request(found, context)
        if report.count != before or name is None or not steps:
            return None
        return Case(name, tuple(steps), tags, report.span(node), index, "sequence" in found, row)

    def _request(self, found: Fields, context: Context) -> list[Step]:
        request = read_request(found["request"], "request", context, self._report)
        expect = read_expectation(found["expect"], self._report) if "expect" in found else None
        if request is None:
            return []
        return [Step(request, expect, self._report.span(found["request"]), _declares(found["request"]))]

    def _sequence(self, node: Node, context: Context) -> list[Step]:
        report = self._report
        if not isinstance(node, SequenceNode):
            help = "put `- ` before each call" if isinstance(node, MappingNode) else None
            wrong_type(node, "sequence", "a list of calls", report, help=help)
            return []
        if not node.value:
            report.add("E1105", node, key="sequence", help="write `- call: {tool: NAME, args: {...}}`")
        steps = [step for number, item in enumerate(node.value) if (step := self._step(item, number, context))]
        for step, item in zip(steps, node.value, strict=False):
            if step.request.context.task != steps[0].request.context.task:
                problem = "its `context.task` is not that of the first call, and a run has one task"
                report.add("E1103", item, problem=problem, help="write `task` once, in the `context` of the case")
                break
        return steps

    def _step(self, node: Node, number: int, context: Context) -> Step | None:
        report = self._report
        if not isinstance(node, MappingNode):
            wrong_type(node, "sequence", "a list of mappings", report, help="write `- call: {tool: NAME, args: {...}}`")
            return None
        found = self._fields(entries(node, report), keys.STEP, "a step of a sequence")
        self._exclude(found, ("result", "failed"))
        if "call" not in found:
            help = "a result is written beside its call: `{call: {...}, result: ...}`" if "result" in found else None
            report.add("E0203", node, where="the step", key="call", help=help)
            return None
        request = read_request(found["call"], "call", context, report)
        expect = read_expectation(found["expect"], report) if "expect" in found else None
        flags = {key: self._flag(found[key], key) for key in ("same_reply", "approved", "failed") if key in found}
        after = (window(found["after"], report) or 0) if "after" in found else 0
        written = _keys_of_context(found["call"])
        if "after" in found and "timestamp" in written:
            report.add("E1104", found["after"], key="after", other="context.timestamp", help="keep one of the two")
        if number == 0:
            for key in ("after", "same_reply"):
                if key in found:
                    report.add("E1104", found[key], key=key, other="the first step", help="there is no step before it")
        if request is None:
            return None
        outcome, data = self._outcome(found, failed=flags.get("failed", False))
        return Step(
            request,
            expect,
            report.span(node),
            _declares(found["call"]),
            True,
            "timestamp" in written or (number == 0 and "timestamp" in context),
            "step_seq" in written,
            timedelta(microseconds=after),
            flags.get("same_reply", False),
            flags.get("approved", False),
            outcome,
            data,
        )

    def _outcome(self, found: Fields, *, failed: bool) -> tuple[Any, Json]:  # Any: the kind of outcome
        if "result" in found:
            return "result", checked_data(found["result"], self._report)
        return ("failed" if failed else None), None

    def _exclude(self, found: Fields, *pairs: tuple[str, str]) -> None:
        for key, other in pairs:
            if key in found and other in found:
                help = "each call of a sequence has its own `expect`" if key == "expect" else "keep one of the two"
                self._report.add("E1104", found[key], key=key, other=other, help=help)

    def _flag(self, node: Node, key: str) -> bool:
        found = value(node, self._report) if isinstance(node, ScalarNode) else None
        if not isinstance(found, bool):
            wrong_type(node, key, "true or false", self._report)
            return False
        return found

    def _tags(self, node: Node) -> tuple[str, ...]:
        if not isinstance(node, SequenceNode):
            text = node.value if isinstance(node, ScalarNode) else "..."
            self._report.add("E0207", node, key="tags", kind=kind_of_node(node), value=shown(text))
            return ()
        tags = [string(item, "tags", self._report) for item in node.value]
        return tuple(dict.fromkeys(tag for tag in tags if tag is not None))


_MISSING = {
    "policy": "name the policy: `policy: policy.yaml`, relative to this file",
    "cases": "list the tests under `cases:`",
}


def _declares(node: Node) -> bool:
    return isinstance(node, MappingNode) and any(key.value == "declared" for key, _ in node.value)


def _keys_of_context(node: Node) -> set[str]:
    """Return the keys of the context that a call has itself."""
    below = [item for key, item in node.value if key.value == "context"] if isinstance(node, MappingNode) else []
    return {key.value for item in below if isinstance(item, MappingNode) for key, _ in item.value}
