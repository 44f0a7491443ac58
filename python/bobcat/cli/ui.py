"""`bobcat ui`: the runs and approvals of a store in a browser."""

from __future__ import annotations

import secrets
import ssl
from typing import TYPE_CHECKING

import click

from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.inputs import decode, read_bytes
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.ui.access import Holder


@click.command()
@click.argument("store", metavar="STORE", envvar="BOBCAT_STORE")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="The port; 0: a free one.")
@click.option("--allow-answers", is_flag=True, help="Let approvers grant and deny; without it, pages only show.")
@click.option("--approver", metavar="NAME", help="The approver as whom the holder of the printed token answers.")
@click.option("--token-file", metavar="FILE", help="Tokens, one a line: `TOKEN`, or `NAME TOKEN` for an approver.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME[:PORT]",
              help="A further name in the address of the browser, such as that of a proxy; repeatable.")  # fmt: skip
@click.option("--tls-cert", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="A certificate: HTTPS.")
@click.option("--tls-key", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="The certificate's key.")
@click.option("--insecure", is_flag=True, help="Listen beyond this machine without TLS: tokens can be read on the way.")
def ui(
    store: str, *, host: str, port: int, allow_answers: bool, approver: str | None, token_file: str | None,
    hosts: tuple[str, ...], tls_cert: str | None, tls_key: str | None, insecure: bool,
) -> None:  # fmt: skip
    """Show the runs, timelines and approvals of STORE in a browser, until Ctrl-C or SIGTERM.

    STORE is a URL, as for `--store`. The address with a token is printed once; the pages only show, unless
    `--allow-answers` is given.

    Example: bobcat ui sqlite:///runs.db --allow-answers --approver alice
    """
    try:
        from bobcat.ui.serve import Listening, serve_ui
    except ImportError as error:
        raise InputError(str(error)) from error
    from bobcat.decision_log.target import shown_target
    from bobcat.errors import StoreError

    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("`--tls-cert` and `--tls-key` go together")
    listening = Listening(host, port, hosts, tls_cert, tls_key)
    _check_reach(listening.local, host, hosts, tls=tls_cert is not None, insecure=insecure)
    holders, printed = _holders(token_file, approver)
    if allow_answers and not any(holder.name for _, holder in holders):
        raise click.UsageError("`--allow-answers` needs `--approver NAME`, or names in the token file")

    def started(address: str) -> None:
        click.echo(safe_text(address if printed is None else f"{address}/enter?token={printed}"))

    try:
        shown = shown_target(store)
        serve_ui(store, holders, listening, answers=allow_answers, started=started, shown=shown)
    except StoreError as error:
        raise InputError(f"the store cannot be used ({error.code}): {error}") from error
    except ssl.SSLError as error:
        raise InputError(f"cannot use `{tls_cert}` with `{tls_key}`: {reason_of(error)}") from error
    except OSError as error:
        raise InputError(f"cannot listen on `{host}:{port}`: {reason_of(error)}") from error


def _check_reach(local: bool, host: str, hosts: tuple[str, ...], *, tls: bool, insecure: bool) -> None:
    """Refuse an address beyond this machine without an option that permits it."""
    if local:
        return
    if not tls and not insecure:
        raise click.UsageError(
            f"`--host {host}` can be reached from elsewhere: give `--tls-cert` and `--tls-key`, or `--insecure`"
        )
    if host in ("0.0.0.0", "::") and not hosts:
        raise click.UsageError(f"`--host {host}` needs `--allow-host`, the name in the address of the browser")
    if not tls:
        click.echo("warning: without TLS, tokens and answers can be read and changed on the way", err=True)


def _holders(token_file: str | None, approver: str | None) -> tuple[list[tuple[str, Holder]], str | None]:
    """Return the accepted tokens, and the one to print."""
    from bobcat.ui.access import Holder, parse_holders

    if token_file is None:
        token = secrets.token_urlsafe(32)
        return [(token, Holder((approver or "").strip()))], token
    if approver is not None:
        raise click.UsageError(
            "`--approver` names the holder of the printed token; in a token file, write `NAME TOKEN`"
        )
    data, name = read_bytes(token_file)
    try:
        return parse_holders(decode(data, name).splitlines()), None
    except ValueError as error:
        raise InputError(f"`{token_file}`: {error}") from error
