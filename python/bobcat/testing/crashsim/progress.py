"""Progress of a campaign, for a callback or a terminal bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Progress(NamedTuple):
    """`done` of `total` runs of a phase, and the runs with faults so far in all phases."""

    phase: str
    done: int
    total: int
    faults: int


OnProgress = Callable[[Progress], object]


@contextmanager
def on_terminal(given: OnProgress | None) -> Iterator[OnProgress]:
    """Return the callback for each run: `given`, or a bar if standard error is a terminal."""
    if given is not None or not sys.stderr.isatty():
        yield given or (lambda _: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, TextColumn("{task.fields[faults]}"), console=Console(stderr=True)) as bars:
        shown = {}

        def show(now: Progress) -> None:
            if now.phase not in shown:
                shown[now.phase] = bars.add_task(now.phase, total=now.total, faults="")
            faults = f"{now.faults} with faults" if now.faults else ""
            bars.update(shown[now.phase], completed=now.done, faults=faults)

        yield show
