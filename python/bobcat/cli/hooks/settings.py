"""The settings of the hosts: their files, the form of a hook in them, and what a host does when its hook fails.

Functions here change plain JSON data; `settings_file` reads and writes the files. The facts were measured on the
programs (`tests/hooks/real`), those about Cursor and Copilot are from their documentation.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from bobcat.cli.hooks.call import RESULT_EVENTS, TASK_EVENTS, Host
from bobcat.cli.hooks.command_line import HookCommand, parse_command

Scope: TypeAlias = Literal["project", "user"]
JsonObject: TypeAlias = dict[str, Any]  # Any: JSON

TIMEOUT = 10
"""Seconds that a host gives the hook: above the deadline of the hook, so that the hook ends first."""

FAILURES = {
    "killed": "is killed",
    "crashed": "crashes",
    "timeout": "exceeds its timeout",
    "missing": "is missing",
    "no_json": "ends with 0 and writes text that is not its answer",
}
"""Failures that a hook cannot turn into a refusal by itself."""


@dataclass(frozen=True, slots=True)
class HostSettings:
    """One host: where its hooks are, and in which form."""

    host: Host
    title: str
    program: str
    """The name of its command line program."""
    project: str
    """The settings of a project, relative to its directory."""
    user: str | None
    """The settings of a user, relative to the home directory or to `home_variable`; None: no such file."""
    event: str
    grouped: bool
    """Hooks are grouped by a matcher: `[{"matcher": "*", "hooks": [HOOK]}]`; otherwise `[HOOK]`."""
    command_key: str
    timeout_key: str
    timeout_unit: int
    """Units of the timeout in a second."""
    default_timeout: int | None
    """Seconds without a timeout in the settings; None: unknown."""
    fields: Mapping[str, Any]  # Any: JSON
    """Further fields of the hook."""
    fail_closed: Mapping[str, Any]  # Any: JSON
    """The fields among them without which the host runs the call when the hook fails."""
    top: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON
    """Fields of the file that the host needs."""
    switch: tuple[str, str] | None = None
    """The setting that has to be true."""
    home_variable: str | None = None
    """The environment variable that moves the directory of the user's settings."""
    comments: bool = False
    """The host accepts comments in this file."""
    only_hooks: bool = False
    """The host ignores the whole file if it has a key other than `hooks` and those of `top`."""
    opens: tuple[str, ...] = ()
    """The failures on which this host runs the call, whatever the settings say."""
    limits: tuple[str, ...] = ()
    """Other ways around the hook that no setting closes."""
    measured: bool = True
    oldest: tuple[int, ...] | None = None
    """The oldest version with the fields of `fail_closed`."""

    @property
    def result_event(self) -> str | None:
        """The event after a call, in whose input the host reports the result; None: none is known."""
        return RESULT_EVENTS.get(self.host)

    @property
    def task_event(self) -> str | None:
        """The event after the user has written; None: none is known."""
        return TASK_EVENTS.get(self.host)

    @property
    def events(self) -> tuple[str, ...]:
        """The events at which a hook can be installed, that of calls first."""
        return tuple(event for event in (self.event, self.result_event, self.task_event) if event is not None)

    def path(self, scope: Scope, directory: Path, environ: Mapping[str, str], home: Path) -> Path | None:
        """Return the settings file of a scope; None if the host has none."""
        if scope == "project":
            return directory / self.project
        if self.user is None:
            return None
        moved = environ.get(self.home_variable or "")
        return Path(moved) / Path(self.user).name if moved else home / self.user

    def open_failures(self) -> str | None:
        """Describe the failures on which the host runs the call; None if no such failure is known."""
        if not self.opens:
            return None
        *first, last = (FAILURES[name] for name in self.opens)
        said = f"{', '.join(first)} or {last}" if first else last
        runs = "runs" if self.measured else "may run (this was not measured)"
        return f"{self.title} {runs} the call when the hook {said}; no setting prevents it"

    def hook(self, command: str) -> JsonObject:
        """Return the hook that runs `command`."""
        own = {"type": "command"} if "type" in self.fields else {}
        return {**own, self.command_key: command, self.timeout_key: TIMEOUT * self.timeout_unit, **self.fields}


HOST_SETTINGS: dict[Host, HostSettings] = {
    "claude-code": HostSettings(
        host="claude-code", title="Claude Code", program="claude", project=".claude/settings.json",
        user=".claude/settings.json", home_variable="CLAUDE_CONFIG_DIR", event="PreToolUse", grouped=True,
        command_key="command", timeout_key="timeout", timeout_unit=1, default_timeout=60,
        fields={"type": "command", "onFailure": "block"}, fail_closed={"onFailure": "block"}, oldest=(2, 1, 295),
        opens=("no_json",),
        limits=("`claude --bare`, and settings with `disableAllHooks` given on its command line, run no hooks",),
    ),
    "codex": HostSettings(
        host="codex", title="Codex", program="codex", project=".codex/hooks.json", user=".codex/hooks.json",
        home_variable="CODEX_HOME", event="PreToolUse", grouped=True, command_key="command", timeout_key="timeout",
        timeout_unit=1, default_timeout=600, fields={"type": "command"}, fail_closed={}, only_hooks=True,
        opens=("killed", "crashed", "timeout", "missing", "no_json"),
        limits=("Codex runs the hooks that were reviewed in `/hooks` only, and those of trusted projects",),
    ),
    "gemini": HostSettings(
        host="gemini", title="Gemini CLI", program="gemini", project=".gemini/settings.json",
        user=".gemini/settings.json", event="BeforeTool", grouped=True, command_key="command", timeout_key="timeout",
        timeout_unit=1000, default_timeout=60, fields={"type": "command", "name": "bobcat"}, fail_closed={},
        switch=("hooksConfig", "enabled"), comments=True,
        opens=("killed", "crashed", "timeout", "no_json"),
        limits=("`gemini --skip-trust` ignores the hooks of a project; those of the user still run",),
    ),
    "cursor": HostSettings(
        host="cursor", title="Cursor", program="cursor-agent", project=".cursor/hooks.json", user=".cursor/hooks.json",
        event="preToolUse", grouped=False, command_key="command", timeout_key="timeout", timeout_unit=1,
        default_timeout=None, fields={"failClosed": True}, fail_closed={"failClosed": True}, top={"version": 1},
        measured=False,
    ),
    "copilot": HostSettings(
        host="copilot", title="GitHub Copilot", program="copilot", project=".github/hooks/bobcat.json", user=None,
        event="preToolUse", grouped=False, command_key="bash", timeout_key="timeoutSec", timeout_unit=1,
        default_timeout=30, fields={"type": "command"}, fail_closed={}, top={"version": 1}, opens=tuple(FAILURES),
        measured=False,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Installed:
    """A hook of Bobcat in the settings of a host."""

    command: HookCommand
    hook: JsonObject
    group: JsonObject | None
    """The group of the hook, where hooks are grouped."""


class UnexpectedShape(Exception):
    """The settings have another shape than the host expects. The message names the place."""


def installed(settings: JsonObject, host: HostSettings, event: str | None = None) -> list[Installed]:
    """Return Bobcat's hooks at an event of the settings, by default that of calls. Raises `UnexpectedShape`."""
    found = []
    for group, hooks in _lists(settings, host, event or host.event):
        for hook in hooks:
            command = parse_command(hook.get(host.command_key)) if isinstance(hook, dict) else None
            if command is not None:
                found.append(Installed(command, hook, group))
    return found


def with_hook(settings: JsonObject, host: HostSettings, command: str, events: Collection[str] = ()) -> JsonObject:
    """Return the settings with one hook that runs `command`; a present one of Bobcat is changed in place.

    The hook is at the event of calls and at those of `events`, and at no other one. Raises `UnexpectedShape`.
    """
    settings = copy.deepcopy(settings)
    for event in host.events:
        if event == host.event or event in events:
            _put(settings, host, event, command)
        else:
            _take(settings, host, event)
    settings = {**host.top, **settings}
    if host.switch is not None:
        section = settings.setdefault(host.switch[0], {})
        if not isinstance(section, dict):
            raise UnexpectedShape(f"`{host.switch[0]}` is not an object")
        section[host.switch[1]] = True
    return settings


def _put(settings: JsonObject, host: HostSettings, event: str, command: str) -> None:
    wanted = host.hook(command)
    own = [found for found in installed(settings, host, event) if found.command.plain]
    covering = [found for found in own if found.group is None or covers_all(found.group.get("matcher"))]
    if covering:
        for key in ("async", "if"):  # the host would not wait for the hook, or run it for some calls only
            covering[0].hook.pop(key, None)
        covering[0].hook.update(wanted)
    for extra in own:
        if extra not in covering[:1]:
            extra.hook["\0"] = True
    _sweep(settings, host, event)
    if not covering:
        entry = {"matcher": "*", "hooks": [wanted]} if host.grouped else wanted
        settings.setdefault("hooks", {}).setdefault(event, []).append(entry)


def _take(settings: JsonObject, host: HostSettings, event: str) -> bool:
    """Remove Bobcat's hooks at an event; true if there were any."""
    own = [found for found in installed(settings, host, event) if found.command.plain]
    for found in own:
        found.hook["\0"] = True
    _sweep(settings, host, event)
    return bool(own)


def without_hook(settings: JsonObject, host: HostSettings) -> JsonObject:
    """Return the settings without Bobcat's hooks, and without the containers that this leaves empty.

    Raises `UnexpectedShape`.
    """
    settings = copy.deepcopy(settings)
    taken = [_take(settings, host, event) for event in host.events]
    if any(taken) and not settings.get("hooks") and host.switch is not None:
        section = settings.get(host.switch[0])
        if section == {host.switch[1]: True}:
            del settings[host.switch[0]]
    return settings


def covers_all(matcher: object) -> bool:
    """Return true if a matcher of a group matches every tool."""
    return matcher in (None, "", "*", ".*")


def _lists(settings: JsonObject, host: HostSettings, event: str) -> Iterator[tuple[JsonObject | None, list[Any]]]:
    """Yield the lists of hooks of an event, each with its group."""
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise UnexpectedShape("`hooks` is not an object")
    entries = hooks.get(event, [])
    if not isinstance(entries, list):
        raise UnexpectedShape(f"`hooks.{event}` is not a list")
    if not host.grouped:
        yield None, entries
        return
    for index, group in enumerate(entries):
        own = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(own, list):
            raise UnexpectedShape(f"`hooks.{event}[{index}]` has no list `hooks`")
        yield group, own


def _sweep(settings: JsonObject, host: HostSettings, event: str) -> None:
    """Remove the marked hooks, and the groups, lists and objects that are empty because of that."""
    swept = False
    for _, hooks in list(_lists(settings, host, event)):
        kept = [hook for hook in hooks if not (isinstance(hook, dict) and "\0" in hook)]
        swept = swept or len(kept) < len(hooks)
        if not kept and hooks:
            hooks[:] = ["\0"]  # the group goes as well
        else:
            hooks[:] = kept
    if not swept:
        return
    events = settings["hooks"]
    if host.grouped:
        events[event] = [group for group in events[event] if group["hooks"] != ["\0"]]
    elif events[event] == ["\0"]:
        events[event] = []
    if not events[event]:
        del events[event]
    if not events:
        del settings["hooks"]


def home_directory() -> Path | None:
    """Return the home directory; None if it is unknown."""
    home = os.path.expanduser("~")
    return Path(home) if os.path.isabs(home) else None
