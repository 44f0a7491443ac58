"""`bobcat doctor hooks`: fire the installed hooks of coding agents, and say whether the gate is on."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError
from bobcat.cli.hooks.call import HOSTS, Host
from bobcat.cli.hooks.report import Finding, HostReport
from bobcat.cli.options import format_option
from bobcat.cli.output import echo_line, wants_colour, write_json
from bobcat.text.display import safe_text

_GATES = {
    "on": ("the gate is on", "green"),
    "off": ("the gate is OFF", "red"),
    "refuses": ("the gate refuses every call", "red"),
}
_COLOURS = {"error": "red", "warning": "yellow", "note": None}


@click.command("hooks")
@click.argument("hosts", metavar="[HOST]...", nargs=-1, type=click.Choice(HOSTS))
@click.option("--project", "scopes", flag_value="project", help="Only the settings of this directory.")
@click.option("--user", "scopes", flag_value="user", help="Only the settings of the user.")
@format_option
def hooks(hosts: tuple[Host, ...], scopes: str | None, output_format: str) -> int:
    """Fire the hooks of coding agents as these would, and say whether the gate is on.

    The commands in the settings run, as they do when the host starts: use it in projects that you trust.

    Without HOST: all hosts with settings here or a program on PATH. Exits with 0 if every gate is on without a gap
    that settings could close, otherwise with 1.
    """
    from bobcat.cli.hooks.examine_host import Session, examine_host, is_present
    from bobcat.cli.hooks.settings import HOST_SETTINGS, home_directory

    home = home_directory()
    if home is None:
        raise InputError("there is no home directory; set HOME")
    session = Session(Path.cwd(), home)
    wanted: Any = ("project", "user") if scopes is None else (scopes,)
    chosen = dict.fromkeys(hosts) or [host for host in HOSTS if is_present(HOST_SETTINGS[host], wanted, session)]
    reports = [examine_host(HOST_SETTINGS[host], wanted, session) for host in chosen]
    if output_format == "json":
        write_json({"hosts": [{**asdict(report), "clean": report.clean} for report in reports]})
    else:
        for report in reports:
            _show(report)
        if not reports:
            click.echo(f"no coding agent found; name one of {', '.join(HOSTS)}", err=True)
    return 0 if reports and all(report.clean for report in reports) else FINDINGS


def _show(report: HostReport) -> None:
    said, colour = _GATES[report.gate]
    title = f"{report.title} {report.version}" if report.version else report.title
    click.secho(f"{safe_text(title)}: {said}", fg=colour, bold=True, color=wants_colour())
    for hook in report.hooks:
        echo_line(f"  file     {safe_text(hook.file)}", indent="         | ")
        echo_line(f"  command  {safe_text(hook.command)}", indent="         | ")
        for finding in hook.findings:
            _show_finding(finding)
    for finding in report.findings:
        _show_finding(finding)


def _show_finding(finding: Finding) -> None:
    level = (
        click.style(f"{finding.level}[{finding.code}]", fg=_COLOURS[finding.level])
        if wants_colour()
        else f"{finding.level}[{finding.code}]"
    )
    echo_line(f"  {level}: {safe_text(finding.message)}")
    if finding.help is not None:
        echo_line(f"    help: {safe_text(finding.help)}")
