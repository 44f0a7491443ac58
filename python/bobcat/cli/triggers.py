"""`bobcat triggers`: list, show, confirm, withdraw and stop the triggers of a store."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.app_object import load_app
from bobcat.cli.failures import InputError
from bobcat.cli.json_document import json_text
from bobcat.cli.options import format_option
from bobcat.cli.output import echo_json, echo_line, show_list, show_rows, write_json
from bobcat.cli.store import store_option, with_store
from bobcat.logs.python_output import safe_python_output
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from bobcat.stores.protocol import DurableStore
    from bobcat.triggers import Trigger, Triggers, WorkerTriggers


def _complete_id(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids of the triggers in the store; none where it cannot be read."""
    from click.shell_completion import CompletionItem

    url = ctx.params.get("store_url") or os.environ.get("BOBCAT_STORE")
    if not url:
        return []
    try:
        found = _call(url, lambda client: client.list())
    except Exception:  # completion prints no errors
        return []
    return [
        CompletionItem(each.id, help=f"{each.state} {safe_text(each.name)}")
        for each in found
        if each.id.startswith(incomplete)
    ]


id_argument = click.argument("id", metavar="ID", shell_complete=_complete_id)


@click.group()
def triggers() -> None:
    """List, show, confirm, withdraw and stop triggers: runs that start by themselves, after the consent of a user."""


@triggers.command("list")
@store_option
@click.option("--state", type=click.Choice(["proposed", "active", "paused", "withdrawn", "done", "deleted"]),
              help="Only those in this state.")  # fmt: skip
@format_option
def list_(store_url: str, state: Any, output_format: str) -> None:
    """List triggers."""
    found = _call(store_url, lambda client: client.list(state=state))
    show_list(found, output_format, _line, none="no triggers")


@triggers.command()
@id_argument
@store_option
@click.option("--app", metavar="APP", help="Show the digests with the tools and policy of this workers' app.")
@format_option
@safe_python_output()
def show(id: str, store_url: str, app: str | None, output_format: str) -> None:
    """Show a trigger: its payload, its times, and the digest that a consent is bound to."""
    from bobcat.triggers import Triggers
    from bobcat.triggers.binding import PARTS

    engine = None if app is None else _engine(app)

    async def work(store: DurableStore) -> tuple[Trigger, dict[str, str], str | None]:
        client = Triggers(store, engine)
        trigger = await client.get(id)
        return trigger, await client.digests(id), await client.digest(id)

    trigger, digests, digest = with_store(store_url, work)
    if output_format == "json":
        write_json({**trigger.to_json(), "digests": digests, "digest": digest})
        return
    echo_line(_line(trigger))
    covered = ", ".join(f"{part} {digests[part][:12]}" for part in PARTS if part in digests)
    unknown = "unknown until a worker has seen the trigger, or with --app"
    show_rows(
        [
            ("thread", safe_text(trigger.thread)),
            ("tenant", safe_text(trigger.tenant)),
            ("time zone", safe_text(trigger.timezone) if trigger.when == "cron" else None),
            ("catch-up", trigger.catch_up),
            ("consent", None if trigger.consent is None else safe_text(trigger.consent.by.id)),
            ("digest", digest or unknown),
            ("covers", safe_text(covered)),
        ]
    )
    write_json(dict(trigger.payload))


@triggers.command()
@id_argument
@store_option
@click.option("--app", metavar="APP", help="The workers' app, whose tools and policy are bound.")
@click.option("--digest", metavar="DIGEST", help="Refuse unless this is the digest that `show` prints.")
@click.option("--by", required=True, metavar="NAME", help="The user who consents.")
@format_option
@safe_python_output()
def confirm(id: str, store_url: str, *, app: str | None, digest: str | None, by: str, output_format: str) -> None:
    """Consent to a trigger, with its present payload, schedule, tools and policy. Needs --digest or --app."""
    from bobcat.model.decision import Principal
    from bobcat.triggers import Triggers

    if app is None and digest is None:
        raise click.UsageError("pass --digest with the digest that `bobcat triggers show` prints, or --app")
    engine = None if app is None else _engine(app)
    work = lambda store: Triggers(store, engine).confirm(id, by=Principal("user", by), digest=digest)  # noqa: E731
    _print(with_store(store_url, work), output_format)


@triggers.command()
@id_argument
@store_option
@click.option("--reason", default="withdrawn by hand", show_default=True, metavar="TEXT", help="The reason on record.")
@format_option
def withdraw(id: str, store_url: str, reason: str, output_format: str) -> None:
    """Take back the consent to a trigger; its queued firings do not run either."""
    _print(_call(store_url, lambda client: client.withdraw(id, reason=reason)), output_format)


@triggers.command()
@id_argument
@store_option
@format_option
def pause(id: str, store_url: str, output_format: str) -> None:
    """Queue no further firings of a trigger."""
    _print(_call(store_url, lambda client: client.pause(id)), output_format)


@triggers.command()
@id_argument
@store_option
@format_option
def resume(id: str, store_url: str, output_format: str) -> None:
    """Continue a paused trigger."""
    _print(_call(store_url, lambda client: client.resume(id)), output_format)


@triggers.command()
@id_argument
@store_option
@format_option
def delete(id: str, store_url: str, output_format: str) -> None:
    """Delete a trigger; its queued firings do not run either."""
    _print(_call(store_url, lambda client: client.delete(id)), output_format)


@triggers.command()
@id_argument
@store_option
@format_option
def history(id: str, store_url: str, output_format: str) -> None:
    """List the times of a trigger that were queued or skipped."""
    found = _call(store_url, lambda client: client.history(id))
    line = lambda each: f"{each.due.isoformat()}  {each.outcome}  {safe_text(each.run_id or each.reason)}"  # noqa: E731
    show_list(found, output_format, line, none="no firings")


@triggers.command()
@id_argument
@store_option
def events(id: str, store_url: str) -> None:
    """Print the changes of a trigger as audit events, one JSON line each, for `bobcat log -`."""
    from bobcat.sinks.lines import event_record

    for event in _call(store_url, lambda client: client.events(id)):
        echo_json(json_text(event_record(event)))


def _engine(app: str) -> WorkerTriggers:
    from bobcat.triggers import WorkerTriggers

    engine = load_app(app).triggers
    if not isinstance(engine, WorkerTriggers):
        raise InputError("the app has no WorkerTriggers")
    return engine


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
