"""`bobcat report`: one page about a policy."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import USAGE
from bobcat.cli.inputs import STDIN, PolicySource
from bobcat.cli.json_document import json_text
from bobcat.cli.log import TimeParam
from bobcat.cli.options import bundle_checks, bundle_options, format_option_of, profile_option, python_rule_option
from bobcat.cli.output import write_file
from bobcat.cli.recorded_input import exits_with_usage, open_logs, parse_map, progress_of, show_damage, tools_of
from bobcat.cli.test_report import show_errors
from bobcat.text.display import safe_json_text, safe_text

if TYPE_CHECKING:
    from bobcat.bundle import Policy
    from bobcat.diagnostics.model import Diagnostic
    from bobcat.report.model import Signature
    from bobcat.testing.suites.coverage import PolicyCoverage
    from bobcat.tools.toolset import ToolSet
    from bobcat.traffic.changes import Tally
    from bobcat.traffic.replaying import Options

DEFAULT_FILES = {"html": "policy-report.html", "json": STDIN}


@click.command()
@click.argument("policy", metavar="POLICY", type=click.Path(dir_okay=False))
@click.option("--log", "logs", metavar="LOG", multiple=True, type=click.Path(),
              help="Recorded calls, as for `usage`: how often rules fired; repeatable.")  # fmt: skip
@click.option("--since", type=TimeParam(), metavar="TIME", help="Recorded calls at this time or later.")
@click.option("--until", type=TimeParam(), metavar="TIME", help="Recorded calls before this time.")
@click.option("--map", "mapped", multiple=True, metavar="FIELD=PATH",
              help="Read a field of a log like OPA's from this path; repeatable.")  # fmt: skip
@click.option("--suite", "suites", metavar="PATH", multiple=True, type=click.Path(exists=True),
              help="Suites of tests, or directories of them: the coverage of the rules; repeatable.")  # fmt: skip
@click.option("--tools", "tools_spec", metavar="MODULE[:NAME]",
              help="The ToolSet that the policy is for: its tools are rows, with their declarations.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True),
              help="The file; `-` is standard output, the default of JSON. Default: policy-report.html.")  # fmt: skip
@profile_option
@python_rule_option
@bundle_options
@format_option_of("html", "json")
@exits_with_usage
def report(
    policy: str,
    *,
    logs: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
    mapped: tuple[str, ...],
    suites: tuple[str, ...],
    tools_spec: str | None,
    output: str | None,
    profile: Any,  # Any: one of the choices
    python_rules: tuple[str, ...],
    output_format: str,
) -> int:
    """Write a page about POLICY, a source or a bundle: its rules, who may do what, its findings, coverage and traffic.

    The page is one file that loads nothing. A cell of the table with one verdict holds for every call of the tool
    there, whatever its arguments are.

    \b
    Example: bobcat report policy.yaml --suite tests --log decisions.jsonl -o report.html
    """
    from bobcat.report.access import access_table
    from bobcat.report.model import PolicyReport
    from bobcat.report.page import report_page
    from bobcat.report.probing import probed
    from bobcat.threads.journal import earlier_turns
    from bobcat.traffic.replaying import Options

    if policy == STDIN:
        raise click.UsageError("`report` reads POLICY more than once: give a file")
    source = PolicySource(policy, profile, python_rules)
    opened = source.open(shown_only=not (logs or suites))
    tools = tools_of(tools_spec)
    options = Options(0, since, until, usage=True, paths=parse_map(mapped), tools=tools, earlier_runs=earlier_turns)
    tally = _traffic(opened, logs, options)
    coverage, cases = _coverage(policy, suites)
    declared = {} if tools is None else {name: tool.metadata for name, tool in tools.tools.items()}
    logged = set() if tally is None else {tool for tool, _ in tally.usage.verdicts}
    found = PolicyReport(
        policy, opened, probed(opened, access_table(opened.ir, declared, logged)), _findings(source, opened, tools),
        _signatures(policy), coverage, cases, tally,
    )  # fmt: skip
    text = (
        report_page(found) if output_format == "html" else safe_json_text(json_text(found.to_json(), indent=2)) + "\n"
    )
    _write(output or DEFAULT_FILES[output_format], text)
    return USAGE if tally is not None and tally.damaged else 0


def _traffic(policy: Policy, logs: Sequence[str], options: Options) -> Tally | None:
    from bobcat.traffic.replaying import Replay

    if not logs:
        return None
    sources = open_logs(logs, maps=bool(options.paths))
    with progress_of(sources) as progress:
        tally = Replay(policy, None, options).run(sources, progress=progress)
    show_damage(tally)
    return tally


def _coverage(policy: str, suites: Sequence[str]) -> tuple[Sequence[PolicyCoverage], tuple[int, int] | None]:
    """Run suites on the policy; errors in them end the command."""
    from bobcat.testing.suites.coverage import CoverageRecorder
    from bobcat.testing.suites.session import collect, run, select

    if not suites:
        return (), None
    collected = collect(suites, policy=policy)
    if collected.errors:
        show_errors(collected, "text")
        raise click.exceptions.Exit(USAGE)
    if not collected.suites:
        raise click.UsageError("`--suite`: no `*.policytest.yaml` found")
    recorder = CoverageRecorder()
    for suite in collected.suites:
        recorder.add(suite.subject.policy, policy)
    result = run(select(collected), observe=recorder)
    return recorder.reports(), (len(result.results) - result.failed, result.failed)


def _findings(source: PolicySource, policy: Policy, tools: ToolSet | None) -> tuple[Diagnostic, ...] | None:
    """The findings of `check`; of a bundle, the lints of its rules. None without places for them."""
    from bobcat.bundle import is_bundle
    from bobcat.cli.check import findings_of, tool_facts
    from bobcat.cli.inputs import MODULE, read_bytes
    from bobcat.lint.registry import run_lints

    given = None if tools is None else tool_facts(tools)
    if source.path.endswith(MODULE) or not is_bundle(read_bytes(source.path)[0]):
        return tuple(findings_of(source.path, source.profile, given, imports=False)[1])
    if policy.source_map is None or policy.profile != "strict":
        return None
    return run_lints(policy.ir, policy.source_map, given)


def _signatures(path: str) -> tuple[Signature, ...]:
    from bobcat.bundle import is_bundle
    from bobcat.bundle.load import signers
    from bobcat.cli.inputs import read_bytes
    from bobcat.report.model import Signature

    data, _ = read_bytes(path)
    trusted = {key.lower() for key in bundle_checks().trusted_keys or ()}
    return tuple(Signature(key, key.lower() in trusted) for key in signers(data)) if is_bundle(data) else ()


def _write(file: str, text: str) -> None:
    if file == STDIN:
        click.echo(text, nl=False)
        return
    write_file(file, text)
    click.echo(f"wrote {safe_text(file)}", err=True)
