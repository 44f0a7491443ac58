"""The output of `bobcat test`: failures, summary, coverage, and reports for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bobcat.cli.json_document import json_text
from bobcat.cli.output import echo_json, show_diagnostics, wants_colour, write_file, write_json
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.testing.suites.coverage import PolicyCoverage
    from bobcat.testing.suites.run import CaseResult
    from bobcat.testing.suites.session import Collected, SessionResult

COLOURS = {"head": "red", "expected": "green", "actual": "red", "quiet": None, "": None}
FILES = {"html": "policy-coverage.html", "json": "policy-coverage.json"}
"""The files of coverage reports that are not for a terminal."""


@dataclass(frozen=True)
class Report:
    """The outcomes of a session, with the coverage of its policies if it was asked for."""

    result: SessionResult
    coverage: Sequence[PolicyCoverage]
    coverage_format: str
    output: str | None

    def show(self, output_format: str, junit_file: str | None) -> None:
        """Print the report, and write its files."""
        from bobcat.testing.suites.reports import github, junit, session_json

        if junit_file is not None:
            write_file(junit_file, junit(self.result))
        if output_format == "json":
            from bobcat.testing.suites.coverage_reports import coverage_json

            covered = {"coverage": coverage_json(self.coverage)} if self.coverage else {}
            write_json({**session_json(self.result), **covered})
            if self.output != "-" and (self.coverage_format == "html" or self.output is not None):
                self._write_coverage(quiet=True)
            return
        if output_format == "github":
            for line in github(self.result):
                click.echo(line, err=self._aside)
        else:
            for item in self.result.results:
                if not item.passed:
                    _show_failure(item, err=self._aside)
        self._write_coverage(quiet=False)
        self._show_summary()

    @property
    def _aside(self) -> bool:
        """True if a document of the coverage has standard output for itself."""
        return self.output == "-" and bool(self.coverage) and self.coverage_format != "text"

    def covers(self, least: float) -> bool:
        """Return true if the coverage is at least this; otherwise say so on stderr."""
        from bobcat.testing.suites.coverage_reports import total_percent

        found = total_percent(self.coverage)
        if found < least:
            click.echo(f"coverage {found:g}% is below {least:g}%", err=True)
        return found >= least

    def _write_coverage(self, *, quiet: bool) -> None:
        if not self.coverage:
            return
        file = self.output or FILES.get(self.coverage_format)
        text = self._coverage_text()
        if file is None or file == "-":
            click.echo(text)
            return
        write_file(file, text)
        if not quiet:
            click.echo(f"wrote {safe_text(file)}")

    def _coverage_text(self) -> str:
        from bobcat.testing.suites.coverage_page import coverage_page
        from bobcat.testing.suites.coverage_reports import coverage_json, coverage_text

        match self.coverage_format:
            case "html":
                return coverage_page(self.coverage)
            case "json":
                return json_text(coverage_json(self.coverage), indent=2) + "\n"
            case _:
                return coverage_text(self.coverage)

    def _show_summary(self) -> None:
        result = self.result
        colour = "red" if result.failed else "green" if result.results else "yellow"
        click.secho(summary(result), fg=colour, color=wants_colour(), err=self._aside)


def show_errors(collected: Collected, output_format: str) -> None:
    """Print the errors of suites, policies and tools."""
    from bobcat.diagnostics.render import render_json
    from bobcat.testing.suites.reports import github_diagnostics

    match output_format:
        case "json":
            echo_json(render_json(collected.errors))
        case "github":
            for line in github_diagnostics(collected.errors):
                click.echo(line)
        case _:
            show_diagnostics(collected.errors, collected.texts, err=True)


def show_case(result: CaseResult) -> None:
    """Print the line of one case."""
    word, colour = ("passed", "green") if result.passed else ("FAILED", "red")
    place = safe_text(f"{result.file}:{result.case.span.line}")
    click.echo(click.style(word, fg=colour) + f"  {place}  {safe_text(result.case.name)}", color=wants_colour())


def _show_failure(result: CaseResult, *, err: bool) -> None:
    from bobcat.testing.suites.failures import describe, place_of

    colour = wants_colour()
    head = click.style("FAILED", fg="red", bold=True)
    click.echo(f"{head}  {safe_text(place_of(result))}  {safe_text(result.case.name)}", color=colour, err=err)
    for line in describe(result):
        click.secho(line.text, fg=COLOURS[line.style], dim=line.style == "quiet", color=colour, err=err)
    click.echo(err=err)


def summary(result: SessionResult) -> str:
    """Return the last line of the report."""
    passed = len(result.results) - result.failed
    parts = [f"{result.failed:,} failed"] if result.failed else []
    parts += [f"{passed:,} passed"] if passed or not (result.failed or result.updated) else []
    parts += [f"{result.deselected:,} deselected"] if result.deselected else []
    parts += [f"{result.not_run:,} not run"] if result.not_run else []
    parts += [f"{result.updated:,} updated"] if result.updated else []
    words = ", ".join(parts) if result.results or result.deselected or result.updated else "no test found"
    return f"{words} in {result.seconds:.2f} s"
