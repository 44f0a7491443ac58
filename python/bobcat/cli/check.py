"""`bobcat check`: every error, warning and lint of policy sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.failures import FINDINGS, InputError, reason_of
from bobcat.cli.inputs import DEFAULT_POLICY, MODULE, Profile, host, read_bytes, read_rules, say_about
from bobcat.cli.options import host_option, profile_option
from bobcat.cli.output import echo_json, show_diagnostics, wants_colour
from bobcat.cli.policy_files import policies_below
from bobcat.cli.rule_module import is_policy

if TYPE_CHECKING:
    from bobcat.analysis.argument_schema import ToolFacts
    from bobcat.diagnostics import Diagnostic


@click.command()
@click.argument("policies", metavar="[POLICY|DIRECTORY]...", nargs=-1, type=click.Path(allow_dash=True))
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    show_default=True,
    help="The form of the output.",
)
@click.option("--deny-warnings", is_flag=True, help="Exit with 1 on warnings too.")
@click.option(
    "--tools",
    "tools_spec",
    metavar="MODULE[:NAME]",
    help="The ToolSet the policies are for: its names, arguments and types are compared with theirs.",
)
@profile_option
@host_option
def check(
    policies: tuple[str, ...], output_format: str, deny_warnings: bool, tools_spec: str | None, profile: Profile
) -> int:
    """Report what is wrong or doubtful in policies (default: policy.yaml; `-` is standard input).

    Of a directory, every policy below it. A module of rules (`.py`) is imported, and what it imports is told on
    stderr; below a directory none is looked for. `# bobcat: ignore W0102 because REASON` ignores one warning in one
    place.

    Exits with 0 when there is no error, with 1 when there is one, with 3 when a file cannot be read.
    """
    from bobcat.render import render_json, render_sarif

    paths, found = _paths(policies or (DEFAULT_POLICY,))
    tools = _tool_facts(tools_spec) if tools_spec is not None else None
    sources: dict[str, str] = {}
    for path in paths:
        text, findings = _checked(path, profile, tools)
        sources[path] = text
        found.extend(findings)
    match output_format:
        case "json":
            echo_json(render_json(found))
        case "sarif":
            echo_json(render_sarif(found))
        case _:
            _show(found, sources)
    errors, warnings = _counts(found)
    return FINDINGS if errors or (deny_warnings and warnings) else 0


def _paths(given: Sequence[str]) -> tuple[list[str], list[Diagnostic]]:
    """The files that are named or stand below a directory that is, each once, and notes about those left out."""
    from bobcat.codes import diagnose

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
            raise InputError(f"there is no policy below `{path}`")
        paths.update(dict.fromkeys(below.policies))
        notes.extend(diagnose("N0103", None, file=name, problem=problem) for name, problem in below.skipped)
    return list(paths), notes


def _checked(path: str, profile: Profile, tools: Mapping[str, ToolFacts] | None) -> tuple[str, Iterable[Diagnostic]]:
    """The text of a source, and the findings about it."""
    from bobcat.analysis.check import check_source
    from bobcat.bundle import is_bundle
    from bobcat.frontend.encoding import decode
    from bobcat.frontend.pyrules import to_rules
    from bobcat.frontend.pyrules.built import take_built

    if path.endswith(MODULE):
        module = read_rules(path)
        say_about(module)
        whole = [item for item in module.rules if is_policy(item)]
        source: Any = whole[0] if len(whole) == 1 else {}  # the only policy there is: its defaults count
        _, built, functions = take_built({}, [item for item in module.rules if item is not source])
        python = to_rules(functions, profile=profile, host=host())
        found = check_source(source, path, profile=profile, python=python, built=built, module=module.text, tools=tools)
        return module.text, found
    data, name = read_bytes(path)
    if is_bundle(data):
        raise InputError(f"`{name}` is a bundle; `check` reads the sources of policies")
    text, bad = decode(data, name)
    return text, check_source(text, name, profile=profile, tools=tools) if bad is None else [bad]


def _tool_facts(spec: str) -> dict[str, ToolFacts]:
    """The tools that `--tools` names, as the analysis knows them."""
    from bobcat.analysis.argument_schema import ToolFacts
    from bobcat.cli.tool_module import load_tools
    from bobcat.tool_schema import tooldef_to_json_schema

    tools = load_tools(spec)
    return {
        name: ToolFacts(name, tooldef_to_json_schema(tools.get(name)), dict(_declared(tools.get(name).metadata)))
        for name in tools.names()
    }


def _declared(metadata: Any) -> Iterator[tuple[str, Any]]:  # Any: the metadata of a tool, and JSON
    for name in ("cost", "reversible", "blast_radius_hint", "has_shadow", "isolation", "effect"):
        yield name, getattr(metadata, name)
    yield "scope", list(metadata.scope)


def _show(found: Sequence[Diagnostic], sources: Mapping[str, str]) -> None:
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
    summary = f"{_count(len(sources), 'policy', 'policies')}: {', '.join(parts)}"
    click.secho(summary, fg="red" if errors else "yellow" if warnings else "green", color=wants_colour())


def _counts(found: Iterable[Diagnostic]) -> tuple[int, int]:
    """How many errors and warnings there are, those that are ignored aside."""
    from bobcat.diagnostics import Severity

    counted = [item.severity for item in found if item.suppressed is None]
    return counted.count(Severity.ERROR), counted.count(Severity.WARNING)


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
