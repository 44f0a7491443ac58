"""`bobcat triggers`: list, show, confirm and stop the triggers of a store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.failures import InputError
from bobcat.cli.named_object import load_app
from bobcat.cli.options import format_option
from bobcat.cli.output import echo_line, write_json
from bobcat.cli.python_output import safe_python_output
from bobcat.cli.store import store_option, with_store
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.triggers import Trigger, Triggers


@click.group()
def triggers() -> None:
    """List, show, confirm and stop triggers: runs that start by themselves, after the consent of a user."""


@triggers.command("list")
@store_option
@click.option("--state", type=click.Choice(["proposed", "active", "paused", "withdrawn", "done", "deleted"]),
              help="Only those in this state.")  # fmt: skip
@format_option
def list_(store_url: str, state: Any, output_format: str) -> None:
    """List triggers."""
    found = _call(store_url, lambda client: client.list(state=state))
    if output_format == "json":
        write_json([trigger.to_json() for trigger in found])
        return
    for trigger in found:
        echo_line(_line(trigger))
    if not found:
        click.echo("no triggers", err=True)


@triggers.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def show(id: str, store_url: str, output_format: str) -> None:
    """Show a trigger with its payload."""
    trigger = _call(store_url, lambda client: client.get(id))
    _print(trigger, output_format)
    if output_format == "text":
        write_json(dict(trigger.payload))


@triggers.command()
@click.argument("id", metavar="ID")
@store_option
@click.option("--app", required=True, metavar="APP", help="The workers' app, whose tools and policy are bound.")
@click.option("--by", required=True, metavar="NAME", help="The user who consents.")
@format_option
@safe_python_output()
def confirm(id: str, store_url: str, app: str, by: str, output_format: str) -> None:
    """Consent to a trigger, with its present payload, schedule, tools and policy."""
    from bobcat.model.decision import Principal
    from bobcat.triggers import Triggers, WorkerTriggers

    engine = load_app(app).triggers
    if not isinstance(engine, WorkerTriggers):
        raise InputError("the app has no WorkerTriggers")
    work = lambda store: Triggers(store, engine).confirm(id, by=Principal("user", by))  # noqa: E731
    _print(with_store(store_url, work), output_format)


@triggers.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def pause(id: str, store_url: str, output_format: str) -> None:
    """Queue no further firings of a trigger."""
    _print(_call(store_url, lambda client: client.pause(id)), output_format)


@triggers.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def resume(id: str, store_url: str, output_format: str) -> None:
    """Continue a paused trigger."""
    _print(_call(store_url, lambda client: client.resume(id)), output_format)


@triggers.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def delete(id: str, store_url: str, output_format: str) -> None:
    """Delete a trigger; its queued firings do not run either."""
    _print(_call(store_url, lambda client: client.delete(id)), output_format)


@triggers.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def history(id: str, store_url: str, output_format: str) -> None:
    """List the times of a trigger that were queued or skipped."""
    found = _call(store_url, lambda client: client.history(id))
    if output_format == "json":
        write_json([firing.to_json() for firing in found])
        return
    for firing in found:
        echo_line(f"{firing.due.isoformat()}  {firing.outcome}  {safe_text(firing.run_id or firing.reason)}")
    if not found:
        click.echo("no firings", err=True)


def _call(store_url: str, work: Callable[[Triggers], Awaitable[Any]]) -> Any:  # Any: the result of the work
    from bobcat.triggers import Triggers

    return with_store(store_url, lambda store: work(Triggers(store)))


def _print(trigger: Trigger, output_format: str) -> None:
    if output_format == "json":
        write_json(trigger.to_json())
    else:
        echo_line(_line(trigger))


def _line(trigger: Trigger) -> str:
    next_ = "" if trigger.next is None else f"  next {trigger.next.isoformat()}"
    reason = f"  ({safe_text(trigger.reason or trigger.error)})" if trigger.reason or trigger.error else ""
    when = f"{trigger.when} {safe_text(trigger.expression)}"
    by = f"{trigger.by.kind} {safe_text(trigger.by.id)}"
    return f"{safe_text(trigger.id)}  {trigger.state}  {safe_text(trigger.name)}  {when}  by {by}{next_}{reason}"
