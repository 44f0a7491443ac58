"""`bobcat install`: write Bobcat's hook into the settings of a coding agent, or remove it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.hooks.call import HOSTS, Host
from bobcat.cli.options import format_option
from bobcat.cli.output import echo_line, wants_colour, write_json
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.bundle import Policy
    from bobcat.cli.hooks.settings_file import SettingsFile

DEFAULT_BUNDLE = "policy.bobcat"
_COMPILE = "compile it with `bobcat compile {0} --output {1}`"


@dataclass(frozen=True, slots=True)
class _Plan:
    """One settings file, and the text that it gets; None: the file is removed."""

    file: SettingsFile
    text: str | None
    difference: list[str]

    @property
    def changes(self) -> bool:
        return bool(self.difference)


@dataclass(frozen=True, slots=True)
class _Events:
    """Events beside that of calls at which the hook is installed, and notes about others."""

    added: tuple[str, ...]
    notes: tuple[str, ...]


@click.command()
@click.argument("host", type=click.Choice(HOSTS))
@click.argument("options", nargs=-1, metavar="[-- HOOK_OPTION...]")
@click.option(
    "--project", "scope", flag_value="project", default=True, help="The settings of this directory (default)."
)
@click.option("--user", "scope", flag_value="user", help="The settings of the user: every project.")
@click.option("--policy", metavar="FILE", type=Path, help=f"The bundle that decides (default: {DEFAULT_BUNDLE}).")
@click.option("--hook", metavar="FILE", type=Path, help="The hook program (default: the one beside `bobcat`).")
@click.option("--grant", is_flag=True, help="Answer `allow` where the policy allows; by default the host still asks.")
@click.option("--log", metavar="FILE|URL", help="The decision log of the hook.")
@click.option("--approvals", metavar="URL", help="The store in which the hook keeps approvals.")
@click.option("--state", metavar="DIRECTORY", help="Where the hook keeps sessions, for a policy that remembers.")
@click.option("--candidate", metavar="FILE", help="A bundle whose other decisions the log of the hook gets.")
@click.option("--trust", is_flag=True, help="Codex: record that the hook was reviewed, as `/hooks` does.")
@click.option("--dry-run", is_flag=True, help="Show the change, and write nothing.")
@click.option("--remove", is_flag=True, help="Remove Bobcat's hook; everything else stays.")
@format_option
def install(
    host: Host,
    options: tuple[str, ...],
    *,
    scope: str,
    policy: Path | None,
    hook: Path | None,
    grant: bool,
    log: str | None,
    approvals: str | None,
    state: str | None,
    candidate: str | None,
    trust: bool,
    dry_run: bool,
    remove: bool,
    output_format: str,
) -> None:
    """Write Bobcat's hook into the settings of HOST, so that the policy decides on each tool call.

    Everything else in the settings stays as it is. Options after `--` are passed to the hook. `bobcat doctor hooks`
    checks the result.
    """
    if remove and (policy or hook or grant or log or approvals or state or candidate or trust or options):
        raise click.UsageError("`--remove` takes no options of the hook")
    if trust and host != "codex":
        raise click.UsageError("`--trust` is for codex, which alone keeps a list of reviewed hooks")
    if candidate is not None and log is None:
        raise click.UsageError("`--candidate` needs `--log`, which gets its divergences")
    path = _settings_path(host, scope)
    command, events = None, _Events((), ())
    if not remove:
        bundle = _checked_bundle(policy)
        hook_options = _hook_options(grant, log, approvals, state, (*_candidate(candidate, bundle), *options))
        command = _command(hook, host, policy or Path(DEFAULT_BUNDLE), hook_options)
        events = _events(host, bundle)
        if not dry_run:
            _try(command, host)
    plan = _plan(host, path, command, events.added)
    if plan.changes and not dry_run:
        plan.file.replace(plan.text)
    action = _action(plan, remove=remove)
    if trust and command is not None and not dry_run:
        _trust(command)
    _show(host, scope, plan, action, command, more=events.notes, dry_run=dry_run, as_json=output_format == "json")


def _settings_path(host: Host, scope: str) -> Path:
    from bobcat.cli.hooks.settings import HOST_SETTINGS, home_directory

    if sys.platform == "win32":
        raise InputError("`install` writes command lines for a POSIX shell; on Windows, edit the settings of the host")
    home = home_directory()
    if home is None:
        raise InputError("there is no home directory; set HOME")
    path = HOST_SETTINGS[host].path("user" if scope == "user" else "project", Path.cwd(), os.environ, home)
    if path is None:
        raise click.UsageError(f"{HOST_SETTINGS[host].title} has hooks of a project only")
    return path


def _hook_options(
    grant: bool, log: str | None, approvals: str | None, state: str | None, more: Sequence[str]
) -> list[str]:
    """Return the options of the hook. A host starts it in any directory, so that paths are made absolute."""
    options = ["--grant"] if grant else []
    if log is not None:
        options += ["--log", log if "://" in log else os.path.abspath(log)]
    if approvals is not None:
        options += ["--approvals", _absolute_url(approvals)]
    if state is not None:
        options += ["--state", os.path.abspath(state)]
    return [*options, *more]


def _candidate(path: str | None, policy: Policy) -> tuple[str, ...]:
    """Return the option of a candidate that the hook can read."""
    if path is None:
        return ()
    from bobcat.cli.hooks.candidate import load_candidate

    try:
        load_candidate(Path(path), policy)
    except ValueError as error:
        raise InputError(f"the candidate is refused: {error}") from error
    return "--candidate", os.path.abspath(path)


def _absolute_url(url: str) -> str:
    for scheme in ("sqlite:///", "file:"):
        if url.startswith(scheme):
            return scheme + os.path.abspath(url.removeprefix(scheme))
    return url if "://" in url else os.path.abspath(url)


def _events(host: Host, bundle: Policy) -> _Events:
    """Return the events beside that of calls at which the hook is needed, and notes about those that the host lacks."""
    from bobcat.cli.hooks.settings import HOST_SETTINGS

    table, added, notes = HOST_SETTINGS[host], [], []
    for wanted, event, effect in (
        (bundle.reads_results, table.result_event, "results of calls, which {} does not report: sources are empty"),
        (bundle.reads_task, table.task_event, "`context.task`, which {} does not report: it is absent"),
    ):
        if wanted and event is not None:
            added.append(event)
        elif wanted:
            notes.append(f"the policy reads {effect.format(table.title)}")
    return _Events(tuple(added), tuple(notes))


def _command(hook: Path | None, host: Host, bundle: Path, options: list[str]) -> str:
    from bobcat.cli.hooks.command_line import NATIVE, hook_command, native_hook

    hook = hook or native_hook()
    if hook is not None and hook.name != NATIVE:
        raise InputError(f"the hook program must be named `{NATIVE}`, so that it is recognized in the settings")
    if hook is None:
        raise InputError(
            "`bobcat-hook` is not installed beside `bobcat`", help="`pip install .` and `make build` put it there"
        )
    command = hook_command(hook, host, bundle, options)
    try:
        command.encode()
    except UnicodeEncodeError as error:
        raise InputError("the path of the hook or of the policy is not UTF-8, which JSON cannot hold") from error
    return command


def _checked_bundle(policy: Path | None) -> Policy:
    from bobcat.bundle.load import is_bundle, load_bundle

    path = Path(DEFAULT_BUNDLE) if policy is None else policy
    try:
        data = path.read_bytes()
    except OSError as error:
        hint = "; name a bundle with `--policy FILE`" if policy is None else ""
        raise InputError(f"cannot read `{path}`: {reason_of(error)}{hint}") from error
    if not is_bundle(data):
        raise InputError(
            f"`{path}` is not a bundle, which is what the hook reads",
            help=_COMPILE.format(path, path.with_suffix(".bobcat")),
        )
    bundle = load_bundle(data)
    if bundle.profile != "strict":
        raise InputError(f"`{path}` has the profile `{bundle.profile}`; a hook evaluates `strict` only")
    return bundle


def _try(command: str, host: Host) -> None:
    """Run the hook once, so that a command line that cannot answer is not written."""
    from bobcat.cli.hooks.canary import fire

    fired = fire(command, b"{}", shell=["/bin/sh", "-c"], host=host, directory=Path.cwd(), timeout=30)
    expected = fired.refused and "the input has no" in fired.err
    if not expected:
        raise InputError(f"the hook does not work with this command line: {fired.line()}", help=f"tried: {command}")


def _plan(host: Host, path: Path, command: str | None, events: Sequence[str]) -> _Plan:
    from bobcat.cli.hooks.settings import HOST_SETTINGS, UnexpectedShape, with_hook, without_hook
    from bobcat.cli.hooks.settings_file import UnreadableSettings, read_settings

    table = HOST_SETTINGS[host]
    try:
        file = read_settings(path)
        if command is None:
            settings = without_hook(file.settings, table)
        else:
            settings = with_hook(file.settings, table, command, events)
    except UnreadableSettings as error:
        help = None
        if error.comments:
            help = "remove the comments, which writing the file would lose"
            if command is not None:
                fragment = json.dumps(with_hook({}, table, command, events), ensure_ascii=False)
                help += f", or add the hook by hand: {fragment}"
        raise InputError(f"{error}; it stays as it is", help=help) from error
    except UnexpectedShape as error:
        raise InputError(f"`{path}`: {error}; it stays as it is") from error
    if settings == file.settings:
        return _Plan(file, file.text, [])
    bare = settings.keys() <= table.top.keys() and not path.is_symlink()
    text = None if command is None and bare else file.render(settings)
    return _Plan(file, text, file.difference(text))


def _action(plan: _Plan, *, remove: bool) -> str:
    if not plan.changes:
        return "unchanged"
    return "removed" if remove else "installed"


def _trust(command: str) -> None:
    from bobcat.cli.hooks.codex_server import NoAnswer, trust_hook

    program = shutil.which("codex")
    if program is None:
        raise InputError("the hook is written, but `codex` is not on PATH, so that it cannot be trusted")
    try:
        trust_hook(program, Path.cwd(), command)
    except NoAnswer as error:
        raise InputError(f"the hook is written, but Codex did not record the trust: {error}") from error


def _show(
    host: Host,
    scope: str,
    plan: _Plan,
    action: str,
    command: str | None,
    *,
    more: Sequence[str],
    dry_run: bool,
    as_json: bool,
) -> None:
    from bobcat.cli.hooks.settings import HOST_SETTINGS

    table = HOST_SETTINGS[host]
    opens = table.open_failures() if command is not None else None
    notes = [*([opens] if opens else []), *(table.limits if command is not None else ()), *more]
    if as_json:
        write_json(
            {
                "host": host,
                "scope": scope,
                "file": str(plan.file.path),
                "action": action,
                "dry_run": dry_run,
                "command": command,
                "difference": plan.difference,
                "notes": notes,
            }
        )
        return
    for line in plan.difference:
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        click.secho(safe_text(line), fg=colour, color=wants_colour())
    done = f"would be {action}" if dry_run and plan.changes else f"is {action}"
    echo_line(f"{safe_text(plan.file.path)}: the hook of {table.title} {done}")
    for note in notes:
        echo_line(f"note: {safe_text(note)}")
    if command is not None and not dry_run:
        click.echo(f"next: bobcat doctor hooks {host}")
