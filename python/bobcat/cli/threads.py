"""`bobcat threads`: the threads of a store: list, show, rename, archive, delete, purge, export and import them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from bobcat.cli.failures import InputError, NotAllowed
from bobcat.cli.options import format_option
from bobcat.cli.output import echo_line, show_list, show_rows, write_json
from bobcat.cli.store import store_option, with_store
from bobcat.text.display import safe_name, safe_text

if TYPE_CHECKING:
    from bobcat.stores.protocol import DurableStore
    from bobcat.threads import ThreadInfo, Threads

T = TypeVar("T")
REFUSED = frozenset({"busy", "deleted", "exists", "expired", "file_exists", "importing"})
"""Codes of commands that are valid, but not permitted now."""


@click.group()
def threads() -> None:
    """List, show, rename, archive, delete, purge, export and import threads."""


@threads.command("list")
@store_option
@click.option("--archived", is_flag=True, help="List the archived threads instead.")
@click.option("--all", "everything", is_flag=True, help="List archived threads, too.")
@click.option("--deleted", is_flag=True, help="List the deleted threads instead, until they are purged.")
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Maximum number of threads.",
)
@click.option("--after", default="", metavar="ID", help="Only threads with ids after this one.")
@format_option
def list_(
    store_url: str, *, archived: bool, everything: bool, deleted: bool, limit: int, after: str, output_format: str
) -> None:
    """List threads by id."""
    if archived + everything + deleted > 1:
        raise click.UsageError("--archived, --all and --deleted exclude each other")
    chosen = None if everything else archived
    found = _with_threads(
        store_url, lambda threads: threads.list(archived=chosen, deleted=deleted, limit=limit, after=after)
    )
    kind = "archived " if archived else "deleted " if deleted else ""
    show_list(found, output_format, _line, none=f"no {kind}threads")


@threads.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def show(id: str, store_url: str, output_format: str) -> None:
    """Show one thread."""
    _show(_with_threads(store_url, lambda threads: threads.get(id)), output_format)


@threads.command()
@click.argument("id", metavar="ID")
@click.argument("title", metavar="TITLE")
@store_option
@format_option
def rename(id: str, title: str, store_url: str, output_format: str) -> None:
    """Give a thread another title."""
    _show(_with_threads(store_url, lambda threads: threads.rename(id, title)), output_format)


@threads.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def archive(id: str, store_url: str, output_format: str) -> None:
    """Leave a thread out of the list. It still takes messages."""
    _show(_with_threads(store_url, lambda threads: threads.archive(id)), output_format)


@threads.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def unarchive(id: str, store_url: str, output_format: str) -> None:
    """Put an archived thread into the list again."""
    _show(_with_threads(store_url, lambda threads: threads.unarchive(id)), output_format)


@threads.command()
@click.argument("id", metavar="ID")
@click.option(
    "--keep-days",
    type=click.FloatRange(0),
    default=30,
    show_default=True,
    metavar="N",
    help="Days for which it can be restored.",
)
@store_option
@format_option
def delete(id: str, keep_days: float, store_url: str, output_format: str) -> None:
    """Delete a thread. It is hidden, and `purge` erases it after its retention."""
    _show(_with_threads(store_url, lambda threads: threads.delete(id, keep_days=keep_days)), output_format)


@threads.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def restore(id: str, store_url: str, output_format: str) -> None:
    """Take the deletion of a thread back, within its retention."""
    _show(_with_threads(store_url, lambda threads: threads.restore(id)), output_format)


@threads.command()
@click.option("--dry-run", is_flag=True, help="Only show what would be erased.")
@store_option
@format_option
def purge(store_url: str, *, dry_run: bool, output_format: str) -> None:
    """Erase the deleted threads whose retention has ended, for good."""
    report = _with_threads(store_url, lambda threads: threads.purge(dry_run=dry_run))
    if output_format == "json":
        write_json(report.to_json())
        return
    for id in report.erased:
        echo_line(f"{safe_text(id)}  {'would be erased' if dry_run else 'erased'}")
    for id in report.busy:
        echo_line(f"{safe_text(id)}  waits: a turn is in progress")
    if report.attachments:
        echo_line(f"{report.attachments:,} attachment{'' if report.attachments == 1 else 's'} of no other thread")
    if not report.erased and not report.busy:
        click.echo("no threads to erase", err=True)


@threads.command()
@click.argument("id", metavar="ID")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@store_option
def export(id: str, file: Path, store_url: str) -> None:
    """Write a thread to the new file FILE."""
    _with_threads(store_url, lambda threads: threads.export(id, file))
    echo_line(f"{safe_text(id)} is in {safe_text(file)}")


@threads.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@store_option
@format_option
def import_(file: Path, store_url: str, output_format: str) -> None:
    """Read a thread from FILE, which `export` wrote. The whole file is checked first."""
    _show(_with_threads(store_url, lambda threads: threads.import_(file), must_exist=False), output_format)


def _line(each: ThreadInfo) -> str:
    turns = f"{each.turns:,} turn{'' if each.turns == 1 else 's'}"
    note = "" if each.kept_until is None else f"  kept until {_time(each.kept_until)}"
    note = f"{'  archived' if each.archived else ''}{note}"
    return f"{safe_text(each.id)}  {turns}  {_time(each.updated)}  {safe_text(each.title)}{note}"


def _show(found: ThreadInfo, output_format: str) -> None:
    if output_format == "json":
        write_json(found.to_json())
        return
    times = {"created": found.created, "updated": found.updated}
    times |= {"deleted": found.deleted, "kept until": found.kept_until} if found.deleted and found.kept_until else {}
    show_rows(
        [
            ("thread", safe_text(found.id) + (", archived" if found.archived else "")),
            ("title", safe_text(found.title)),
            ("turns", f"{found.turns:,}"),
            *((name, time.isoformat(timespec="seconds")) for name, time in times.items()),
        ]
    )


def _time(moment: object) -> str:
    return format(moment, "%Y-%m-%d %H:%M")


def _with_threads(store_url: str, work: Callable[[Threads], Awaitable[T]], *, must_exist: bool = True) -> T:
    """Call `work` with the threads of a store. Their errors are those of an input."""
    from bobcat.errors import AttachmentError, ThreadError
    from bobcat.threads import Threads

    async def main(store: DurableStore) -> T:
        return await work(Threads(store))

    try:
        return with_store(store_url, main, must_exist=must_exist)
    except (ThreadError, AttachmentError) as error:
        failure = NotAllowed if error.code in REFUSED else InputError
        raise failure(f"{safe_name(str(error))} ({error.code})") from error
