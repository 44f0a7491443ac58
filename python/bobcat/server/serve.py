"""Run a decision server: uvicorn, with reloads of the policy and a drain at the end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from bobcat.aio.signals import END_SIGNALS, on_signals
from bobcat.bundle import Policy
from bobcat.distribution import ReloadingPolicy
from bobcat.server.app import create_app
from bobcat.server.limits import Limits, Tokens

try:
    import uvicorn
    from starlette.applications import Starlette
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("a decision server needs `pip install 'bobcat[serve]'`", name=error.name) from error

new_event_loop: Callable[[], asyncio.AbstractEventLoop]
try:
    from uvloop import new_event_loop
except ModuleNotFoundError:  # Windows
    from asyncio import new_event_loop

DRAIN_SECONDS = 10


def serve(
    source: ReloadingPolicy,
    *,
    host: str = "127.0.0.1",
    port: int = 8181,
    uds: str | None = None,
    tokens: Tokens | None = None,
    limits: Limits = Limits(),  # noqa: B008 - a frozen value
    candidate: Policy | None = None,
    log_level: str = "warning",
) -> None:
    """Serve until SIGTERM or Ctrl-C; requests in progress get `DRAIN_SECONDS` to end.

    `uds` is the path of a Unix socket in place of `host` and `port`, for this user only (mode 0600). At SIGHUP the
    source of the policy is checked at once.
    """
    app = create_app(source, tokens=tokens, limits=limits, candidate=candidate)
    serve_app(app, host=host, port=port, uds=uds, on_hangup=source.refresh, log_level=log_level)


def serve_app(
    app: Starlette,
    *,
    host: str,
    port: int,
    uds: str | None = None,
    on_hangup: Callable[[], object] | None = None,
    tls: tuple[str, str] | None = None,
    log_level: str = "warning",
) -> None:
    """Serve an application until SIGTERM or Ctrl-C, with a drain. `tls` are the files of a certificate and its key.

    Raises `OSError` for files that cannot be read.
    """
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level=log_level,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        lifespan="off",
        ssl_certfile=None if tls is None else tls[0],
        ssl_keyfile=None if tls is None else tls[1],
    )
    config.load()  # reads the files of `tls`
    bound = None if uds is None else _private_socket(uds)
    gc.freeze()  # PERF: a full collection walks the loaded modules and stalls every request for milliseconds
    sockets = None if bound is None else [bound]
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_run(DrainingServer(config), on_hangup, sockets))
    finally:
        if uds is not None:
            Path(uds).unlink(missing_ok=True)


def _private_socket(path: str) -> socket.socket:
    """A Unix socket at `path` that only this user can connect to. Raises `OSError`, also for a server that listens."""
    if not hasattr(socket, "AF_UNIX"):
        raise OSError("this platform has no Unix sockets: listen on an address")
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if Path(path).is_socket():
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                if probe.connect_ex(path) == 0:
                    raise FileExistsError(f"another server listens on {path}")
            Path(path).unlink()  # of a server that is gone
        before = os.umask(0o177)
        try:
            bound.bind(path)
        finally:
            os.umask(before)
        bound.listen(1024)
    except BaseException:
        bound.close()
        raise
    return bound


class DrainingServer(uvicorn.Server):
    """A server that leaves signals to its caller: uvicorn's own handling ends the process by the signal, without a
    drain.
    """

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield

    def end(self) -> None:
        """Begin the drain; at the second call, end at once."""
        self.force_exit = self.should_exit
        self.should_exit = True


async def _run(
    server: DrainingServer, on_hangup: Callable[[], object] | None, sockets: list[socket.socket] | None
) -> None:
    loop = asyncio.get_running_loop()
    if on_hangup is not None:
        on_signals(("SIGHUP",), lambda _: loop.run_in_executor(None, on_hangup))
    on_signals(END_SIGNALS, lambda _: server.end())
    await server.serve(sockets=sockets)
