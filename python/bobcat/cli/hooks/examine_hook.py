"""The examination of one installed hook: its fields, its program, its policy, and its answers when it is fired."""

from __future__ import annotations

import json
import os
import shutil
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bobcat.cli.hooks.canary import Fired, canary_input, expected, fire, host_shell
from bobcat.cli.hooks.candidate import load_candidate
from bobcat.cli.hooks.examine_memory import remembering_findings
from bobcat.cli.hooks.report import Finding, Gate, HookReport
from bobcat.cli.hooks.settings import HostSettings, Installed, JsonObject, covers_all
from bobcat.errors import BundleError
from bobcat.model.decision import Verdict

DEADLINE = 5
"""Seconds after which the hook refuses by itself."""
_NO_CALL = b"{}"
_SOURCES = (".yaml", ".yml", ".json")


def examine_hook(found: Installed, host: HostSettings, file: Path, directory: Path, settings: JsonObject) -> HookReport:
    """Examine a hook in the settings of the file `file`, for a session in `directory`."""
    findings = [*_fields(found, host), *_program(found, host)]
    gate: Gate = "off"
    if not any(finding.level == "error" for finding in findings):
        bundle = list(_bundle(found, host))
        gate, fired = _fire(found, host, directory, broken=bool(bundle))
        findings += [*bundle, *fired]
        if not bundle:
            findings += [*_stale(found), *_within_reach(found, directory)]
            findings += _candidate(found)
            findings += remembering_findings(found, host, directory, settings)
    elif any(finding.code == "hook_missing" for finding in findings) and _closed(found, host, "missing"):
        gate = "refuses"
    return HookReport(str(file), found.command.text, gate, tuple(findings))


def _fields(found: Installed, host: HostSettings) -> Iterator[Finding]:
    hook, command = found.hook, found.command
    install = f"run `bobcat install {host.host}` again"
    if command.host != host.host:
        yield Finding("error", "wrong_host", f"the hook answers in the dialect of `{command.host}`", install)
    if "type" in host.fields and hook.get("type") != "command":
        yield Finding("error", "not_a_command", "the hook has no `type: command`, so that the host ignores it", install)
    if hook.get("async"):
        yield Finding("error", "asynchronous", "the hook is `async`: the host does not wait for its answer")
    if not command.plain:
        yield Finding(
            "warning", "not_plain", "the command line does more than run the hook, which may hide its exit code"
        )
    if found.group is not None and not covers_all(found.group.get("matcher")):
        matcher = json.dumps(found.group.get("matcher"))
        yield Finding("warning", "matcher", f"the matcher {matcher} leaves other tools without the gate", install)
    if "if" in hook:
        yield Finding("warning", "condition", f"the hook has the condition {json.dumps(hook['if'])}")
    for name, value in host.fail_closed.items():
        if hook.get(name) != value:
            said = f"`{name}` is not {json.dumps(value)}: the host runs the call when the hook fails"
            yield Finding("warning", "not_fail_closed", said, install)
    seconds = _timeout(hook.get(host.timeout_key), host)
    if seconds is None or seconds <= DEADLINE:
        said = "has no known default" if seconds is None else f"is {seconds:g} s"
        yield Finding("warning", "timeout", f"the timeout {said}; it must exceed {DEADLINE} s, the hook's own", install)


def _timeout(value: Any, host: HostSettings) -> float | None:  # Any: JSON
    if value is None:
        return host.default_timeout
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return value / host.timeout_unit


def _program(found: Installed, host: HostSettings) -> Iterator[Finding]:
    program = found.command.program
    if os.path.isabs(program) and not os.path.isfile(program):
        yield Finding("error", "hook_missing", f"`{program}` does not exist", f"run `bobcat install {host.host}` again")
    elif shutil.which(program) is None:
        yield Finding("error", "hook_missing", f"`{program}` cannot be executed")
    if found.command.policy is None:
        yield Finding("error", "no_policy", "the command line has no `--policy`")


def _bundle(found: Installed, host: HostSettings) -> Iterator[Finding]:
    path = found.command.policy or ""
    try:
        expected(host.host, found.command, canary_input(host.host, Path.cwd()))
    except OSError as error:
        yield Finding("error", "bundle", f"the bundle `{path}` cannot be read: {(error.strerror or '').lower()}")
    except BundleError as error:
        yield Finding("error", "bundle", f"the bundle `{path}` is refused: {error}")


def _fire(found: Installed, host: HostSettings, directory: Path, *, broken: bool) -> tuple[Gate, list[Finding]]:
    """Fire the hook at an input that is no call, then at the canary."""
    timeout = min(_timeout(found.hook.get(host.timeout_key), host) or 60.0, 60.0)

    def shot(text: bytes) -> Fired:
        shell = host_shell(host.host)
        return fire(found.command.text, text, shell=shell, host=host.host, directory=directory, timeout=timeout)

    try:
        empty = shot(_NO_CALL)
    except OSError as error:
        return "off", [Finding("error", "no_shell", f"the shell of {host.title} cannot be started: {error.strerror}")]
    if not empty.refused:
        failure = _failure(empty)
        said = f"an input that is not a call must end with exit code 2 and a line on stderr, not with {_end(empty)}"
        return ("refuses" if _closed(found, host, failure) else "off"), [Finding("error", "not_closed", said)]
    if broken:
        return "refuses", []
    text = canary_input(host.host, directory)
    wanted, verdict = expected(host.host, found.command, text)
    if verdict is Verdict.APPROVE_REQUIRED and found.command.has("--approvals"):
        return "on", []  # the canary would ask a person
    fired = shot(text)
    if fired.refused:
        return "refuses", [Finding("error", "refuses", f"the hook refuses every call: {fired.line()}")]
    if fired.code == 0 and _json(fired.out) == _json(wanted):
        notes = []
        if verdict in (Verdict.ALLOW, Verdict.TRANSFORM):
            notes.append(Finding("note", "allows_unknown", "the policy permits a tool that it does not know"))
        return "on", notes
    said = f"the hook does not answer as its policy decides (`{verdict}`), but with {_end(fired)}"
    return ("refuses" if _closed(found, host, _failure(fired)) else "off"), [Finding("error", "wrong_answer", said)]


def _within_reach(found: Installed, directory: Path) -> Iterator[Finding]:
    path = Path(os.path.realpath(found.command.policy or ""))
    if path.is_relative_to(os.path.realpath(directory)):
        said = f"the agent works in the directory of `{found.command.policy}`: deny changes of it, or keep it elsewhere"
        yield Finding("note", "within_reach", said)


def _candidate(found: Installed) -> Iterator[Finding]:
    """Read the candidate of a hook, whose answers do not depend on it."""
    path, policy = found.command.value("--candidate"), found.command.policy
    if path is None or policy is None:
        return
    from bobcat.bundle.load import load_bundle

    try:
        enforced = load_bundle(policy)
    except BundleError:
        return  # reported by its answer
    try:
        candidate = load_candidate(Path(path), enforced)
    except ValueError as error:
        yield Finding("warning", "candidate", f"no call is compared with the candidate: {error}")
    else:
        yield Finding(
            "note", "candidate", f"the log gets the calls that `{path}` ({candidate.policy.id[:12]}) decides otherwise"
        )


def _json(text: str) -> object:
    try:
        return json.loads(text) if text.strip() else None
    except ValueError:
        return text


def _failure(fired: Fired) -> str:
    match fired.code:
        case None:
            return "timeout"
        case 126 | 127:
            return "missing"
        case 0:
            return "no_json" if isinstance(_json(fired.out), str) else "answered"
        case _:
            return "crashed"


def _closed(found: Installed, host: HostSettings, failure: str) -> bool:
    """Return true if the host refuses the call after this failure."""
    settings = all(found.hook.get(name) == value for name, value in host.fail_closed.items())
    return settings and failure != "answered" and failure not in host.opens


def _end(fired: Fired) -> str:
    if fired.code is None:
        return "no answer in time"
    return f"exit code {fired.code} ({fired.line()})"


def _stale(found: Installed) -> Iterator[Finding]:
    """Compare the bundle with the source that it was compiled from, if that is beside it or below this directory."""
    from bobcat.bundle.load import load_bundle
    from bobcat.compiler import load_policy_file
    from bobcat.errors import PolicyCompileError, PolicyWarning

    path = Path(found.command.policy or "")
    bundle = load_bundle(path.read_bytes())
    names = [name for name in bundle.source_files if name.endswith(_SOURCES)]
    sources = [place for name in names for place in (path.parent / name, Path(name)) if place.is_file()]
    if len(names) != 1 or not sources or sources[0].stat().st_mtime <= path.stat().st_mtime:
        return
    compiled = f"run `bobcat compile {sources[0]} --output {path}`"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            current = load_policy_file(sources[0]).id
    except (PolicyCompileError, OSError, UnicodeDecodeError):
        yield Finding("warning", "stale", f"`{sources[0]}` is newer than the bundle, and does not compile")
        return
    if current != bundle.id:
        age = time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
        yield Finding("warning", "stale", f"`{sources[0]}` differs from the bundle of {age}", compiled)
