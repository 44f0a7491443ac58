"""`bobcat log verify | export | prune | checkpoint | proof`: maintenance of decision logs."""

from __future__ import annotations

import json
import os
from datetime import datetime
from typing import TYPE_CHECKING

import click

from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.inputs import read_bytes, read_private_key
from bobcat.cli.log import TimeParam
from bobcat.cli.options import format_option
from bobcat.cli.output import write_json
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.decision_log import Checkpoint

target_argument = click.argument("target", metavar="FILE_OR_URL")
key_option = click.option(
    "--key", "key_file", metavar="FILE", type=click.Path(dir_okay=False), help="The Ed25519 private key in FILE."
)


@click.command()
@target_argument
@click.option("--public-key", metavar="KEY", help="The Ed25519 public key, or a file with it: there must be "
              "a checkpoint, and each must have its signature.")  # fmt: skip
@click.option("--checkpoint", "checkpoint_file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True),
              help="A checkpoint that was kept elsewhere, as `bobcat log checkpoint` prints it.")  # fmt: skip
@format_option
def verify(target: str, public_key: str | None, checkpoint_file: str | None, output_format: str) -> int:
    """Verify a decision log: every hash, the chain, the end, and the checkpoints.

    Exits with 1 and names the first damaged line or entry.
    """
    from bobcat.decision_log import verify as verify_log
    from bobcat.decision_log.target import shown_target

    key = None if public_key is None else _public_key(public_key)
    kept = None if checkpoint_file is None else _checkpoint(checkpoint_file)
    report = verify_log(target, key, checkpoint=kept)
    if output_format == "json":
        write_json(report.to_json())
        return 0 if report.ok else FINDINGS
    for note in report.notes:
        click.echo(f"note: {safe_text(note)}", err=True)
    if report.damage is not None:
        click.echo(f"{safe_text(shown_target(target))}: {safe_text(report.damage)}")
        return FINDINGS
    pruned = f", after {report.pruned} pruned ones" if report.pruned else ""
    covered = f"; checkpoints cover entries up to {report.covered}" if report.covered else "; no checkpoint"
    intact = "1 entry is" if report.entries == 1 else f"{report.entries} entries are"
    click.echo(f"{safe_text(shown_target(target))}: {intact} intact{pruned}{covered}")
    return 0


@click.command()
@target_argument
@click.option(
    "-o", "--output", metavar="OUT", type=click.Path(dir_okay=False), help="Write to OUT, with the mode 0600."
)
def export(target: str, output: str | None) -> None:
    """Write the entries of a decision log as lines of JSON, in the form of a JSONL log."""
    from bobcat.decision_log import open_log
    from bobcat.decision_log.entry import row_line
    from bobcat.stores.private_files import create_private

    with open_log(target, must_exist=True, read_only=True) as log:
        lines = map(row_line, log.medium.rows())
        if output is None:
            for line in lines:
                click.echo(line)
            return
        if os.path.exists(f"{output}-head"):
            raise click.UsageError(f"`{output}` is a decision log: export to another file")
        draft = f"{output}.{os.getpid()}.part"
        try:
            create_private(draft)
            with open(draft, "w", encoding="ascii") as file:
                file.writelines(f"{line}\n" for line in lines)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, output)
        except OSError as error:
            if os.path.exists(draft):
                os.unlink(draft)
            if type(error) in (OSError, PermissionError, FileNotFoundError, IsADirectoryError):
                raise InputError(f"cannot write `{output}`: {reason_of(error)}") from error
            raise


@click.command()
@target_argument
@click.option("--before", type=TimeParam(), metavar="TIME", required=True, help="Entries before this time; UTC without "
              "a zone.")  # fmt: skip
@key_option
@format_option
def prune(target: str, before: datetime, key_file: str | None, output_format: str) -> None:
    """Remove the entries before a time, and append an entry that accounts for them.

    Entries of records that have later entries, that wait, or that are uncertain are kept in that entry. With --key, a
    checkpoint follows.
    """
    from bobcat.decision_log import open_log
    from bobcat.decision_log.target import shown_target

    key = None if key_file is None else read_private_key(key_file)
    with open_log(target, key, must_exist=True) as log:
        marker = log.prune(before)
        if key is not None and marker is not None:
            log.checkpoint()
    removed = 0 if marker is None else marker.body["removed"]
    kept = 0 if marker is None else len(marker.body["carried"])
    if output_format == "json":
        write_json({"removed": removed, "carried": kept, "seq": None if marker is None else marker.seq})
    else:
        name = safe_text(shown_target(target))
        click.echo(f"{name}: removed {removed} entries, {kept} of them kept for records that are not over")


@click.command()
@target_argument
@click.option("--key", "key_file", metavar="FILE", required=True, type=click.Path(dir_okay=False),
              help="The Ed25519 private key in FILE.")  # fmt: skip
def checkpoint(target: str, key_file: str) -> None:
    """Sign the Merkle root of all entries, append the checkpoint, and print it as JSON: keep it elsewhere."""
    from bobcat.decision_log import open_log

    with open_log(target, read_private_key(key_file), must_exist=True) as log:
        write_json(log.checkpoint().to_json())


@click.command()
@target_argument
@click.option("--entry", "seq", type=click.IntRange(1), metavar="SEQ", help="Prove that this entry is in the log.")
@click.option("--consistency", "old", type=click.IntRange(1), metavar="SIZE", help="Prove that the log of SIZE entries "
              "is its beginning.")  # fmt: skip
@click.option("--size", type=click.IntRange(1), metavar="SIZE", help="The log of SIZE entries, such as that of a "
              "checkpoint, instead of the whole one.")  # fmt: skip
def proof(target: str, seq: int | None, old: int | None, size: int | None) -> None:
    """Print an inclusion proof or a consistency proof (RFC 9162) as JSON."""
    from bobcat.decision_log import open_log

    if (seq is None) == (old is None):
        raise click.UsageError("either `--entry` or `--consistency` is needed")
    with open_log(target, must_exist=True, read_only=True) as log:
        if seq is not None:
            write_json(log.prove_inclusion(seq, size).to_json())
        elif old is not None:
            write_json(log.prove_consistency(old, size).to_json())


def _public_key(text: str) -> bytes | str:
    return read_private_key(text) if os.path.isfile(text) else text


def _checkpoint(path: str) -> Checkpoint:
    from bobcat.decision_log import Checkpoint

    data, name = read_bytes(path)
    try:
        return Checkpoint.from_json(json.loads(data))
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{name}: not a checkpoint: {error}") from error
