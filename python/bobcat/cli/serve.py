"""`bobcat serve`: decide over HTTP."""

from __future__ import annotations

import click

from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.inputs import decode, read_bytes
from bobcat.cli.options import FiniteRange
from bobcat.text.display import safe_text


@click.command()
@click.argument("bundle", metavar="BUNDLE", type=click.Path())
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8181, show_default=True, type=click.IntRange(0, 65535), help="The port.")
@click.option("--uds", metavar="PATH", help="A Unix socket, in place of --host and --port.")
@click.option("--token-file", metavar="FILE", help="The bearer tokens that are accepted, one a line.")
@click.option("--insecure", is_flag=True, help="Serve a port without tokens: every client that can connect may ask.")
@click.option("--trusted-key", "trusted_keys", multiple=True, metavar="KEY", help="Require a signature by this key.")
@click.option("--rate", default=0.0, type=FiniteRange(min=0), help="Requests a second of each client; 0: no limit.")
@click.option("--max-bytes", default=1024 * 1024, show_default=True, type=click.IntRange(1), help="Size of a request.")
@click.option("--max-items", default=10_000, show_default=True, type=click.IntRange(1), help="Requests in a batch.")
@click.option("--reload-seconds", default=1.0, show_default=True, type=FiniteRange(min=0),
              help="How often the file is looked at; 0: only at SIGHUP.")  # fmt: skip
@click.option(
    "--candidate", metavar="FILE", type=click.Path(), help="A bundle that decides beside BUNDLE, and is compared only."
)
def serve(
    bundle: str, *, candidate: str | None,
    host: str, port: int, uds: str | None, token_file: str | None, insecure: bool,
    trusted_keys: tuple[str, ...], rate: float, max_bytes: int, max_items: int, reload_seconds: float,
) -> None:  # fmt: skip
    """Decide over HTTP with BUNDLE, by OpenID AuthZEN 1.0 and Bobcat's JSON, until Ctrl-C or SIGTERM.

    A new bundle at the same path is loaded and verified; one that cannot be loaded changes nothing.

    Example: bobcat serve policy.bundle --token-file tokens
    """
    if token_file is None and uds is None and not insecure:
        raise click.UsageError("a port needs `--token-file` (or `--insecure`); a Unix socket (`--uds`) needs none")
    try:
        from bobcat.server.limits import Limits, Tokens
        from bobcat.server.policy_source import PolicyFile
        from bobcat.server.serve import serve as run
    except ImportError as error:
        raise InputError(str(error)) from error
    tokens = None
    if token_file is not None:
        data, name = read_bytes(token_file)
        try:
            tokens = Tokens(decode(data, name).splitlines())
        except ValueError as error:
            raise InputError(f"`{token_file}`: {error}") from error
    try:
        source = PolicyFile(bundle, trusted_keys=trusted_keys or None)
    except OSError as error:
        raise InputError(f"cannot read `{bundle}`: {reason_of(error)}") from error
    monitored = None
    if candidate is not None:
        from bobcat.runtime.candidate import check_candidate

        try:
            monitored = PolicyFile(candidate, trusted_keys=trusted_keys or None)
            check_candidate(monitored.policy)
        except OSError as error:
            raise InputError(f"cannot read `{candidate}`: {reason_of(error)}") from error
        except ValueError as error:
            raise InputError(f"`{candidate}`: {error}") from error
    if monitored is not None and source.policy.monitored is not None:
        raise InputError(f"`{bundle}` has monitored rules, which are compared in place of a candidate")
    place = f"unix:{uds}" if uds is not None else f"http://{host}:{port}"
    click.echo(safe_text(f"serving {source.policy.id[:16]} at {place}"), err=True)
    run(
        source, host=host, port=port, uds=uds, tokens=tokens, candidate=monitored,
        limits=Limits(max_bytes=max_bytes, max_items=max_items, rate=rate), reload_seconds=reload_seconds,
    )  # fmt: skip
