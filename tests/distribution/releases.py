"""Keys, policies and signed bundles for tests of distribution, and real processes that serve and follow them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from bobcat import Policy
from bobcat.bundle.sign import public_key
from bobcat.distribution import sign_release

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
TRUST, OTHER = public_key(KEY), public_key(OTHER_KEY)
PUSH_TOKEN = "a-token-for-pushing"


def policy(number: int) -> Policy:
    """A policy whose decisions name its number."""
    return Policy.compile(f"rules: [{{id: r{number}, match: {{tool: read}}, decision: allow, reason: p{number}}}]")


def release(number: int, *, epoch: int | None = None, key: bytes = KEY, expires: datetime | None = None) -> bytes:
    """The signed bundle of policy `number`, by default with the same epoch."""
    return sign_release(policy(number).to_bytes(), key, epoch=number if epoch is None else epoch, expires=expires)


def unsigned(number: int) -> bytes:
    return policy(number).to_bytes(epoch=number)


def altered(data: bytes) -> Iterator[bytes]:
    """The same bundle with one byte changed, at places all over the file."""
    for place in range(0, len(data), max(len(data) // 40, 1)):
        yield data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def bobcat(*words: str, cwd: Path, token: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({} if token is None else {"BOBCAT_BUNDLE_TOKEN": token})}
    command = [sys.executable, "-m", "bobcat", *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False)


@contextlib.contextmanager
def process(*words: str, cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-m", "bobcat", *words], cwd=cwd, stderr=subprocess.DEVNULL) as started:
        try:
            yield started
        finally:
            started.kill()


def get(url: str, **headers: str) -> tuple[int, Any, bytes]:
    """Status, headers and body; 4xx and 304, too."""
    import urllib.error

    request = HttpRequest(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def eventually(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    """True once `holds` does; a server that does not answer yet does not."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            if holds():
                return True
        time.sleep(0.03)
    return False
