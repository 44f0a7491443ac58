"""`bobcat spend`: what runs have spent, and the reservations that are not settled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sized
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import click
from click.core import ParameterSource

from bobcat.cli.failures import InputError, NotAllowed
from bobcat.cli.log import TimeParam
from bobcat.cli.options import format_option
from bobcat.cli.output import echo_line, show_list, write_json
from bobcat.cli.store import since as age
from bobcat.text.display import safe_name

if TYPE_CHECKING:
    from bobcat.ledger import Ledger, Reservation, Spending

T = TypeVar("T")
GROUPS = ("run", "thread", "principal", "tenant", "day", "month", "model")
MOST_LINES = 10_000


@click.command()
@click.argument("store", metavar="STORE")
@click.option("--by", type=click.Choice(GROUPS), default="day", show_default=True, help="One line for each of these.")
@click.option("--since", type=TimeParam(), metavar="TIME", help="Calls made at this time or later.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1, MOST_LINES), default=100, show_default=True, help="Most lines."
)
@click.option("--unsettled", is_flag=True, help="List the reservations that are neither committed nor released.")
@click.option("--commit", "committed", metavar="ID", help="Count this reservation as spent, in full.")
@click.option("--release", "released", metavar="ID", help="Give back this reservation: its call was not made.")
@format_option
def spend(
    store: str, *, by: str, since: datetime | None, limit: int, unsettled: bool, committed: str | None,
    released: str | None, output_format: str,
) -> None:  # fmt: skip
    """Show what the calls in the ledger STORE have spent, or settle a reservation that a process left.

    STORE is the path of a SQLite file, sqlite:///PATH or postgres://... Days and months are those of UTC.
    """
    _check_options(unsettled=unsettled, settles=committed is not None or released is not None)
    if committed is not None:
        reservation = _with_ledger(store, lambda ledger: ledger.commit(committed))
        return _show_settled(reservation.id, "spent", output_format)
    if released is not None:
        _with_ledger(store, lambda ledger: ledger.release(released))
        return _show_settled(released, "released", output_format)
    if unsettled:
        left = _with_ledger(store, lambda ledger: ledger.unsettled(limit=limit + 1))
        _show_unsettled(left[:limit], output_format)
        return _note_more(left, limit)
    found = _with_ledger(store, lambda ledger: ledger.spending(by, since=since, limit=limit + 1))
    _show_spending(found[:limit], output_format)
    return _note_more(found, limit)


def _check_options(*, unsettled: bool, settles: bool) -> None:
    """Refuse options that would have no effect."""
    context = click.get_current_context()
    given = [name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if len({"unsettled", "committed", "released"} & set(given)) > 1:
        raise click.UsageError("--unsettled, --commit and --release exclude each other")
    other = "--unsettled" if unsettled else "--commit and --release"
    without_effect = {"by", "since"} if unsettled else {"by", "since", "limit"} if settles else set()
    for name in given:
        if name in without_effect:
            raise click.UsageError(f"--{name} has no effect with {other}")


def _note_more(found: Sized, limit: int) -> None:
    if len(found) > limit:
        click.echo(f"there are more lines than {limit:,}: raise --limit", err=True)


def _show_spending(found: list[Spending], output_format: str) -> None:
    from bobcat.ledger.amounts import dollars

    def line(row: Spending) -> str:
        held = f"  {dollars(row.reserved_usd)} reserved" if row.reserved_usd or row.reserved_tokens else ""
        calls = f"{row.calls:,} call{'' if row.calls == 1 else 's'}"
        return f"{safe_name(row.name) or '-'}  {dollars(row.usd)}  {row.tokens:,} tokens  {calls}{held}"

    show_list(found, output_format, line, none="nothing was spent")


def _show_unsettled(found: list[Reservation], output_format: str) -> None:
    from bobcat.ledger.amounts import dollars

    now = datetime.now(UTC)

    def line(each: Reservation) -> str:
        of = safe_name(each.run or each.thread or each.principal or each.tenant) or "-"
        model = f"  {safe_name(each.model)}" if each.model else ""
        return f"{each.id}  {age(each.created, now)} ago  {of}  {dollars(each.usd)}  {each.tokens:,} tokens{model}"

    show_list(found, output_format, line, none="every reservation is settled")


def _show_settled(id: str, state: str, output_format: str) -> None:
    if output_format == "json":
        write_json({"id": id, "state": state})
    else:
        echo_line(f"{id}  {state}")


def _with_ledger(place: str, work: Callable[[Ledger], Awaitable[T]]) -> T:
    """Call `work` with the ledger, and close it. Errors of it are those of an input."""
    from bobcat.ledger import Ledger, LedgerError

    async def main() -> T:
        async with Ledger(place, must_exist=True) as ledger:
            return await work(ledger)

    try:
        return asyncio.run(main())
    except LedgerError as error:
        failure = NotAllowed if error.code == "settled" else InputError
        raise failure(f"{safe_name(str(error))} ({error.code})") from error
    except ModuleNotFoundError as error:
        raise InputError(str(error)) from error
