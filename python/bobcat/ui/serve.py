"""Run `bobcat ui`: the store, the socket and the server in one loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass

import uvicorn

from bobcat.aio.signals import END_SIGNALS, on_signals
from bobcat.server.serve import DrainingServer
from bobcat.stores.urls import open_store
from bobcat.ui.access import Access, Holder
from bobcat.ui.app import Settings, create_app
from bobcat.ui.guarding import Origins

DRAIN_SECONDS = 3


@dataclass(frozen=True, slots=True)
class Listening:
    """The address to listen on. `hosts` are further names under which browsers reach it; both files make it HTTPS."""

    host: str = "127.0.0.1"
    port: int = 0
    hosts: tuple[str, ...] = ()
    certificate: str | None = None
    key: str | None = None

    @property
    def scheme(self) -> str:
        """`https` with a certificate."""
        return "http" if self.certificate is None else "https"

    @property
    def local(self) -> bool:
        """Return true if only this machine can connect."""
        return self.host in ("127.0.0.1", "::1", "localhost")


def serve_ui(
    store_url: str,
    holders: Iterable[tuple[str, Holder]],
    listening: Listening,
    *,
    answers: bool,
    started: Callable[[str], None],
    shown: str,
) -> None:
    """Serve until SIGTERM or Ctrl-C. `started` gets the address. Raises `StoreError`, `OSError`."""
    access = Access(holders)
    bound = _bound(listening.host, listening.port)
    try:
        asyncio.run(_serve(store_url, access, listening, bound, answers, started, shown))
    finally:
        bound.close()


async def _serve(
    store_url: str, access: Access, listening: Listening, bound: socket.socket, answers: bool,
    started: Callable[[str], None], shown: str,
) -> None:  # fmt: skip
    port = bound.getsockname()[1]
    names = [*(_named(host, port) for host in dict.fromkeys((listening.host, *_LOCAL)) if listening.local or
               host == listening.host), *(name.lower() for name in listening.hosts)]  # fmt: skip
    settings = Settings(Origins(tuple(names), listening.scheme), answers, f"bobcat_ui_{port}", shown)
    async with aclosing(open_store(store_url, must_exist=True)) as store:
        await store.runs(limit=1)
        config = uvicorn.Config(
            create_app(store, access, settings), log_level="warning", access_log=False, server_header=False,
            timeout_graceful_shutdown=DRAIN_SECONDS, lifespan="off", ssl_certfile=listening.certificate,
            ssl_keyfile=listening.key,
        )  # fmt: skip
        config.load()  # a certificate that cannot be used is an error before the address is printed
        server = DrainingServer(config)
        on_signals(END_SIGNALS, lambda _: server.end())
        shown_host = listening.hosts[0] if listening.hosts else _named(listening.host, port)
        started(f"{listening.scheme}://{shown_host}")
        await server.serve(sockets=[bound])


_LOCAL = ("127.0.0.1", "localhost", "[::1]")


def _named(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host.lower()}:{port}"


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(128)
    except BaseException:
        bound.close()
        raise
    return bound
