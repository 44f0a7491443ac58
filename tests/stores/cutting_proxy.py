"""A TCP proxy that can swallow an answer and cut the connection: the request was done, and its asker does not know."""

from __future__ import annotations

import asyncio
import contextlib


class CuttingProxy:
    """Forwards to a port of this machine. After `cut_next(mark)`, the first request with `mark` in its bytes is
    delivered, its answer is swallowed, and the connection ends."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._mark: bytes | None = None
        self.cuts = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> CuttingProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut_next(self, mark: bytes) -> None:
        self._mark = mark

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        cut = False

        async def requests() -> None:
            nonlocal cut
            while data := await reader.read(65536):
                if self._mark is not None and self._mark in data:
                    self._mark, cut = None, True
                back.write(data)
                await back.drain()
            back.close()

        async def answers() -> None:
            while data := await there.read(65536):
                if cut:
                    self.cuts += 1
                    break
                writer.write(data)
                await writer.drain()
            writer.close()

        with contextlib.suppress(OSError, asyncio.CancelledError):
            await asyncio.wait(
                [asyncio.ensure_future(requests()), asyncio.ensure_future(answers())],
                return_when=asyncio.FIRST_COMPLETED,
            )
        writer.close()
        back.close()
