"""Python rules of a policy: names, priorities, and compilation to an IR function or a host callable.

The compiler calls `to_rules`. In the strict profile, a function is lowered from its own source. If that fails, the
rule is an error, or a host rule if the caller allows it. The `lynx` profile accepts what lynx-agent accepts and keeps
every callable as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from bobcat.bundle.host_code import HostFunction, host_code, host_name, is_async
from bobcat.bundle.source_map import RuleSource
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Span
from bobcat.frontend.observation import Finding, observed
from bobcat.frontend.python.analysis.refusal import LoweringProblem
from bobcat.frontend.python.analysis.source import NoSource, source_of
from bobcat.frontend.python.lower import LoweredFunction, lower_function
from bobcat.frontend.python.lowering.inlining import target_of
from bobcat.frontend.python.rules import Priorities, PythonRules, Uncompiled
from bobcat.ir.construct import evaluation_key
from bobcat.ir.schema import AnyRule, Definition, HostRule, Profile
from bobcat.model.rule_decorator import options_of


def to_rules(
    functions: Iterable[HostFunction],
    priorities: Priorities = (),
    *,
    profile: Profile,
    uncompiled: Uncompiled = "callable",
    sources: Mapping[str, Definition] | None = MappingProxyType({}),
) -> PythonRules:
    """Convert callables to rules. Findings are returned; a callable with an error has no rule.

    `sources` are those of the policy, by their names in the IR; None if the policy has errors.
    """
    functions = tuple(functions)
    converter = _Converter(profile, uncompiled, sources)
    by_name, by_order = _read_priorities(priorities, len(functions), converter.found)
    for index, fn in enumerate(functions):
        converter.add(fn, by_order[index] if by_order else None, by_name)
    if profile == "strict":
        converter.found.extend(diagnose("E0805", None, name=name) for name in by_name if name not in converter.names)
    converter.rules.sort(key=lambda item: evaluation_key(item[0]))
    return PythonRules(
        tuple(rule for rule, _, _, _ in converter.rules),
        tuple(place for _, place, _, _ in converter.rules),
        tuple(fn for rule, _, _, fn in converter.rules if isinstance(rule, HostRule)),
        converter.memory,
        tuple(file for _, _, file, _ in converter.rules),
        converter.sources,
        tuple(converter.found),
    )


class _Converter:
    def __init__(
        self, profile: Profile, uncompiled: Uncompiled, known_sources: Mapping[str, Definition] | None
    ) -> None:
        self._profile = profile
        self._uncompiled = uncompiled
        self.found: list[Finding] = []
        self.names: set[str] = set()
        self.rules: list[tuple[AnyRule, RuleSource, str, HostFunction]] = []
        self.sources: dict[str, str] = {}
        self._known_sources = known_sources
        self.memory: dict[str, Definition] = {}

    def add(self, fn: object, given: int | None, by_name: Mapping[str, int]) -> None:
        """Add the rule of a callable, or the reason that it has none."""
        if not callable(fn):
            self.found.append(diagnose("E0801", None, kind=type(fn).__name__))
            return
        strict = self._profile == "strict"
        if not strict and not isinstance(getattr(fn, "__name__", None), str):
            self.found.append(diagnose("E0804", None, kind=type(fn).__name__))
            return
        name = host_name(fn)
        options = options_of(fn)
        priority = by_name.get(name, options.priority if options is not None else 0) if given is None else given
        if strict and is_async(fn):
            self.found.append(diagnose("E0802", self._place(fn), name=name))
            return
        if strict and name in self.names:
            self.found.append(diagnose("E0803", self._place(fn), name=name))
        self.names.add(name)
        if strict:
            self._strict(fn, name, priority)
        else:
            self._keep(fn, name, priority)

    def _place(self, fn: HostFunction) -> Span | None:
        """Return the position of a callable's definition; None if it is not certain."""
        target = target_of(fn)
        if target is None:
            return None
        try:
            source = source_of(target.fn.__code__, target.fn.__globals__)
        except NoSource:
            return None
        span = source.place.span(source.node)
        self.sources.setdefault(span.file, source.module.text)
        return span

    def _strict(self, fn: HostFunction, name: str, priority: int) -> None:
        lowered = lower_function(fn, name, priority, self._known_sources)
        self.found.extend(lowered.findings)
        self.found.extend(
            observed("rule-mistake", item.span, name=name, problem=item.problem, instead=item.instead)
            for item in lowered.warnings
        )
        if lowered.rule is not None:
            self.memory.update(lowered.memory)
            self._take(lowered, fn)
            return
        if lowered.span is not None:
            self.sources.setdefault(lowered.span.file, lowered.text)
        # A callable would have no state of the run to read.
        stays = self._uncompiled == "callable" and not lowered.reads_run
        self.found.extend(self._refused(name, item, reads_run=lowered.reads_run) for item in lowered.refusals)
        if stays:
            self._keep(fn, name, priority)

    def _take(self, lowered: LoweredFunction, fn: HostFunction) -> None:
        span = lowered.span
        assert lowered.rule is not None
        assert span is not None
        self.sources.setdefault(span.file, lowered.text)
        for table, read, kind in lowered.frozen:
            self.found.append(observed("frozen-table", read, name=lowered.rule.name, table=table, kind=kind))
        place = RuleSource(
            0,
            span.line,
            span.column,
            span.end_line,
            span.end_column,
            lowered.description,
            len(self.rules),
            lowered.places,
            lowered.names,
        )
        self.rules.append((lowered.rule, place, span.file, fn))

    def _keep(self, fn: HostFunction, name: str, priority: int) -> None:
        code = host_code(fn)
        if self._profile == "strict":
            self.found.extend(observed("host-rule-dependency", None, name=name, value=value) for value in code.opaque)
        rule = HostRule(name, priority, code.module, code.qualname, code.digest)
        self.rules.append((rule, RuleSource(-1, 0, 0, 0, 0, "", len(self.rules)), "", fn))

    def _refused(self, name: str, refusal: LoweringProblem, *, reads_run: bool) -> Finding:
        problem, instead = refusal.problem, refusal.instead
        if self._uncompiled == "callable" and not reads_run:
            return observed("host-rule", refusal.span, kind=refusal.kind, name=name, problem=problem, instead=instead)
        code = {"shape": "E0807", "impure": "E0808"}[refusal.kind]
        help = instead if reads_run else None
        return diagnose(code, refusal.span, help=help, name=name, problem=problem, instead=instead)


def _read_priorities(
    priorities: Priorities, count: int, found: list[Finding]
) -> tuple[Mapping[str, int], Sequence[int]]:
    """Read priorities by name and priorities by order; one of the two is empty."""
    pairs = tuple(priorities.items()) if isinstance(priorities, Mapping) else tuple(priorities)
    by_order = [item for item in pairs if type(item) is int]
    if by_order and len(by_order) == len(pairs) == count:
        return {}, by_order
    by_name: dict[str, int] = {}
    for item in pairs:
        match item:
            case (str() as name, int() as priority) if not isinstance(priority, bool):
                by_name[name] = priority
            case _:
                found.append(diagnose("E0806", None, count=count))
                return {}, ()
    return by_name, ()
