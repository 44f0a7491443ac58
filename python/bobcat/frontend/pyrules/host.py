"""Callables to host rules: names, priorities, identities, and what is refused.

The compiler calls `to_rules`. The strict profile refuses what could not be told apart or could never decide; `lynx`
takes what the incumbent takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bobcat.bundle.host_code import HostFunction, host_code, is_async
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic
from bobcat.ir.construct import evaluation_key
from bobcat.ir.schema import HostRule, Profile

Priorities = Mapping[str, int] | Iterable[tuple[str, int]] | Sequence[int]
"""Priorities of Python rules: by name, or one for each rule in order. Rules without one have 0."""


@dataclass(frozen=True, slots=True)
class PythonRules:
    """Python rules in evaluation order: the nodes and, in parallel, the callables."""

    rules: tuple[HostRule, ...]
    callables: tuple[HostFunction, ...]
    diagnostics: tuple[Diagnostic, ...]


def to_rules(functions: Iterable[HostFunction], priorities: Priorities = (), *, profile: Profile) -> PythonRules:
    """The rules for some callables. Findings are data; a callable with an error has no rule."""
    functions = tuple(functions)
    found: list[Diagnostic] = []
    rules: list[tuple[HostRule, HostFunction]] = []
    names: set[str] = set()
    by_name, by_order = _read_priorities(priorities, len(functions), found)
    for index, fn in enumerate(functions):
        rule = _to_rule(fn, profile, found)
        if rule is None:
            continue
        name, module, qualname, code = rule
        priority = by_order[index] if by_order else by_name.get(name, 0)
        if profile == "strict" and name in names:
            found.append(diagnose("E0803", None, name=name))
        names.add(name)
        rules.append((HostRule(name, priority, module, qualname, code), fn))
    if profile == "strict":
        found.extend(diagnose("E0805", None, name=name) for name in by_name if name not in names)
    rules.sort(key=lambda pair: evaluation_key(pair[0]))
    return PythonRules(tuple(rule for rule, _ in rules), tuple(fn for _, fn in rules), tuple(found))


def _to_rule(fn: object, profile: Profile, found: list[Diagnostic]) -> tuple[str, str, str, str] | None:
    if not callable(fn):
        found.append(diagnose("E0801", None, kind=type(fn).__name__))
        return None
    if profile == "lynx" and not isinstance(getattr(fn, "__name__", None), str):
        found.append(diagnose("E0804", None, kind=type(fn).__name__))
        return None
    code = host_code(fn)
    if profile == "strict":
        if is_async(fn):
            found.append(diagnose("E0802", None, name=code.name))
            return None
        found.extend(diagnose("W0114", None, name=code.name, value=value) for value in code.opaque)
    return code.name, code.module, code.qualname, code.digest


def _read_priorities(
    priorities: Priorities, count: int, found: list[Diagnostic]
) -> tuple[Mapping[str, int], Sequence[int]]:
    """Priorities by name and priorities by order; one of the two is empty."""
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
