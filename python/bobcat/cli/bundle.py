"""`bobcat bundle`: publish, pull and serve signed releases of bundles."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.inputs import decode, read_bytes, read_private_key
from bobcat.cli.options import Decorated, format_option
from bobcat.cli.output import write_json
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.distribution import FileSource, HttpSource, Release

TOKEN = "BOBCAT_BUNDLE_TOKEN"
"""Environment variable with the bearer token for a bundle server."""
_AGE = re.compile(r"([0-9]{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_KEY = re.compile(r"[0-9a-fA-F]{64}")


class ExpiryParam(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases of click only
    """A time with its zone, or a time from now such as 12h, 7d."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the point in time. Any: click's own."""
        if isinstance(value, datetime):
            return value
        after, now = _AGE.fullmatch(value), datetime.now(UTC)
        try:
            found = (
                datetime.fromisoformat(value) if after is None else now + timedelta(**{_UNITS[after[2]]: int(after[1])})
            )
        except (ValueError, OverflowError):
            found = now
        if found.tzinfo is None or found <= now:
            self.fail(f"{value!r} is not a future time such as 7d, 12h or 2030-01-31T12:00:00Z.", param, ctx)
        return found


class TrustParam(click.ParamType):  # type: ignore[type-arg]  # as above
    """A public key in hexadecimal, or a file with one."""

    name = "key"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the key. Any: click's own."""
        if _KEY.fullmatch(value):
            return str(value).lower()
        data, name = read_bytes(value)
        text = decode(data, name).strip()
        if not _KEY.fullmatch(text):
            raise InputError(f"`{value}` has no public key", help="a public key has 64 hexadecimal digits")
        return text.lower()


def trust_option(*, required: bool) -> Callable[[Decorated], Decorated]:
    """`--trust`, and its other spelling `--trusted-key`."""
    return click.option(
        "--trust", "--trusted-key", "trust", multiple=True, required=required, type=TrustParam(), metavar="KEY",
        help="A public Ed25519 key, or a file with one, that must have signed the bundle; repeatable.",
    )  # fmt: skip


ca_option = click.option(
    "--ca",
    metavar="FILE",
    type=click.Path(),
    help="Certificates that sign that of the server, in place of the system's.",
)


def at_source(command: Decorated) -> Decorated:
    """Add the argument SOURCE and what a server needs."""
    return click.argument("source", metavar="SOURCE", type=click.Path())(ca_option(command))


@click.group()
def bundle() -> None:
    """Publish, pull and serve signed releases of bundles.

    A place is a directory, in which `policy.bundle` is the release, a file, or the URL of a bundle server such as
    https://bundles.example/bundles/policy. BOBCAT_BUNDLE_TOKEN is the bearer token for a server.
    """


@bundle.command()
@click.argument("policy", metavar="BUNDLE", type=click.Path())
@click.argument("target", metavar="TARGET", type=click.Path())
@click.option("--key", metavar="FILE", type=click.Path(), help="Sign with the Ed25519 key in FILE.")
@click.option("--epoch", type=click.IntRange(0), metavar="N",
              help="The number of this release; by default the bundle's, or that at TARGET plus 1.")  # fmt: skip
@click.option("--expires", type=ExpiryParam(), metavar="TIME", help="When workers report the release as out of date.")
@trust_option(required=False)
@ca_option
@format_option
def push(
    policy: str, target: str, *, key: str | None, epoch: int | None, expires: datetime | None, ca: str | None,
    trust: tuple[str, ...], output_format: str,
) -> None:  # fmt: skip
    """Publish BUNDLE at TARGET as a new release. An older epoch, or another policy of the same epoch, is refused.

    Without --key, BUNDLE is published as it is, and must be signed with an epoch. Without --epoch, the epoch is that of
    the release at TARGET plus 1, which this key or one of --trust must have signed.

    Example: bobcat bundle push policy.bundle /srv/bundles --key release.key
    """
    from bobcat.bundle.sign import public_key
    from bobcat.distribution import publish, sign_release
    from bobcat.distribution.release import read_release

    if key is None and (epoch is not None or expires is not None):
        raise click.UsageError("`--epoch` and `--expires` are signed: they need `--key`")
    data, _ = read_bytes(policy)
    release, place = read_release(data, None), place_of(target, ca)
    if key is not None:
        private = read_private_key(key)
        if epoch is None and release.epoch is None:
            epoch = _next_epoch(place, (public_key(private), *trust))
        chosen = epoch if epoch is not None else release.epoch
        data = sign_release(data, private, epoch=chosen or 0, expires=expires or release.expires)
    elif trust:
        raise click.UsageError("`--trust` is about the release whose epoch counts: it needs `--key`")
    released, changed = publish(data, place)
    _report(released, target, "published" if changed else "unchanged", output_format)


def _next_epoch(place: FileSource | HttpSource, trust: tuple[str, ...]) -> int:
    """The epoch after that of the release at a place, which one of these keys signed."""
    from bobcat.distribution.publishing import published
    from bobcat.errors import BundleError

    try:
        present = published(place, trust)
    except BundleError as error:
        raise InputError(
            f"the epoch of the release at `{place.name}` cannot be trusted: {error}",
            help="give `--epoch N`, or `--trust KEY` with the key that signed that release",
        ) from error
    return 1 if present is None else (present.epoch or 0) + 1


@bundle.command()
@at_source
@click.option("-o", "--output", required=True, metavar="FILE", type=click.Path(dir_okay=False),
              help="The file to write, which is also the last good release.")  # fmt: skip
@trust_option(required=True)
@click.option("--min-epoch", type=click.IntRange(0), default=0, metavar="N", help="The lowest epoch that is accepted.")
@format_option
def pull(
    source: str, *, output: str, trust: tuple[str, ...], min_epoch: int, ca: str | None, output_format: str
) -> None:
    """Write the release at SOURCE to FILE, if a trusted key signed it and it is not older than FILE.

    FILE is replaced as a whole, or stays as it is.

    Example: bobcat bundle pull https://bundles.example/bundles/policy -o policy.bundle --trust release.pub
    """
    from bobcat.distribution import pull as pull_release

    place = place_of(source, ca)
    released, changed = pull_release(place, output, trust=trust, now=datetime.now(UTC), min_epoch=min_epoch)
    _report(released, output, "written" if changed else "not modified", output_format)


@bundle.command()
@at_source
@trust_option(required=False)
@click.option("--kept", metavar="FILE", type=click.Path(), help="Compare with this file of `bobcat bundle pull`.")
@format_option
def status(source: str, *, trust: tuple[str, ...], kept: str | None, ca: str | None, output_format: str) -> int:
    """Show the release at SOURCE. Exits with 1 if it has expired, or if FILE is another release."""
    from bobcat.distribution.release import read_release

    place = place_of(source, ca)
    found = place.fetch(None)
    if found is None:
        raise InputError(f"`{source}` answers `not modified` to a first request")
    release, now = read_release(found[0], trust or None), datetime.now(UTC)
    shown: dict[str, Any] = release.to_json(now)
    fine = not shown["expired"]
    if kept is not None:
        own = read_release(read_bytes(kept)[0], trust or None)
        shown["kept"] = own.to_json(now)
        fine = fine and own.content == release.content
    if output_format == "json":
        write_json(shown)
    else:
        click.echo(safe_text(_line(release, source)))
        click.echo("expired" if shown["expired"] else "signature verified" if trust else "signature not checked")
        if kept is not None:
            same = shown["kept"]["sha256"] == release.content
            click.echo(
                safe_text(f"{kept}: " + ("the same release" if same else f"epoch {shown['kept']['epoch']}, differs"))
            )
    return 0 if fine else FINDINGS


@bundle.command()
@click.argument("directory", metavar="DIR", type=click.Path())
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8182, show_default=True, type=click.IntRange(0, 65535), help="The port.")
@click.option(
    "--token-file", metavar="FILE", help="The bearer tokens of readers, one a line; by default anyone may read."
)
@click.option(
    "--push-token-file", metavar="FILE", help="The bearer tokens that may push; by default all pushes are refused."
)
@trust_option(required=False)
@click.option("--tls-cert", metavar="FILE", type=click.Path(), help="The certificate of the server, for HTTPS.")
@click.option("--tls-key", metavar="FILE", type=click.Path(), help="The key of the certificate.")
def serve(
    directory: str, *, host: str, port: int, token_file: str | None, push_token_file: str | None,
    trust: tuple[str, ...], tls_cert: str | None, tls_key: str | None,
) -> None:  # fmt: skip
    """Serve the bundles of DIR until Ctrl-C or SIGTERM: `NAME.bundle` at /bundles/NAME.

    With --push-token-file, `bobcat bundle push` may replace them by newer releases that a --trust key signed.

    Example: bobcat bundle serve /srv/bundles --push-token-file tokens --trust release.pub
    """
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("`--tls-cert` and `--tls-key` need each other")
    if push_token_file is not None and not trust:
        raise click.UsageError("`--push-token-file` needs `--trust`: the keys of those who may release")
    try:
        from bobcat.server.bundles import Pushing, create_bundle_app
        from bobcat.server.serve import serve_app
    except ImportError as error:
        raise InputError(str(error)) from error
    if not Path(directory).is_dir():
        raise InputError(f"`{directory}` is not a directory")
    readers, pushers = (None if path is None else tokens_of(path) for path in (token_file, push_token_file))
    app = create_bundle_app(
        Path(directory), readers=readers, pushing=None if pushers is None else Pushing(pushers, trust)
    )
    tls = None if tls_cert is None or tls_key is None else (tls_cert, tls_key)
    click.echo(
        safe_text(f"serving {directory} at {'http' if tls is None else 'https'}://{host}:{port}/bundles"), err=True
    )
    try:
        serve_app(app, host=host, port=port, tls=tls)
    except OSError as error:  # also ssl.SSLError
        raise InputError(f"cannot serve: {reason_of(error)}") from error


def place_of(source: str, ca: str | None) -> FileSource | HttpSource:
    """Return the source at a path or a URL, with the token of the environment."""
    from bobcat.distribution import FileSource, HttpSource
    from bobcat.distribution.source import is_url

    if not is_url(source):
        if ca is not None:
            raise click.UsageError("`--ca` is for a URL")
        return FileSource(source)
    try:
        return HttpSource(source, token=os.environ.get(TOKEN) or None, ca=ca)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        raise InputError(f"cannot read `{ca}`: {reason_of(error)}") from error


def tokens_of(path: str) -> Any:  # Any: `Tokens`, which needs an extra
    """Read a file of bearer tokens, one a line."""
    from bobcat.server.limits import Tokens

    data, name = read_bytes(path)
    try:
        return Tokens(decode(data, name).splitlines())
    except ValueError as error:
        raise InputError(f"`{path}`: {error}") from error


def _report(release: Release, place: str, what: str, output_format: str) -> None:
    if output_format == "json":
        write_json({**release.to_json(datetime.now(UTC)), "outcome": what.replace(" ", "_"), "place": place})
    else:
        click.echo(safe_text(f"{what}: {_line(release, place)}"))


def _line(release: Release, place: str) -> str:
    until = "" if release.expires is None else f", expires {release.expires.isoformat(timespec='seconds')}"
    return f"{place}: epoch {release.epoch}, id {release.digest}{until}"
