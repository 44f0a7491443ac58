"""The report of each user error. Messages go to stderr, without a traceback."""

from __future__ import annotations

from typing import IO, Any

import click

from bobcat.cli.exit_codes import FINDINGS, NOT_ALLOWED, UNREADABLE


class InputError(click.ClickException):
    """An input that cannot be read or is rejected, or an output that cannot be written."""

    exit_code = UNREADABLE

    def __init__(self, message: str, *, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message on stderr."""
        from bobcat.text.display import safe_text

        click.echo(f"error: {safe_text(self.message)}", err=True)
        if self.help is not None:
            click.echo(f"help: {safe_text(self.help)}", err=True)


class NotAllowed(InputError):
    """A valid command that is not permitted."""

    exit_code = NOT_ALLOWED


def reason_of(error: OSError) -> str:
    """Return the operating system's message in Bobcat's style."""
    return (error.strerror or str(error)).lower()


def report_failure(error: Exception) -> int | None:
    """Report an error on stderr and return the exit code; None for an internal error."""
    from bobcat.errors import (
        BundleError,
        DecisionLogError,
        PolicyCompileError,
        RequestError,
        SourceError,
        UserCodeError,
    )
    from bobcat.text.display import safe_text

    match error:
        case PolicyCompileError():
            report = bool(error.diagnostics)  # has several lines
            click.echo(safe_text(error, multiline=report), err=True)
            return FINDINGS
        case BundleError():
            click.echo(f"error[{error.code}]: the bundle is refused: {safe_text(error)}", err=True)
            if error.code == "not_a_bundle":
                click.echo("help: `bobcat compile POLICY.yaml -o POLICY.bobcat` makes one", err=True)
            return UNREADABLE
        case RequestError():
            click.echo(f"error[{error.code}]: not a request: {safe_text(error)}", err=True)
            return UNREADABLE
        case DecisionLogError() | SourceError():
            click.echo(f"error[{error.code}]: {safe_text(error)}", err=True)
            return UNREADABLE
        case UserCodeError():
            InputError(str(error)).show()
            return UNREADABLE
        case OSError():
            name = f" `{safe_text(error.filename)}`" if error.filename else ""
            click.echo(f"error: {safe_text(reason_of(error))}{name}", err=True)
            return UNREADABLE
        case _:
            return None
