"""Cost of the tools of contained providers beside the bare calls of the system: medians, in microseconds.

python benches/providers.py [--count N] [PROVIDER...]

`bare` is the same work by hand, `contained` the provider's own function in the same thread, `tool` the tool as an agent
awaits it (in a thread of its own), `guarded` the tool behind a policy and a journal in memory. They take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bobcat import Guard, Policy, ToolSet, Undo
from bobcat.providers import files, processes
from bobcat.providers.filesystem import moving, reading, writing
from bobcat.providers.filesystem.paths import Roots
from bobcat.providers.filesystem.root import RESOLVERS, Resolver, Root

POLICY = Policy.compile("rules: [{id: all, match: {tool.glob: '*'}, decision: allow}]")
CONTENT = b"x" * 1000
TURNS = 20
PAUSE_SECONDS = 0.02
"""Time between two runs of programs: a server forks its next supervisor meanwhile."""


class Case(NamedTuple):
    """One operation: by hand, by the provider's function, and as a call of its tool."""

    name: str
    bare: Callable[[], object]
    contained: Callable[[], object]
    tool: str
    args: dict[str, Any]


async def measure(case: Case, tools: ToolSet, count: int) -> list[float]:
    """The medians of the four ways, in microseconds."""
    fn = tools.get(case.tool).fn
    times: list[list[float]] = [[], [], [], []]
    async with Guard(POLICY, tools) as guard:
        ways: list[Callable[[], Awaitable[object]] | None] = [
            None, None, lambda: fn(**case.args), lambda: guard.submit(case.tool, case.args),
        ]  # fmt: skip
        for _ in range(TURNS):
            for samples, way, plain in zip(times, ways, (case.bare, case.contained, None, None), strict=True):
                for _ in range(max(count // TURNS, 1)):
                    began = time.perf_counter()
                    if plain is not None:
                        plain()
                    elif way is not None:
                        await way()
                    samples.append(1e6 * (time.perf_counter() - began))
    return [statistics.median(samples) for samples in times]


@contextmanager
def file_cases(resolver: Resolver) -> Iterator[tuple[list[Case], ToolSet]]:
    """Operations on files of 1,000 bytes, three directories deep."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        deep = base / "ws/a/b"
        (deep / "many").mkdir(parents=True)
        (deep / "f").write_bytes(CONTENT)
        for number in range(50):
            (deep / f"many/{number}").touch()
        root = Root("ws", str(base / "ws"), symlinks="refuse", mounts="refuse", resolver=resolver)
        roots = Roots([root], name, 64)
        find = roots.find

        def sync(directory: Path) -> None:
            fd = os.open(directory, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)

        def bare_write() -> None:
            draft = f"{deep}/draft"
            fd = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            os.write(fd, CONTENT)
            os.fsync(fd)
            os.close(fd)
            os.rename(draft, f"{deep}/w")
            sync(deep)

        def bare_append() -> None:
            fd = os.open(f"{deep}/log", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
            os.write(fd, b"x")
            os.fsync(fd)
            os.close(fd)

        def bare_read() -> bytes:
            fd = os.open(f"{deep}/f", os.O_RDONLY)
            try:
                return os.read(fd, 100_000)
            finally:
                os.close(fd)

        def bare_list() -> list[int]:
            with os.scandir(deep / "many") as found:
                return [entry.stat(follow_symlinks=False).st_size for entry in found]

        def bare_move() -> None:
            os.rename(f"{deep}/m", f"{deep}/n")
            sync(deep)
            os.rename(f"{deep}/n", f"{deep}/m")
            sync(deep)

        def move_back() -> None:
            moving.move(find("ws/a/b/m"), find("ws/a/b/n"), overwrite=False)
            moving.move(find("ws/a/b/n"), find("ws/a/b/m"), overwrite=False)

        (deep / "m").touch()
        path = "ws/a/b/f"
        text = CONTENT.decode()
        yield (
            [
                Case(
                    "stat",
                    lambda: os.stat(f"{deep}/f"),
                    lambda: reading.describe(find(path)),
                    "fs.stat",
                    {"path": path},
                ),
                Case(
                    "read 1 kB",
                    bare_read,
                    lambda: reading.read(find(path), "utf-8", 0, 100_000, hard_links=False),
                    "fs.read",
                    {"path": path},
                ),
                Case(
                    "list 50 names",
                    bare_list,
                    lambda: reading.list_directory(find("ws/a/b/many"), 1000),
                    "fs.list",
                    {"path": "ws/a/b/many"},
                ),
                Case(
                    "write 1 kB, synced",
                    bare_write,
                    lambda: writing.write(find("ws/a/b/w"), CONTENT, overwrite=True, private=True),
                    "fs.write",
                    {"path": "ws/a/b/w", "content": text},
                ),
                Case(
                    "append 1 byte, synced",
                    bare_append,
                    lambda: writing.append(find("ws/a/b/log"), b"x", private=True, file_bytes=10**9),
                    "fs.append",
                    {"path": "ws/a/b/log", "content": "x"},
                ),
                Case("move and back, synced", bare_move, move_back, "fs.stat", {"path": path}),
            ],
            files(base / "ws", base=base, resolver=resolver),
        )


def bench_files(count: int) -> None:
    """Print a table for each way to open beneath a root."""
    for resolver in RESOLVERS:
        print(f"files, {resolver:<22}{'bare':>10}{'contained':>11}{'tool':>10}{'guarded':>10}")
        with file_cases(resolver) as (cases, tools):
            for case in cases:
                figures = asyncio.run(measure(case, tools, count))
                if case.tool == "fs.stat" and case.name != "stat":
                    figures = figures[:2]
                print(f"  {case.name:<26}" + "".join(f"{figure:>10.1f}" for figure in figures))


async def measure_processes(count: int) -> dict[str, list[float]]:
    """The medians of `true` and of `echo` with 1,000 bytes: by `asyncio`, then by `proc.run` in each isolation."""
    ways = {isolation: _isolated(isolation) for isolation in ("none", "landlock", "bwrap")}
    runs = {name: tools.get("proc.run").fn for name, tools in ways.items() if tools is not None}
    times: dict[str, list[list[float]]] = {name: [[], []] for name in ("bare", *runs)}
    for _ in range(count):
        for kind, (program, argv) in enumerate((("true", []), ("echo", ["x" * 1000]))):
            began = time.perf_counter()
            process = await asyncio.create_subprocess_exec(f"/bin/{program}", *argv, stdin=-3, stdout=-1, stderr=-1)
            await process.communicate()
            times["bare"][kind].append(1e6 * (time.perf_counter() - began))
            for name, run in runs.items():
                await asyncio.sleep(PAUSE_SECONDS)
                began = time.perf_counter()
                await run(program=program, argv=argv)
                times[name][kind].append(1e6 * (time.perf_counter() - began))
    return {name: [statistics.median(each) for each in samples] for name, samples in times.items()}


def _isolated(isolation: Literal["none", "landlock", "bwrap"]) -> ToolSet | None:
    try:
        return processes(["true", "echo"], isolation=isolation)
    except ValueError:
        return None


def bench_processes(count: int) -> None:
    """Print the time of a run, from the call to its result."""
    print(f"{'processes':<28}{'true':>10}{'echo':>10}")
    for name, figures in asyncio.run(measure_processes(max(count // 4, 10))).items():
        print(f"  {name:<26}" + "".join(f"{figure:>10.0f}" for figure in figures))


async def measure_undo(base: Path, count: int, key: bytes | None) -> list[float]:
    """The medians of a plain write, a protected one, and an undo, in microseconds; they take turns."""
    path = base / "ws/w"
    path.write_bytes(CONTENT)
    tools = files(base / "ws", base=base)
    times: list[list[float]] = [[], [], []]
    async with Undo(base / f"undo-{key is not None}.db", key=key) as undo:
        plain, kept = tools.get("fs.write").fn, undo.protect(tools).get("fs.write").fn

        async def undo_last() -> None:
            await undo.apply((await undo.entries(tool="fs.write", limit=1))[0].id)

        args = {"path": "ws/w", "content": CONTENT[1:].decode()}
        ways: tuple[Callable[[], Awaitable[object]], ...] = (lambda: plain(**args), lambda: kept(**args), undo_last)
        for _ in range(max(count // 4, 1)):
            for samples, way in zip(times, ways, strict=True):
                began = time.perf_counter()
                await way()
                samples.append(1e6 * (time.perf_counter() - began))
    return [statistics.median(samples) for samples in times]


def bench_undo(count: int) -> None:
    """Print the cost of a protected write of 1 kB, and of its undo."""
    print(f"undo of files, 1 kB, synced     {'write':>10}{'protected':>11}{'undo':>10}")
    for name, key in (("plain snapshots", None), ("encrypted", bytes(32))):
        with tempfile.TemporaryDirectory() as place:
            (Path(place) / "ws").mkdir()
            figures = asyncio.run(measure_undo(Path(place), count, key))
        print(f"  {name:<30}" + "".join(f"{figure:>10.1f}" for figure in figures))


PROVIDERS: dict[str, Callable[[int], None]] = {
    "files": bench_files,
    "processes": bench_processes,
    "undo": bench_undo,
}


def main() -> None:
    """Measure the providers that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("providers", nargs="*", choices=[[], *PROVIDERS])
    given = parser.parse_args()
    for name in given.providers or PROVIDERS:
        PROVIDERS[name](given.count)


if __name__ == "__main__":
    main()
