"""Options of `bobcat proxy` and `bobcat mcp` that name MCP servers, and the address to listen on."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from bobcat.cli.failures import InputError
from bobcat.cli.inputs import decode, read_bytes
from bobcat.cli.options import Decorated

if TYPE_CHECKING:
    from bobcat.proxy.session import Settings
    from bobcat.proxy.upstream import Server
    from bobcat.server.limits import Tokens

DEFAULT_NAME = "default"
"""The name of a single server, for pins and for rules on `context.extra.server`."""
_NAME = re.compile("[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*")
_FROM_ENVIRONMENT = "env:"


def server_options(command: Decorated) -> Decorated:
    """Add the options that name servers."""
    for decorate in (
        click.argument("command", nargs=-1, type=click.UNPROCESSED),
        click.option("--header", multiple=True, metavar="NAME=VALUE",
                     help="An HTTP header for every URL; `NAME=env:VARIABLE` takes a variable's value."),
        click.option("--url", metavar="URL", help="A server's streamable HTTP endpoint, in place of COMMAND."),
        click.option("--server", multiple=True, metavar="NAME=COMMAND|URL",
                     help="One of several servers; its tools are named NAME__TOOL."),
    ):  # fmt: skip
        command = decorate(command)
    return command


def servers_of(
    named: tuple[str, ...], url: str | None, header: tuple[str, ...], command: tuple[str, ...]
) -> tuple[Server, ...]:
    """The servers that the options name. Raises `click.UsageError`."""
    from bobcat.adapters.mcp_target import prefix_of
    from bobcat.proxy.upstream import Server

    if sum((bool(named), url is not None, bool(command))) != 1:
        raise click.UsageError("give one of COMMAND after `--`, `--url` and `--server` (which can be repeated)")
    headers = tuple(_header(each) for each in header)
    if command:
        return (Server(DEFAULT_NAME, command),)
    if url is not None:
        return (Server(DEFAULT_NAME, url=_checked_url(url), headers=headers),)
    found: dict[str, Server] = {}
    for text in named:
        name, equals, target = text.partition("=")
        if not equals or not target.strip() or not _NAME.fullmatch(name):
            raise click.UsageError(
                f"`--server {text}`: write NAME=COMMAND or NAME=URL; a name has letters, digits, `-` and single `_`"
            )
        if name in found:
            raise click.UsageError(f"two servers are named `{name}`")
        prefix = prefix_of(name)
        if target.startswith(("http://", "https://")):
            found[name] = Server(name, url=_checked_url(target), prefix=prefix, headers=headers)
        else:
            found[name] = Server(name, _words(target), prefix=prefix)
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Address:
    """Where the proxy listens, and for whom."""

    host: str
    port: int
    tokens: Tokens | None

    async def serve(self, settings: Settings) -> int:
        """Serve until SIGTERM or Ctrl-C. Returns the exit code."""
        try:
            from bobcat.proxy.http_front import serve_http
        except ImportError as error:
            raise InputError(str(error)) from error
        return await serve_http(settings, self.host, self.port, self.tokens)


def address_of(listen: str | None, token_file: str | None, *, insecure: bool) -> Address | None:
    """The address to listen on; None for standard input. Raises `click.UsageError`."""
    if listen is None:
        if token_file is not None or insecure:
            raise click.UsageError("`--token-file` and `--insecure` need `--listen`")
        return None
    host, colon, port = listen.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise click.BadParameter("write HOST:PORT", param_hint="--listen")
    if token_file is None:
        if not insecure:
            raise click.UsageError("`--listen` needs `--token-file` (or `--insecure`)")
        return Address(host.strip("[]"), int(port), None)
    from bobcat.server.limits import Tokens

    data, name = read_bytes(token_file)
    try:
        return Address(host.strip("[]"), int(port), Tokens(decode(data, name).splitlines()))
    except ValueError as error:
        raise InputError(f"`{token_file}`: {error}") from error


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise click.UsageError(f"`{text}` is not a command: {error}") from error


def _checked_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise click.UsageError(f"`{text}` is not an http or https URL")
    try:
        import_module("bobcat.proxy.http_upstream")
    except ModuleNotFoundError as error:  # of an extra
        raise InputError(str(error)) from error
    return text


def _header(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if value.startswith(_FROM_ENVIRONMENT):
        variable = value.removeprefix(_FROM_ENVIRONMENT)
        if variable not in os.environ:
            raise click.UsageError(f"`--header {name}=...`: the variable `{variable}` is not set")
        value = os.environ[variable]
    if not equals or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or not re.fullmatch(r"[\x20-\x7e]*", value):
        raise click.UsageError("`--header` takes NAME=VALUE, in ASCII")
    return name, value
