"""Registry of lints: the modules of `lint.lints`, and the run of those that read a whole policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from bobcat.bundle.source_map import SourceMap
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic
from bobcat.ir.schema import IrPolicy
from bobcat.lint import lints
from bobcat.lint.argument_schema import Tools
from bobcat.lint.calls import MAX_STEPS, MAX_STEPS_EACH
from bobcat.lint.observed import Report, report_of
from bobcat.lint.subject import LintContext

Check = Callable[[LintContext], Iterable[Diagnostic]]


@dataclass(frozen=True, slots=True)
class Lint:
    """One module of `lint.lints`: the codes that it reports, and the function for each input that it reads.

    `check` reads a whole policy, in normal form and in evaluation order; `check_tools` reads it beside its tools;
    `report` turns an observation of a front end into findings (see `observed`); it is the default of a module without
    a function.
    """

    name: str
    codes: tuple[str, ...]
    check: Check | None
    check_tools: Callable[[LintContext, Tools], Iterable[Diagnostic]] | None
    report: Report | None


def all_lints() -> tuple[Lint, ...]:
    """Return the lint of every module in `lint.lints`, in the order of their codes."""
    modules = [import_module(f"{lints.__name__}.{found.name}") for found in iter_modules(lints.__path__)]
    return tuple(sorted((_lint(module) for module in modules), key=lambda lint: lint.codes))


def _lint(module: ModuleType) -> Lint:
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    check, check_tools, report = (getattr(module, function, None) for function in ("check", "check_tools", "report"))
    return Lint(name, module.CODES, check, check_tools, report if check or check_tools else report_of(module))


def run_lints(policy: IrPolicy, source_map: SourceMap, tools: Tools | None = None) -> tuple[Diagnostic, ...]:
    """Run every lint of a policy, with tools also those that compare it with them; add a note about omitted work."""
    subject = LintContext(policy, source_map, tools)
    registered = all_lints()
    found = [item for lint in registered if lint.check is not None for item in lint.check(subject)]
    shadowed = {item.span for item in found if item.code in ("W0101", "W0108") and item.span is not None}
    found = [item for item in found if item.code != "W0102" or item.span not in shadowed]  # report each code once
    if tools is not None:
        checks = [lint.check_tools for lint in registered if lint.check_tools is not None]
        found.extend(item for check_tools in checks for item in check_tools(subject, tools))
    what = [f"{name} for {count:,} rule{'s' if count > 1 else ''}" for name, count in subject.capped.items()]
    if subject.calls.exhausted:
        what.append(f"calls that get through, after {MAX_STEPS:,} steps")
    elif subject.calls.ended:
        what.append(f"calls that get through, in {subject.calls.ended:,} searches of {MAX_STEPS_EACH:,} steps each")
    if what:
        found.append(diagnose("N0101", None, what=", ".join(what)))
    return tuple(found)
