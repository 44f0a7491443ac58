"""`bobcat serve`: decide over HTTP."""

from __future__ import annotations

from collections.abc import Mapping

import click

from bobcat.cli.bundle import ca_option, place_of, tokens_of, trust_option
from bobcat.cli.failures import InputError
from bobcat.cli.options import FiniteRange, layer_key_option
from bobcat.text.display import safe_text


@click.command()
@click.argument("bundle", metavar="BUNDLE", type=click.Path())
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8181, show_default=True, type=click.IntRange(0, 65535), help="The port.")
@click.option("--uds", metavar="PATH", help="A Unix socket, in place of --host and --port.")
@click.option("--token-file", metavar="FILE", help="The bearer tokens that are accepted, one a line.")
@click.option("--insecure", is_flag=True, help="Serve a port without tokens: every client that can connect may ask.")
@trust_option(required=False)
@layer_key_option
@click.option(
    "--keep",
    metavar="FILE",
    type=click.Path(),
    help="Keep the last good bundle in FILE, and begin with it if BUNDLE is away.",
)
@click.option(
    "--max-age",
    type=FiniteRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Report a policy that was not confirmed for so long as stale.",
)
@ca_option
@click.option("--rate", default=0.0, type=FiniteRange(min=0), help="Requests a second of each client; 0: no limit.")
@click.option("--max-bytes", default=1024 * 1024, show_default=True, type=click.IntRange(1), help="Size of a request.")
@click.option("--max-items", default=10_000, show_default=True, type=click.IntRange(1), help="Requests in a batch.")
@click.option("--reload-seconds", type=FiniteRange(min=0),
              help="How often BUNDLE is checked (1; a URL 30); 0: only at SIGHUP.")  # fmt: skip
@click.option(
    "--candidate", metavar="FILE", type=click.Path(), help="A bundle that decides beside BUNDLE, and is compared only."
)
def serve(
    bundle: str, *, candidate: str | None,
    host: str, port: int, uds: str | None, token_file: str | None, insecure: bool,
    trust: tuple[str, ...], layer_keys: Mapping[str, tuple[str, ...]],
    keep: str | None, max_age: float | None, ca: str | None,
    rate: float, max_bytes: int, max_items: int, reload_seconds: float | None,
) -> None:  # fmt: skip
    """Decide over HTTP with BUNDLE, by OpenID AuthZEN 1.0 and Bobcat's JSON, until Ctrl-C or SIGTERM.

    BUNDLE is a file, a directory with `policy.bundle`, or the URL of a bundle server (`bobcat bundle serve`). A new
    bundle there is loaded and verified; one that is damaged, unsigned or older changes nothing.

    Example: bobcat serve policy.bundle --token-file tokens
    """
    if token_file is None and uds is None and not insecure:
        raise click.UsageError("a port needs `--token-file` (or `--insecure`); a Unix socket (`--uds`) needs none")
    try:
        from bobcat.server.limits import Limits
        from bobcat.server.serve import serve as run
    except ImportError as error:
        raise InputError(str(error)) from error
    from bobcat.distribution import ReloadingPolicy

    tokens = None if token_file is None else tokens_of(token_file)
    place = place_of(bundle, ca)
    if place.remote and not trust:
        raise click.UsageError("a URL needs `--trust`, the public keys of its publishers")
    every = reload_seconds if reload_seconds is not None else 30.0 if place.remote else 1.0
    source = ReloadingPolicy(
        place, trust=trust or None, every=every, keep=keep, max_age=max_age, layer_keys=layer_keys or None
    )
    monitored = None
    if candidate is not None:
        from bobcat.bundle import Policy
        from bobcat.errors import BundleError
        from bobcat.runtime.candidate import check_candidate

        try:
            monitored = Policy.load(candidate, trusted_keys=trust or None)
            check_candidate(monitored)
        except BundleError:
            raise
        except ValueError as error:
            raise InputError(f"`{candidate}`: {error}") from error
    address = f"unix:{uds}" if uds is not None else f"http://{host}:{port}"
    click.echo(safe_text(f"serving {source.current.id[:16]} at {address}"), err=True)
    run(
        source, host=host, port=port, uds=uds, tokens=tokens, candidate=monitored,
        limits=Limits(max_bytes=max_bytes, max_items=max_items, rate=rate),
    )  # fmt: skip
