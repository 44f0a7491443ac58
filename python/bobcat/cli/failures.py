"""Exit codes, and how each error that a user can cause is reported. Messages go to stderr, without a traceback."""

from __future__ import annotations

from typing import IO, Any

import click

from bobcat.display import safe_text

FINDINGS = 1
USAGE = 2
UNREADABLE = 3
NOT_ALLOWED = 4
INTERRUPTED = 130


class InputError(click.ClickException):
    """An input that cannot be read or is refused, or an output that cannot be written."""

    exit_code = UNREADABLE

    def __init__(self, message: str, *, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message on stderr."""
        click.echo(f"error: {safe_text(self.message)}", err=True)
        if self.help is not None:
            click.echo(f"help: {safe_text(self.help)}", err=True)


class NotAllowed(InputError):
    """What was asked for is understood, and not allowed."""

    exit_code = NOT_ALLOWED


def reason_of(error: OSError) -> str:
    """What the operating system says, in our style."""
    return (error.strerror or str(error)).lower()


def report_failure(error: Exception) -> int | None:
    """Say on stderr what is wrong and return the exit code; None for an error that is ours, not the user's."""
    from bobcat.errors import BundleError, PolicyCompileError, RequestError

    match error:
        case PolicyCompileError():
            report = bool(error.diagnostics)  # has several lines
            click.echo(safe_text(error, multiline=report), err=True)
            return FINDINGS
        case BundleError():
            click.echo(f"error[{error.code}]: the bundle is refused: {safe_text(error)}", err=True)
            return UNREADABLE
        case RequestError():
            click.echo(f"error[{error.code}]: not a request: {safe_text(error)}", err=True)
            return UNREADABLE
        case OSError():
            name = f" `{safe_text(error.filename)}`" if error.filename else ""
            click.echo(f"error: {safe_text(reason_of(error))}{name}", err=True)
            return UNREADABLE
        case _:
            return None
