"""`bobcat hook`: the hook command of a coding agent, in Python.

It gives the answers of the native `bobcat-hook` and is the oracle of its tests. INVARIANT: it ends with exit code 2 and
one line on stderr, which every host takes as a refusal, unless the whole answer has been written.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from bobcat.cli.failures import USAGE
from bobcat.cli.hooks.answer import answer
from bobcat.cli.hooks.call import HOSTS, HookError, Host, read_call

DEADLINE = 5
"""Seconds for reading, deciding and writing; the same as in `rust/hook/src/main.rs`."""
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
            raise _HookFailure(f"{error.format_message()} usage: bobcat hook HOST --policy FILE [--grant]") from error


@click.command(cls=_HookCommand)
@click.argument("host", type=click.Choice(HOSTS))
@click.option("--policy", required=True, metavar="FILE", type=Path, help="The bundle that decides.")
@click.option("--grant", is_flag=True, help="Answer `allow` where the policy allows; by default the host still asks.")
def hook(host: Host, policy: Path, grant: bool) -> None:
    """Decide on the tool call that HOST writes to standard input, and answer in its dialect.

    The native `bobcat-hook` does the same without Python, and is what `bobcat install` writes into a host's settings.
    Exits with 0 when the whole answer is written, otherwise with 2.
    """
    try:
        _watch()
        _write(_decided(host, policy, grant=grant))
    except HookError as error:
        raise _HookFailure(str(error)) from error
    except BaseException as error:  # nothing may end this command with another exit code
        raise _HookFailure(f"the hook failed: {type(error).__name__}: {error}") from error
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)  # the signals stay refusals until the process ends


def _decided(host: Host, policy: Path, *, grant: bool) -> str:
    from bobcat.bundle.load import is_bundle, load_bundle
    from bobcat.errors import BundleError
    from bobcat.pdp import evaluate

    try:
        data = policy.read_bytes()
    except OSError as error:
        raise HookError(f"cannot read the policy `{policy}`: {error.strerror}") from error
    if not is_bundle(data):
        raise HookError(f"the policy `{policy}` is not a bundle; {_COMPILE}")
    try:
        bundle = load_bundle(data)
    except BundleError as error:
        raise HookError(f"the bundle `{policy}` is refused: {error}; {_COMPILE}") from error
    call = read_call(host, sys.stdin.buffer.read())
    return answer(call, evaluate(bundle, call.request), grant=grant)


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
