"""Worker processes on a store, and what their probes answer."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from operations.conftest import APP, Site


class Fleet:
    """Worker processes on a store."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.started: list[subprocess.Popen[str]] = []

    def worker(self, *options: str, app: Path = APP) -> Worker:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [
            sys.executable, "-m", "bobcat", "worker", str(app), "--store", self.site.url, "--dispatcher", "store",
            "--health", str(port), *options,
        ]  # fmt: skip
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ.copy())
        self.started.append(process)
        return Worker(process, port)


class Worker:
    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def metric(self, name: str) -> float:
        _, text = self.get("/metrics")
        found = [line for line in text.splitlines() if line.startswith((f"{name} ", f"{name}{{"))]
        return sum(float(line.rpartition(" ")[2]) for line in found)

    def is_ready(self) -> bool:
        return self.get("/readyz")[0] == 200

    def stop(self, seconds: float = 30) -> str:
        self.process.send_signal(signal.SIGTERM)
        _, reported = self.process.communicate(timeout=seconds)
        return reported


def until(true: Callable[[], bool], what: str, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.05)


def workers_of(site: Site) -> list[dict[str, Any]]:
    done = site.bobcat("workers", "list", "--format", "json")
    assert done.code == 0, done.err
    found: list[dict[str, Any]] = done.json()
    return found


def failed_for_good(site: Site, run_id: str) -> bool:
    """True when the last attempt of a run has failed, and it is dead."""
    runs = site.bobcat("runs", "list", "--status", "dead", "--format", "json").json()
    return any(run["run_id"] == run_id and run["attempts"] == 2 for run in runs)
