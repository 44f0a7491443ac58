"""`bobcat check`: every error, warning and lint of policy sources."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.inputs import (
    DEFAULT_POLICY,
    MODULE,
    Profile,
    compilation_inputs,
    read_bytes,
    read_rules,
    report_imports,
    uncompiled,
)
from bobcat.cli.options import composition_options, format_option_of, profile_option, uncompiled_option
from bobcat.cli.output import echo_json, show_diagnostics, wants_colour
from bobcat.cli.policy_files import policies_below

if TYPE_CHECKING:
    from bobcat.bundle.source_map import SourceMap
    from bobcat.diagnostics.model import Diagnostic
    from bobcat.ir.schema import IrPolicy
    from bobcat.lint.argument_schema import ToolFacts
    from bobcat.lint.check import Exact
    from bobcat.tools.toolset import ToolSet

SECONDS = 1.0
"""Time that the exact analysis of one policy has by default."""
MAX_RULES = 1_000
"""Rules of the largest policy that is analysed exactly by default."""


@click.command()
@click.argument("policies", metavar="[POLICY|DIRECTORY]...", nargs=-1, type=click.Path(allow_dash=True))
@format_option_of("text", "json", "sarif")
@click.option("--deny-warnings", is_flag=True, help="Also exit with 1 on warnings.")
@click.option(
    "--tools",
    "tools_spec",
    metavar="MODULE[:NAME]",
    help="The ToolSet that the policies are for: its names, arguments and types are compared with theirs.",
)
@click.option(
    "--exact/--no-exact",
    default=None,
    help="Prove which rules never fire, however long it takes. Default: within a second for each policy.",
)
@profile_option
@uncompiled_option
@composition_options
def check(
    policies: tuple[str, ...],
    *,
    output_format: str,
    deny_warnings: bool,
    tools_spec: str | None,
    exact: bool | None,
    profile: Profile,
) -> int:
    """Report errors and warnings of policies (default: policy.yaml; `-` is standard input).

    A directory stands for every policy below it. A module of rules (`.py`) is imported, and its imports are listed on
    stderr; modules below a directory are skipped. `# bobcat: ignore W0102 because REASON` ignores one warning in one
    place.

    Exits with 0 without errors, with 1 if there is an error, with 3 if a file cannot be read.
    """
    from bobcat.diagnostics.render import render_json

    paths, found = _paths(policies or (DEFAULT_POLICY,))
    tools = None
    if tools_spec is not None:
        from bobcat.tools.named_object import load_tools  # PERF: most checks have no tools

        tools = tool_facts(load_tools(tools_spec))
    sources: dict[str, str] = {}
    texts: dict[str, str] = {}
    for path in paths:
        sources[path], findings = findings_of(path, profile, tools, texts=texts, exact=_exact(exact))
        found.extend(findings)
    found = list(dict.fromkeys(found))  # those of a file that several policies include
    match output_format:
        case "json":
            echo_json(render_json(found))
        case "sarif":
            from bobcat.diagnostics.sarif import render_sarif

            echo_json(render_sarif(found))
        case _:
            _show(found, {**texts, **sources}, len(sources))
    errors, warnings = _counts(found)
    return FINDINGS if errors or (deny_warnings and warnings) else 0


def _paths(given: Sequence[str]) -> tuple[list[str], list[Diagnostic]]:
    """Return the named files and those below named directories, each once, and notes about skipped files."""
    from bobcat.diagnostics.catalogue import diagnose
    from bobcat.frontend.strict.includes import included_files

    paths: dict[str, None] = {}
    notes: list[Diagnostic] = []
    for path in given:
        if not Path(path).is_dir():
            paths[path] = None
            continue
        try:
            below = policies_below(path)
        except OSError as error:
            raise InputError(f"cannot read `{error.filename or path}`: {reason_of(error)}") from error
        if not below.policies:
            raise InputError(f"no policy found below `{path}`")
        # A file that another one includes is checked as a part of that: alone, names of others may be missing in it.
        included = {os.path.realpath(file) for policy in below.policies for file in included_files(policy)}
        paths.update(dict.fromkeys(file for file in below.policies if os.path.realpath(file) not in included))
        notes.extend(diagnose("N0103", None, file=name, problem=problem) for name, problem in below.skipped)
    return list(paths), notes


def findings_of(
    path: str,
    profile: Profile,
    tools: Mapping[str, ToolFacts] | None,
    *,
    imports: bool = True,
    texts: dict[str, str] | None = None,
    exact: Exact | None = None,
) -> tuple[str, Iterable[Diagnostic]]:
    """Return the text of a source and its findings; `imports`: list those of a module on stderr. The texts of included
    files are added to `texts`; `exact` completes the findings.
    """
    from bobcat.bundle import is_bundle
    from bobcat.frontend.builder.rules import take_built
    from bobcat.frontend.result import LoweringResult
    from bobcat.frontend.yaml.encoding import decode
    from bobcat.lint.check import check_source

    if path.endswith(MODULE):
        # PERF: checking a text needs neither the builder nor the compiler of Python rules.
        from bobcat.build.rule_module import is_policy
        from bobcat.frontend.python.host import to_rules
        from bobcat.frontend.python.rules import PythonRules

        module = read_rules(path)
        if imports:
            report_imports(module)
        whole = [item for item in module.rules if is_policy(item)]
        source: Any = whole[0] if len(whole) == 1 else {}  # the only policy: its defaults apply
        _, built, functions = take_built({}, [item for item in module.rules if item is not source])

        def python(lowered: LoweringResult) -> PythonRules:
            return to_rules(functions, profile=profile, uncompiled=uncompiled(), sources=lowered.sources)

        found = check_source(
            source, path, profile=profile, python=python, built=built, module=module.text, tools=tools, exact=exact
        )
        return module.text, found
    data, name = read_bytes(path)
    if is_bundle(data):
        raise InputError(f"`{name}` is a bundle; `check` reads the sources of policies")
    text, bad = decode(data, name)
    if bad is not None:
        return text, [bad]
    inputs = compilation_inputs(path, profile)
    return text, check_source(text, name, profile=profile, tools=tools, inputs=inputs, texts=texts, exact=exact)


def _exact(given: bool | None) -> Exact | None:
    """Return the exact lints that `--exact` asks for; by default, those of policies that take a moment."""
    if given is False:
        return None

    def complete(policy: IrPolicy, places: SourceMap, found: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
        if given is None and len(policy.rules) > MAX_RULES:
            return found
        from bobcat.analysis.exact_lints import with_exact_findings  # PERF: large policies do without

        return with_exact_findings(policy, places, found, seconds=None if given else SECONDS)

    return complete


def tool_facts(tools: ToolSet) -> dict[str, ToolFacts]:
    """Return tools in the form of the analysis."""
    from bobcat.lint.argument_schema import ToolFacts
    from bobcat.model.request_json import declared_data
    from bobcat.tools.schema import tooldef_to_json_schema

    return {
        name: ToolFacts(
            name, tooldef_to_json_schema(tool), {**declared_data(tool.metadata), "scope": list(tool.metadata.scope)}
        )
        for name, tool in sorted(tools.tools.items())
    }


def _show(found: Sequence[Diagnostic], sources: Mapping[str, str], policies: int) -> None:
    shown = [item for item in found if item.suppressed is None]
    show_diagnostics(shown, sources)
    if shown:
        click.echo()
    errors, warnings = _counts(found)
    notes = len(shown) - errors - warnings
    ignored = len(found) - len(shown)
    parts = [_count(errors, "error"), _count(warnings, "warning")]
    parts += [_count(notes, "note")] if notes else []
    parts += [f"{ignored} ignored"] if ignored else []
    summary = f"{_count(policies, 'policy', 'policies')}: {', '.join(parts)}"
    click.secho(summary, fg="red" if errors else "yellow" if warnings else "green", color=wants_colour())


def _counts(found: Iterable[Diagnostic]) -> tuple[int, int]:
    """Return the numbers of errors and warnings, except ignored ones."""
    from bobcat.diagnostics.model import Severity

    counted = [item.severity for item in found if item.suppressed is None]
    return counted.count(Severity.ERROR), counted.count(Severity.WARNING)


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
