"""The options that select runs, for `bobcat runs list` and the commands that change many runs."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import click

from bobcat.cli.options import Decorated
from bobcat.stores.protocol import RunStatus
from bobcat.text.elapsed import span_of

if TYPE_CHECKING:
    from bobcat.workers.selection import RunFilter

STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)
FILTERS = ("statuses", "tenant", "kind", "older", "newer", "text")
"""Parameters of a command that `filter_options` adds."""


class Age(click.ParamType):  # type: ignore[type-arg]  # older releases have no parameter
    """A time span, such as `30d`."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:  # Any: click
        """Convert the option's text."""
        if isinstance(value, timedelta):
            return value
        try:
            return span_of(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Statuses(click.ParamType):  # type: ignore[type-arg]  # older releases have no parameter
    """Statuses, separated by commas."""

    name = "statuses"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[RunStatus, ...]:  # Any: click
        """Convert the option's text."""
        names = [name.strip() for name in value.split(",")]
        for name in names:
            if name not in STATUSES:
                self.fail(f"`{name}` is not one of {', '.join(STATUSES)}", param, ctx)
        return tuple(status for status in STATUSES if status in names)


status_option = partial(
    click.option, "--status", "statuses", type=Statuses(), multiple=True, metavar="STATUS[,STATUS...]"
)


def filter_options(command: Decorated) -> Decorated:
    """Add the options that select runs; `conditions_of` reads their values."""
    for decorate in (
        click.option("--text", metavar="TEXT", help="Only runs with TEXT in their id, task or error, in any case."),
        click.option("--newer", type=Age(), metavar="AGE", help="Only runs that changed within this time."),
        click.option(
            "--older", type=Age(), metavar="AGE", help="Only runs that have not changed for this time, such as 30d."
        ),
        click.option("--kind", metavar="NAME[@VERSION]", help="Only runs of this function of the app."),
        click.option("--tenant", metavar="NAME", help="Only runs of this tenant; `''`: those without one."),
        status_option(help="Only runs of these statuses; repeatable."),
    ):
        command = decorate(command)
    return command


def is_filtered(given: dict[str, Any]) -> bool:  # Any: values of options
    """Return true if one of the options is given."""
    return any(given[name] not in (None, ()) for name in FILTERS)


def conditions_of(
    given: dict[str, Any], now: datetime, *, statuses: tuple[RunStatus, ...] = ()
) -> RunFilter:  # Any: values of options
    """The conditions of the options at a time; `statuses` apply where `--status` is not given."""
    from bobcat.workers.selection import RunFilter

    try:
        before, since = (None if given[name] is None else now - given[name] for name in ("older", "newer"))
    except OverflowError as error:
        raise click.UsageError("--older or --newer is too long") from error
    chosen = {status for group in given["statuses"] for status in group} or set(statuses)
    return RunFilter(
        statuses=tuple(status for status in STATUSES if status in chosen),
        tenant=given["tenant"],
        kind=given["kind"],
        before=before,
        since=since,
        text=given["text"],
    )
