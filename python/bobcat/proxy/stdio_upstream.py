"""A server that is a child process: one message a line over its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib

from bobcat.aio.signals import end_group
from bobcat.proxy.message import MAX_BYTES, Message, MessageError
from bobcat.proxy.notes import note
from bobcat.proxy.upstream import Ended, Receive, UpstreamError

CLOSE_SECONDS = 1.0
"""Seconds for each step of the end: input closed, SIGTERM, SIGKILL."""


class StdioUpstream:
    """The child process, in a process group of its own, with the environment of the proxy or `env`."""

    def __init__(self, name: str, command: tuple[str, ...], env: tuple[tuple[str, str], ...] | None = None) -> None:
        self._name = name
        self._env = None if env is None else dict(env)
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._closing = False

    async def start(self, receive: Receive, ended: Ended) -> None:
        """Start the process."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=MAX_BYTES,
                env=self._env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise UpstreamError(f"the server `{self._name}` cannot be started: {self._command[0]}: {reason}") from error
        self._reading = asyncio.create_task(self._read(self._process, receive, ended))

    async def send(self, message: Message) -> None:
        """Write one line."""
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            raise UpstreamError(f"the server `{self._name}` has ended")
        try:
            process.stdin.write(message.encode() + b"\n")
            await process.stdin.drain()
        except (OSError, RuntimeError) as error:
            raise UpstreamError(f"the server `{self._name}` has ended") from error

    async def aclose(self) -> None:
        """Close the input, then SIGTERM, then SIGKILL, each after a time; the process is waited for."""
        self._closing = True
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        for kill in (None, False, True):
            if kill is not None:
                end_group(process, kill=kill)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await process.wait()
                    break
        end_group(process, kill=True)  # what the server has left behind in its group
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self, process: asyncio.subprocess.Process, receive: Receive, ended: Ended) -> None:
        assert process.stdout is not None
        reason = ""
        while not reason:
            try:
                line = await process.stdout.readline()
            except ValueError:
                reason = f"sent a message of more than {MAX_BYTES} bytes"
                break
            if not line:
                break
            if not line.strip():
                continue
            try:
                message = Message.parse(line)
            except MessageError as error:
                note(f"the server `{self._name}` sent a line that is not a message: {error}")
                continue
            await receive(message, None)
        if not reason:
            code = await process.wait()
            reason = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        if not self._closing:
            ended(f"the server `{self._name}` {reason}")
