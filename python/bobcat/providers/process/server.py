"""The process that forks supervisors. Started by `client`, with an empty environment; ends with its client.

It has one thread and few modules, so that a fork is safe and cheap. Programs get nothing of the client's memory. A
supervisor runs one job at a time, in a control group of its own where that is possible, and is used again.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from bobcat.providers.process import cgroup, system, tree
from bobcat.providers.process.supervise import KILL_SECONDS, supervise

MAX_DESCRIPTORS = 16
_PAUSE_SECONDS = 0.01
MAX_IDLE = 4
"""Supervisors that wait for another job."""


def main(descriptor: int) -> None:
    """Serve the jobs that come over this socket, until its other end is closed."""
    system.adopt_orphans()
    signalled, wake = os.pipe()
    os.set_blocking(signalled, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    requests = socket.socket(fileno=descriptor)
    requests.set_inheritable(False)
    gc.freeze()  # a collection in a fork would copy every page
    gc.disable()
    _Server(requests, signalled, wake).serve()


@dataclass(slots=True)
class _Supervisor:
    """A supervisor: its socket for a job, its group, and the status socket of its job.

    The client takes the end of the status socket for the end of all processes of the job.
    """

    jobs: socket.socket
    group: str | None
    status: int | None = None

    def take(self, status: int) -> None:
        """Begin a job."""
        self.release()
        self.status = status

    def release(self) -> None:
        """End the job."""
        if self.status is not None:
            os.close(self.status)
            self.status = None


class _Server:
    def __init__(self, requests: socket.socket, signalled: int, wake: int) -> None:
        self._requests = requests
        self._signalled = signalled
        self._wake = wake
        self._parent = cgroup.find_parent()
        if self._parent is not None:
            cgroup.remove_stale(self._parent)
        self._supervisors: dict[int, _Supervisor] = {}
        self._started = 0
        self._events = select.poll()

    def serve(self) -> None:
        self._events.register(self._requests, select.POLLIN)
        self._events.register(self._signalled, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in self._events.poll()}
            for supervisor in [*self._supervisors.values()]:
                if supervisor.jobs.fileno() in ready:
                    self._finish(supervisor)
            if self._signalled in ready:
                os.read(self._signalled, 4096)
                self._reap()
            if self._requests.fileno() in ready and not self._accept():
                self._wait_for_all()
                return

    def _waiting(self) -> list[_Supervisor]:
        every = self._supervisors.values()
        return [supervisor for supervisor in every if supervisor.status is None and supervisor.jobs.fileno() >= 0]

    def _accept(self) -> bool:
        """Pass the next job to a supervisor. Return false when the client has gone."""
        message, descriptors, _, _ = socket.recv_fds(self._requests, 1, MAX_DESCRIPTORS)
        if not message:
            return False
        for passed in descriptors:
            os.set_inheritable(passed, False)
        while True:
            supervisor = next(iter(self._waiting()), None) or self._fork()
            supervisor.take(os.dup(descriptors[1]))
            with suppress(OSError):  # it was killed while it waited; another one gets the job
                socket.send_fds(supervisor.jobs, [message], descriptors)
                break
        for passed in descriptors:
            os.close(passed)
        return True

    def _finish(self, supervisor: _Supervisor) -> None:
        """Make a supervisor that has ended its job wait for another, or end it."""
        try:
            done = supervisor.jobs.recv(1)
        except OSError:
            done = b""
        if done:
            supervisor.release()
        if not done or len(self._waiting()) > MAX_IDLE:
            self._events.unregister(supervisor.jobs)
            supervisor.jobs.close()

    def _fork(self) -> _Supervisor:
        self._started += 1
        name = f"bobcat-{os.getpid()}-{self._started}"
        group = cgroup.create(self._parent, name) if self._parent else None
        jobs, of_supervisor = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        process = os.fork()
        if process == 0:
            jobs.close()
            self._supervise(of_supervisor, group)
        of_supervisor.close()
        self._supervisors[process] = _Supervisor(jobs, group)
        self._events.register(jobs, select.POLLIN)
        return self._supervisors[process]

    def _supervise(self, jobs: socket.socket, group: str | None) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in (self._requests.fileno(), self._signalled, self._wake):
                os.close(descriptor)
            for other in self._supervisors.values():
                other.jobs.close()
                if other.status is not None:
                    os.close(other.status)
            if group is not None:
                cgroup.enter(group)
            while True:
                message, descriptors, _, _ = socket.recv_fds(jobs, 1, MAX_DESCRIPTORS)
                if not message:
                    break
                for passed in descriptors:
                    os.set_inheritable(passed, False)
                self._run(descriptors, group, jobs)
        finally:
            os._exit(0)

    def _run(self, descriptors: list[int], group: str | None, jobs: socket.socket) -> None:
        job, status, cwd, *files = descriptors
        with open(job, "rb") as text:
            text.seek(0)
            described = json.load(text)
        if group is not None:
            cgroup.limit(group, described["limits"].get("processes"))

        def ended() -> None:
            with suppress(OSError):  # the server was killed
                jobs.send(b"d")

        supervise(described, status, cwd, files, ended)
        os.close(status)

    def _reap(self) -> None:
        """Reap supervisors. The processes of one that was killed came to this process, which ends them."""
        ended: dict[int, int] = {}
        with suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                ended[found[0]] = found[1]
        gone = [self._supervisors.pop(process) for process in ended if process in self._supervisors]
        if any(map(os.WIFSIGNALED, ended.values())):
            tree.kill_all(KILL_SECONDS, self._supervisors)
        for supervisor in gone:
            if supervisor.jobs.fileno() >= 0:
                self._events.unregister(supervisor.jobs)
                supervisor.jobs.close()
            supervisor.release()
            if supervisor.group is not None:
                cgroup.remove(supervisor.group)

    def _wait_for_all(self) -> None:
        """Stay until the last job has ended: this process ends what a killed supervisor leaves."""
        self._requests.close()
        for supervisor in self._supervisors.values():
            supervisor.jobs.close()
        while self._supervisors:
            self._reap()
            time.sleep(_PAUSE_SECONDS)
