"""Jobs for the server, and their output. The only part of the provider that runs in the caller's event loop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from bobcat.aio.tasks import wait_shielded
from bobcat.errors import ToolError
from bobcat.providers.process.supervise import GRACE_SECONDS, KILL_SECONDS

_READ_BYTES = 64 * 1024
_READS = 16
_SEND_SECONDS = 5.0
_ANSWER_SECONDS = GRACE_SECONDS + KILL_SECONDS + 5.0
"""How long after its timeout a supervisor may take to answer. One that does not has been tampered with."""
_STOP_SECONDS = 1.0
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_CODE = "import sys; sys.path.insert(0, {root!r}); from bobcat.providers.process.server import main; main({descriptor})"


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a job: what the supervisor reports, and the output up to the cap."""

    report: dict[str, Any]  # Any: JSON
    stdout: bytes
    stderr: bytes
    truncated: bool


class Launcher:
    """The connection to one server, which is started with the first job, and again if it has died or after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._owner = 0

    # Any: JSON
    async def run(
        self, job: dict[str, Any], stdin: bytes, descriptors: Sequence[int], max_output_bytes: int
    ) -> Finished:
        """Run a job with the descriptors of its directory and its executable files.

        A cancellation ends every process of the job before it is raised. Raises `ToolError`.
        """
        call = _Call(max_output_bytes)
        try:
            self._send(json.dumps(job).encode(), stdin, descriptors, call)
            with call:
                try:
                    async with asyncio.timeout(job["timeout_seconds"] + _ANSWER_SECONDS):
                        await call.ended.wait()
                except TimeoutError:
                    call.kill_supervisor()
                    raise ToolError("the supervisor of the program does not answer and was killed", "lost") from None
                except BaseException:
                    call.stop("cancelled")
                    await wait_shielded(call.wait_until_ended())
                    raise
            return call.finished()
        finally:
            call.close()

    def _send(self, job: bytes, stdin: bytes, descriptors: Sequence[int], call: _Call) -> None:
        directory, *files = descriptors
        with _file("job", job) as job_file, _file("stdin", stdin) as stdin_file:
            passed = [
                job_file.fileno(),
                call.status_of_child,
                directory,
                stdin_file.fileno(),
                *call.outputs_of_child,
                *files,
            ]
            with self._lock:
                for attempt in (1, 2):
                    try:
                        socket.send_fds(self._connect(), [b"j"], passed)
                        break
                    except OSError as error:
                        self._connection = None
                        if attempt == 2:
                            raise ToolError(f"the server of programs cannot be reached: {error}", "start") from error
        call.close_child_ends()

    def _connect(self) -> socket.socket:
        if self._connection is None or self._owner != os.getpid():
            self._connection, process = _start_server()
            self._owner = os.getpid()
            weakref.finalize(self, _stop_server, self._connection, process, self._owner)
        return self._connection


def _start_server() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    connection, served = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with served:
        code = _CODE.format(root=_ROOT, descriptor=served.fileno())
        try:
            process = subprocess.Popen(
                [sys.executable or "", "-I", "-S", "-c", code], cwd="/", env={}, pass_fds=[served.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            connection.close()
            raise ToolError(f"the server of programs cannot be started: {error}", "start") from error
    connection.settimeout(_SEND_SECONDS)
    return connection, process


def _stop_server(connection: socket.socket, process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() == owner:  # after a fork the server belongs to the parent
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
    connection.close()


def _file(name: str, content: bytes) -> Any:  # Any: a raw file object
    """A file in memory at its start. As standard input it needs no writer, and ends."""
    file = os.fdopen(os.memfd_create(f"bobcat-{name}"), "w+b", buffering=0)
    file.write(content)
    file.seek(0)
    return file


class _Call:
    """The pipes and the status socket of one job. Inside of the context its output is read."""

    def __init__(self, max_output_bytes: int) -> None:
        self.ended = asyncio.Event()
        self._room = max_output_bytes
        self._truncated = False
        self._status, status_of_child = socket.socketpair()
        stdout, stdout_of_child = os.pipe()
        stderr, stderr_of_child = os.pipe()
        self._output = {stdout: bytearray(), stderr: bytearray(), self._status.fileno(): bytearray()}
        self._stdout, self._stderr = stdout, stderr
        self._status_of_child = status_of_child
        self.status_of_child = status_of_child.fileno()
        self.outputs_of_child = (stdout_of_child, stderr_of_child)
        self._open = {stdout, stderr, stdout_of_child, stderr_of_child}

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for descriptor in self._output:
            os.set_blocking(descriptor, False)
            loop.add_reader(descriptor, self._read, descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for descriptor in self._output:
            loop.remove_reader(descriptor)

    def stop(self, reason: str) -> None:
        """Ask the supervisor to end the job."""
        with suppress(OSError):
            self._status.send(reason.encode())

    async def wait_until_ended(self) -> None:
        """Wait for the supervisor's report after `stop`; kill a supervisor that does not send one."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                await self.ended.wait()
        except TimeoutError:
            self.kill_supervisor()

    def kill_supervisor(self) -> None:
        """Kill the supervisor; the server ends its processes."""
        number = self._output[self._status.fileno()].partition(b"\n")[0]
        if number.isdigit():
            with suppress(OSError):
                os.kill(int(number), signal.SIGKILL)

    def finished(self) -> Finished:
        """The outcome. Raises `ToolError` if the supervisor was killed."""
        for descriptor in (self._stdout, self._stderr):
            self._read(descriptor)  # what was written since the last event; no writer is left
        report = self._output[self._status.fileno()].partition(b"\n")[2]
        if not report.endswith(b"\n"):
            raise ToolError("the supervisor of the program was killed; the program may have had effects", "lost")
        return Finished(
            json.loads(report), bytes(self._output[self._stdout]), bytes(self._output[self._stderr]), self._truncated
        )

    def close_child_ends(self) -> None:
        """Close the descriptors that were sent."""
        self._status_of_child.close()
        self._close(self.outputs_of_child)

    def close(self) -> None:
        """Close every descriptor. The supervisor takes it for a cancellation."""
        self._status_of_child.close()
        self._status.close()
        self._close(tuple(self._open))

    def _close(self, descriptors: tuple[int, ...]) -> None:
        for descriptor in descriptors:
            if descriptor in self._open:
                self._open.remove(descriptor)
                os.close(descriptor)

    def _read(self, descriptor: int) -> None:
        """Read the present content, a bounded amount at a time: an endless writer must not block the event loop."""
        for _ in range(_READS):
            try:
                data = os.read(descriptor, _READ_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                asyncio.get_running_loop().remove_reader(descriptor)
                if descriptor == self._status.fileno():
                    self.ended.set()
                return
            self._take(descriptor, data)

    def _take(self, descriptor: int, data: bytes) -> None:
        if descriptor != self._status.fileno():
            if len(data) > self._room:
                data = data[: self._room]
                if not self._truncated:
                    self._truncated = True
                    self.stop("output")
            self._room -= len(data)
        self._output[descriptor] += data
        if descriptor == self._status.fileno() and self._output[descriptor].count(b"\n") == 2:
            self.ended.set()  # PERF: 1 ms before the socket's end, which comes when the supervisor is gone
