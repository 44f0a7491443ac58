"""`bobcat hook`: the hook command of a coding agent, in Python.

It gives the answers of the native `bobcat-hook` and is the oracle of its tests. INVARIANT: it ends with exit code 2 and
one line on stderr, which every host takes as a refusal, unless the whole answer has been written.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bobcat.cli.exit_codes import USAGE
from bobcat.cli.hooks.call import HOSTS, Call, HookError, Host

if TYPE_CHECKING:
    from bobcat.bundle import Policy

DEADLINE = 5
"""Seconds for reading, deciding and writing; the same as in `rust/hook/src/main.rs`."""
_USAGE = (
    "usage: bobcat hook HOST --policy FILE [--grant] [--log LOG] [--approvals STORE] [--state DIRECTORY]"
    " [--candidate FILE]"
)
_STOPS = ("SIGALRM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM")
_COMPILE = "compile it with `bobcat compile POLICY.yaml --output POLICY.bobcat`"


class _HookFailure(click.ClickException):
    """A refusal: exit code 2 and one line."""

    exit_code = USAGE

    def show(self, file: Any = None) -> None:  # Any: click's own
        """Print the line on stderr."""
        text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in self.message)
        click.echo(f"bobcat-hook: {text}", err=True)


class _HookCommand(click.Command):
    """A command whose usage errors are one line."""

    def make_context(self, *args: Any, **options: Any) -> click.Context:  # Any: click's own
        """Parse the arguments."""
        try:
            return super().make_context(*args, **options)
        except click.UsageError as error:
            raise _HookFailure(f"{error.format_message()} {_USAGE}") from error


@click.command(cls=_HookCommand)
@click.argument("host", type=click.Choice(HOSTS))
@click.option("--policy", required=True, metavar="FILE", type=Path, help="The bundle that decides.")
@click.option("--grant", is_flag=True, help="Answer `allow` where the policy allows; by default the host still asks.")
@click.option("--log", metavar="LOG", help="A decision log: FILE.jsonl, another path for SQLite, or a URL.")
@click.option("--approvals", metavar="STORE", help="Ask for approvals in this store, a URL as `--store` takes.")
@click.option("--state", metavar="DIRECTORY", type=Path, help="Where a policy that remembers keeps sessions.")
@click.option("--candidate", metavar="FILE", type=Path, help="A bundle whose other decisions the log gets.")
def hook(
    host: Host,
    policy: Path,
    *,
    grant: bool,
    log: str | None,
    approvals: str | None,
    state: Path | None,
    candidate: Path | None,
) -> None:
    """Decide on the tool call that HOST writes to standard input, and answer in its dialect.

    For a policy that remembers, the calls of a session are on record in a directory. Results of calls and the user's
    words, where the host reports them, are recorded there, too.

    The native `bobcat-hook` does the same without Python, and is what `bobcat install` writes into a host's settings.
    Exits with 0 when the whole answer is written, otherwise with 2.
    """
    try:
        if candidate is not None and log is None:
            raise HookError(f"--candidate needs --log, which gets its divergences; {_USAGE}")
        _watch()
        loaded = _loaded(policy)
        text = sys.stdin.buffer.read()  # here: a thread that reads it would block the end of the process
        options = _Options(grant, log, approvals, state, candidate)
        _write(_in_thread(lambda: _handle(host, text, loaded, options)))
    except HookError as error:
        raise _HookFailure(str(error)) from error
    except BaseException as error:  # nothing may end this command with another exit code
        raise _HookFailure(f"the hook failed: {type(error).__name__}: {error}") from error
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)  # the signals stay refusals until the process ends


def _in_thread(work: Callable[[], str]) -> str:
    """Return the result of `work`, or raise its exception.

    A thread: the main one must be free for signals, while a database waits for a lock or an event loop runs.
    """
    result: list[str] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:  # raised again in the main thread
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    done.wait()
    if errors:
        raise errors[0]
    return result[0]


@dataclass(frozen=True, slots=True)
class _Options:
    grant: bool
    log: str | None
    approvals: str | None
    state: Path | None
    candidate: Path | None = None


def _handle(host: Host, text: bytes, policy: Policy, options: _Options) -> str:
    """Answer a call, or record the result of one or the user's words, without an answer. Raises `HookError`."""
    from bobcat.cli.hooks.call_result import CallResult, UserTask, read_input

    given = read_input(host, text)
    if isinstance(given, Call):
        return _answer(given, policy, options)
    from bobcat.cli.hooks.remember import record_result, record_task

    match given:
        case CallResult():
            record_result(policy, given, options.state)
        case UserTask():
            record_task(policy, given, options.state)
    return ""


def _answer(call: Call, policy: Policy, options: _Options) -> str:
    """Decide, record the decision, and return the text of the answer. Raises `HookError`."""
    from bobcat.cli.hooks.answer import choose, render
    from bobcat.cli.hooks.remember import remembering
    from bobcat.model.decision import Verdict

    with remembering(policy, call, options.state) as memory:
        decision = decided = memory.decide(call.request)
        asked = memory.with_task(call.request)
        more: Mapping[str, Any] = {}  # Any: JSON
        diverged = []
        compares = options.candidate is not None or b'"mode":"monitor"' in policy.ir_bytes
        if options.log is not None and compares:
            from bobcat.cli.hooks.candidate import divergences

            diverged = divergences(options.candidate, policy, (asked, decided), memory.state)
        if options.approvals is not None and decision.verdict is Verdict.APPROVE_REQUIRED:
            from bobcat.cli.hooks.approving import settle

            settled = settle(options.approvals, memory, decision, grant=options.grant)
            chosen, decision, more = settled.answer, settled.decision, settled.more
        else:
            chosen = choose(call, decision, grant=options.grant)
        text = render(call, chosen, grant=options.grant)
        if chosen.kind != "deny":
            memory.record(decision)
    if options.log is not None:
        from bobcat.cli.hooks.record import Recorded, record

        if diverged:
            more = {**more, "diverged": diverged}
        record(options.log, call, chosen, Recorded(policy.id, decision, more))
    return text


def _loaded(path: Path) -> Policy:
    from bobcat.bundle.load import is_bundle, load_bundle
    from bobcat.errors import BundleError

    try:
        data = path.read_bytes()
    except OSError as error:
        raise HookError(f"cannot read the policy `{path}`: {error.strerror}") from error
    if not is_bundle(data):
        raise HookError(f"the policy `{path}` is not a bundle; {_COMPILE}")
    try:
        return load_bundle(data)
    except BundleError as error:
        raise HookError(f"the bundle `{path}` is refused: {error}; {_COMPILE}") from error


def _write(text: str) -> None:
    if not text:
        return
    found = os.fstat(1)
    # A closed descriptor has been replaced by the null device, which discards the answer.
    if stat.S_ISCHR(found.st_mode) and found.st_rdev == os.stat(os.devnull).st_rdev:
        raise HookError("standard output is closed or the null device; the call is refused")
    data = f"{text}\n".encode()
    while data:
        data = data[os.write(1, data) :]


def _watch() -> None:
    """Turn the deadline and the signals that end a process into refusals."""

    def stop(number: int, _frame: object) -> NoReturn:
        name = signal.Signals(number).name
        raise HookError(f"no answer within {DEADLINE} s" if name == "SIGALRM" else f"{name} ended the hook")

    for name in _STOPS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, DEADLINE)
