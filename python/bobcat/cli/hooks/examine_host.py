"""The examination of a host: its settings files, read as it reads them, its switches, its trust and its version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bobcat.cli.failures import InputError
from bobcat.cli.hooks.codex_server import NoAnswer, listed_hooks
from bobcat.cli.hooks.examine_hook import examine_hook
from bobcat.cli.hooks.report import Finding, HookReport, HostReport, overall
from bobcat.cli.hooks.settings import HostSettings, JsonObject, Scope, UnexpectedShape, installed
from bobcat.cli.hooks.settings_file import UnreadableSettings, read_settings

VERSION_TIME = 20
_VERSION = re.compile(r"\d+(?:\.\d+)+")

CLAUDE_MANAGED = Path("/etc/claude-code/managed-settings.json")
GEMINI_SYSTEM = Path("/etc/gemini-cli/settings.json")


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a host: its directory, and the environment in which it starts."""

    directory: Path
    home: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def examine_host(host: HostSettings, scopes: Sequence[Scope], session: Session) -> HostReport:
    """Examine the gate of a host, in the settings of these scopes."""
    hooks: list[HookReport] = []
    findings: list[Finding] = []
    for scope in scopes:
        path = host.path(scope, session.directory, session.environ, session.home)
        if path is not None:
            try:
                settings = _read(path, host)
                found = installed(settings, host)
            except (UnreadableSettings, UnexpectedShape, InputError) as error:
                said = f"{path}: {error}" if isinstance(error, UnexpectedShape) else str(error)
                findings.append(Finding("error", "unreadable_settings", f"{said}; {host.title} ignores the file"))
                continue
            hooks += [examine_hook(each, host, path, session.directory, settings) for each in found]
    if not hooks:
        help = f"run `bobcat install {host.host} --policy POLICY.bobcat`"
        findings.append(Finding("error", "not_installed", "no hook of Bobcat is installed", help))
    version, program = _version(host)
    findings += _version_findings(host, version, program)
    if hooks:
        findings += [*_switches(host, session), *_trust(host, program, hooks, session), *_limits(host)]
    off = any(finding.level == "error" for finding in findings if finding.code != "unreadable_settings")
    gate = "off" if off else overall([hook.gate for hook in hooks])
    return HostReport(host.host, host.title, version, gate, tuple(hooks), tuple(findings))


def is_present(host: HostSettings, scopes: Sequence[Scope], session: Session) -> bool:
    """Return true if the host seems to be used here: its program is on PATH, or it has settings."""
    paths = (host.path(scope, session.directory, session.environ, session.home) for scope in scopes)
    return shutil.which(host.program) is not None or any(path is not None and path.exists() for path in paths)


def _read(path: Path, host: HostSettings) -> JsonObject:
    settings = read_settings(path, comments=host.comments).settings
    unknown = settings.keys() - {"hooks", *host.top} if host.only_hooks else set()
    if unknown:
        raise UnreadableSettings(f"`{path}` has the unknown key `{min(unknown)}`")
    return settings


def _version(host: HostSettings) -> tuple[str | None, str | None]:
    """Return the version of the program on PATH, and its path."""
    program = shutil.which(host.program)
    if program is None:
        return None, None
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, stdin=subprocess.DEVNULL, timeout=VERSION_TIME, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None, program
    found = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return (found[0] if found else None), program


def _version_findings(host: HostSettings, version: str | None, program: str | None) -> Iterator[Finding]:
    if program is None:
        return
    if version is None:
        yield Finding("warning", "unknown_version", f"`{program} --version` prints no version")
    elif host.oldest and tuple(map(int, version.split("."))) < host.oldest:
        oldest = ".".join(map(str, host.oldest))
        said = f"{host.title} {version} does not know {', '.join(f'`{name}`' for name in host.fail_closed)}"
        yield Finding("warning", "old_version", said, f"update it to {oldest} or later")


def _switches(host: HostSettings, session: Session) -> Iterator[Finding]:
    match host.host:
        case "claude-code":
            user = host.path("user", session.directory, session.environ, session.home)
            project = session.directory / ".claude"
            for path in (user, project / "settings.json", project / "settings.local.json", CLAUDE_MANAGED):
                settings = _settings_or_nothing(path)
                if settings.get("disableAllHooks") is True:
                    yield Finding("error", "disabled", f"`disableAllHooks` is true in {path}")
                if path == CLAUDE_MANAGED and settings.get("allowManagedHooksOnly") is True:
                    yield Finding("error", "disabled", f"`allowManagedHooksOnly` is true in {path}")
        case "gemini":
            yield from _gemini_switches(host, session)
        case _:
            pass


def _gemini_switches(host: HostSettings, session: Session) -> Iterator[Finding]:
    user = host.path("user", session.directory, session.environ, session.home)
    enabled: tuple[object, Path | None] = (True, None)
    for path in (user, session.directory / host.project, GEMINI_SYSTEM):  # the last one wins
        section = _settings_or_nothing(path).get("hooksConfig")
        if isinstance(section, dict):
            if "enabled" in section:
                enabled = (section["enabled"], path)
            disabled = section.get("disabled")
            if isinstance(disabled, list) and "bobcat" in disabled:
                yield Finding("error", "disabled", f"`hooksConfig.disabled` names the hook `bobcat` in {path}")
    if enabled[0] is not True:
        yield Finding("error", "disabled", f"`hooksConfig.enabled` is not true in {enabled[1]}")


def _settings_or_nothing(path: Path | None) -> JsonObject:
    try:
        return read_settings(path, comments=True).settings if path is not None else {}
    except (UnreadableSettings, InputError):
        return {}


def _trust(host: HostSettings, program: str | None, hooks: Sequence[HookReport], session: Session) -> Iterator[Finding]:
    match host.host:
        case "codex" if program is None:
            said = "`codex` is not on PATH, so that its list of reviewed hooks cannot be read"
            yield Finding("warning", "unknown_trust", said)
        case "codex":
            yield from _codex_trust(program or "codex", hooks, session)
        case "gemini":
            yield from _gemini_trust(host, hooks, session)
        case _:
            pass


def _codex_trust(program: str, hooks: Sequence[HookReport], session: Session) -> Iterator[Finding]:
    try:
        listed = {hook.command: hook for hook in listed_hooks(program, session.directory)}
    except NoAnswer as error:
        yield Finding("warning", "unknown_trust", f"Codex's list of reviewed hooks cannot be read: {error}")
        return
    states = [listed.get(hook.command) for hook in hooks]
    if any(state is not None and state.runs for state in states):
        return
    review = "review it in `/hooks` of `codex`, or run `bobcat install codex --trust` again"
    for hook, state in zip(hooks, states, strict=True):
        if state is None:
            said = f"Codex does not list the hook of {hook.file}: it reads those of trusted projects only"
            yield Finding("error", "untrusted", said, "trust the project in `codex`, or install with `--user`")
        elif not state.enabled:
            yield Finding("error", "disabled", f"the hook of {hook.file} is disabled in `/hooks` of Codex")
        else:
            yield Finding("error", "untrusted", f"the hook of {hook.file} is {state.trust}: Codex skips it", review)


def _gemini_trust(host: HostSettings, hooks: Sequence[HookReport], session: Session) -> Iterator[Finding]:
    """Gemini CLI ignores the settings of a project that is not trusted, and asks at its start."""
    project = str(session.directory / host.project)
    user = host.path("user", session.directory, session.environ, session.home)
    if any(hook.file != project for hook in hooks):
        return
    security = _settings_or_nothing(user).get("security")
    trust = security.get("folderTrust") if isinstance(security, dict) else None
    if isinstance(trust, dict) and trust.get("enabled") is False:
        return
    folders = _settings_or_nothing(session.home / ".gemini/trustedFolders.json")
    if session.environ.get("GEMINI_CLI_TRUST_WORKSPACE") == "true" or _is_trusted(folders, session.directory):
        return
    said = f"Gemini CLI reads the settings of trusted directories only, and {session.directory} is not one"
    yield Finding("error", "untrusted", said, "trust the directory in `gemini`, or install with `--user`")


def _is_trusted(folders: JsonObject, directory: Path) -> bool:
    """Return true if the nearest directory with a rule is trusted."""
    for place in (directory, *directory.parents):
        rule = folders.get(str(place))
        if rule is not None:
            return rule == "TRUST_FOLDER" or (rule == "TRUST_PARENT" and place == directory)
        if any(folders.get(name) == "TRUST_PARENT" and Path(name).parent == place for name in folders):
            return True
    return False


def _limits(host: HostSettings) -> Iterator[Finding]:
    opens = host.open_failures()
    if opens is not None:
        yield Finding("note", "fails_open", opens)
    for limit in host.limits:
        yield Finding("note", "limit", limit)
    if not host.measured:
        yield Finding("note", "not_measured", f"the behaviour of {host.title} is from its documentation, not measured")
