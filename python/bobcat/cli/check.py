"""`bobcat check`: every error, warning and lint of policy sources."""

from __future__ import annotations

from typing import Any

import click

from bobcat.cli.failures import FINDINGS, InputError
from bobcat.cli.inputs import DEFAULT_POLICY, MODULE, Profile, host, read_bytes, read_rules, say_about
from bobcat.cli.options import host_option, profile_option
from bobcat.cli.output import echo_json, show_diagnostics, wants_colour
from bobcat.cli.rule_module import is_policy


@click.command()
@click.argument("policies", metavar="[POLICY]...", nargs=-1, type=click.Path(allow_dash=True))
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    show_default=True,
    help="The form of the output.",
)
@click.option("--deny-warnings", is_flag=True, help="Exit with 1 on warnings too.")
@profile_option
@host_option
def check(policies: tuple[str, ...], output_format: str, deny_warnings: bool, profile: Profile) -> int:
    """Report what is wrong or doubtful in policies (default: policy.yaml; `-` is standard input).

    A module of rules (`.py`) is imported, and what it imports is told on stderr.

    Exits with 0 when there is no error, with 1 when there is one, with 3 when a file cannot be read.
    """
    from bobcat.analysis.check import check_source
    from bobcat.bundle import is_bundle
    from bobcat.diagnostics import Diagnostic, Severity
    from bobcat.frontend.encoding import decode
    from bobcat.frontend.pyrules import to_rules
    from bobcat.frontend.pyrules.built import take_built
    from bobcat.render import render_json, render_sarif

    sources: dict[str, str] = {}
    found: list[Diagnostic] = []
    for path in policies or (DEFAULT_POLICY,):
        if path.endswith(MODULE):
            module = read_rules(path)
            say_about(module)
            sources[path] = module.text
            whole = [item for item in module.rules if is_policy(item)]
            source: Any = whole[0] if len(whole) == 1 else {}  # the only policy there is: its defaults count
            _, built, functions = take_built({}, [item for item in module.rules if item is not source])
            python = to_rules(functions, profile=profile, host=host())
            found.extend(check_source(source, path, profile=profile, python=python, built=built))
            continue
        data, name = read_bytes(path)
        if is_bundle(data):
            raise InputError(f"`{name}` is a bundle; `check` reads the sources of policies")
        sources[name], bad = decode(data, name)
        found.extend(check_source(sources[name], name, profile=profile) if bad is None else [bad])

    errors = sum(item.severity is Severity.ERROR for item in found)
    warnings = sum(item.severity is Severity.WARNING for item in found)
    match output_format:
        case "json":
            echo_json(render_json(found))
        case "sarif":
            echo_json(render_sarif(found))
        case _:
            show_diagnostics(found, sources)
            if found:
                click.echo()
            policies_seen = _count(len(sources), "policy", "policies")
            summary = f"{policies_seen}: {_count(errors, 'error')}, {_count(warnings, 'warning')}"
            click.secho(summary, fg="red" if errors else "yellow" if warnings else "green", color=wants_colour())
    return FINDINGS if errors or (deny_warnings and warnings) else 0


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
