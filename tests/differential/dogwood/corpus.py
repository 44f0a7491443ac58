"""The corpus of the crate `dogwood-language`: fetched by cargo into a cache, checked, and copied nowhere else."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VERSION = "1.0.0"
SHA256 = "6996ef17ca5d06cea0e53bbffb177690e8e4a7f3bbcdb5bf67ad59603f2bf079"
CACHE = Path(__file__).parents[3] / ".build" / "dogwood"
NAME = f"dogwood-language-{VERSION}"


class NotFetched(Exception):
    """The crate cannot be fetched here."""


@dataclass(frozen=True)
class Case:
    """Policies, and traces with the expected verdict at each time point of a request."""

    name: str
    policies: str
    own_events: bool
    """True if the case replaces the schema of events."""
    traces: tuple[tuple[str, str], ...]


def fetch() -> Path:
    """The directory of the crate's sources. Raises `NotFetched` without cargo or the registry."""
    target = CACHE / NAME
    if target.is_dir():
        return target
    CACHE.mkdir(parents=True, exist_ok=True)
    archive = _download()
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        raise AssertionError(f"{archive.name} has another checksum than the registry's")
    unpacked = CACHE / f"{NAME}.{os.getpid()}"
    with tarfile.open(archive) as files:
        files.extractall(unpacked, filter="data")
    try:
        (unpacked / NAME).rename(target)
    except OSError:  # another process was first
        if not target.is_dir():
            raise
    finally:
        shutil.rmtree(unpacked)
    return target


def _download() -> Path:
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    pattern = f"registry/cache/*/{NAME}.crate"
    if not list(home.glob(pattern)):
        command = ["cargo", "info", "--quiet", f"dogwood-language@{VERSION}"]  # downloads this crate alone
        try:
            subprocess.run(command, cwd=CACHE, check=True, capture_output=True, timeout=300)
        except (OSError, subprocess.SubprocessError) as error:
            raise NotFetched(str(error)) from error
    found = list(home.glob(pattern))
    if not found:
        raise NotFetched(f"cargo left no {NAME}.crate")
    return found[0]


def cases(crate: Path) -> Iterator[Case]:
    """The cases of past-time policies."""
    for place in sorted((crate / "tests" / "passing" / "temporal_only" / "corpus").iterdir()):
        policies = sorted(place.glob("policy_*.dw"))
        traces = [
            (trace.read_text(encoding="utf-8"), expected.read_text(encoding="utf-8"))
            for expected in sorted(place.glob("expected_*.out"))
            if (trace := place / f"trace_{expected.stem.removeprefix('expected_')}.log").exists()
        ]
        text = "\n".join(path.read_text(encoding="utf-8") for path in policies)
        own = place / "event.dwschema"
        yield Case(place.name, text, own.exists() and "pin" in own.read_text(encoding="utf-8"), tuple(traces))
