"""The listing of `bobcat log` for decision logs: one line per record, or one per entry."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.audit_file import POLL_SECONDS

if TYPE_CHECKING:
    from bobcat.decision_log import DecisionLog, LogEntry, LogRecord

VALUE_CHARS = 200
"""Characters of a value that are shown without `--full`."""


def show_log(
    target: str, *, statuses: tuple[str, ...], tools: tuple[str, ...], principal: str | None, since: datetime | None,
    limit: int | None, diverged: bool, entries: bool, follow: bool, full: bool, output_format: str,
) -> int:  # fmt: skip
    """Print the records or the entries of the log at a path or a URL."""
    from bobcat.decision_log import open_log
    from bobcat.decision_log.log import aware

    if entries and (statuses or tools or principal or diverged):
        raise click.UsageError(
            "`--status`, `--tool`, `--principal` and `--diverged` choose records: without `--entries`"
        )
    if diverged and follow:
        raise click.UsageError("`--diverged` groups what the log has: without `--follow`")
    since = None if since is None else aware(since)
    chars = None if full else VALUE_CHARS

    with open_log(target, must_exist=True, read_only=True) as log:
        try:
            if entries:
                for entry in _entries(log, since, limit, follow=follow):
                    _echo(entry.to_json(), entry_line(entry, chars), output_format)
                return 0
            if diverged:
                from bobcat.cli.log_diverged import show_divergences

                show_divergences(
                    log.records(statuses or None, tools or None, principal, since, limit, diverged=True), output_format
                )
                return 0
            last = _last_seq(log)
            for record in log.records(statuses or None, tools or None, principal, since, limit):
                _echo(record.to_json(), record_line(record, chars), output_format)
            for record in _changed(log, last) if follow else ():
                if record.matches(statuses or None, tools or None, principal, since):
                    _echo(record.to_json(), record_line(record, chars), output_format)
        except KeyboardInterrupt:
            if not follow:
                raise
    return 0


def record_line(record: LogRecord, limit: int | None = VALUE_CHARS) -> str:
    """Format one record for humans, safe to display. `limit` is per value, in characters."""
    from bobcat.text.display import safe_json, safe_name, safe_names, safe_text

    body = record.body
    at = record.updated.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    call = [f"{at}Z {safe_text(record.record_id)} {safe_text(record.status)}"]
    if record.tool is not None:
        call.append(f"{safe_name(record.tool, limit=limit)} {safe_json(body.get('args', {}), limit=limit)}")
    if record.principal:
        call.append(f"for {safe_name(record.principal.get('kind'))}:{safe_name(record.principal.get('id'))}")
    if "verdict" in body:
        call.append(f"-> {safe_text(body['verdict'])}")
    rules = body.get("matched_rules")
    if isinstance(rules, list) and rules:
        call.append(f"[{safe_names(rules)}]")
    call += [safe_text(body[name], limit=limit) for name in ("reason", "error") if body.get(name)]
    return " ".join(call)


def entry_line(entry: LogEntry, limit: int | None = VALUE_CHARS) -> str:
    """Format one entry for humans, safe to display."""
    from bobcat.text.display import safe_json, safe_text

    at = entry.at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    name = f" {safe_text(entry.record_id)}" if entry.record_id else ""
    body = " ".join(f"{safe_text(key)}={safe_json(value, limit=limit)}" for key, value in entry.body.items())
    return f"{at}Z #{entry.seq} {entry.hash[:12]}{name} {entry.kind} {body}".rstrip()


def _echo(data: dict[str, Any], line: str, output_format: str) -> None:  # Any: JSON
    if output_format == "json":
        from bobcat.text.json_text import json_text

        click.echo(json_text(data))
    else:
        click.echo(line)


def _entries(log: DecisionLog, since: datetime | None, limit: int | None, *, follow: bool) -> Iterator[LogEntry]:
    from collections import deque

    found = log.entries(since)
    last = 0
    for entry in found if limit is None else deque(found, maxlen=limit):
        yield entry
        last = entry.seq
    while follow:
        for entry in log.entries(since, after=last):
            yield entry
            last = entry.seq
        time.sleep(POLL_SECONDS)


def _last_seq(log: DecisionLog) -> int:
    stored = log.medium.stored().head
    return 0 if stored is None else stored.seq


def _changed(log: DecisionLog, last: int) -> Iterator[LogRecord]:
    """Yield every record that has entries behind `last`, each time it gets some, until interrupted."""
    while True:
        changed: dict[str, None] = {}
        for entry in log.entries(after=last):
            last = entry.seq
            if entry.record_id:
                changed[entry.record_id] = None
        for record_id in changed:
            record = log.record(record_id)
            if record is not None:
                yield record
        time.sleep(POLL_SECONDS)
