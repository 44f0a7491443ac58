"""Where a worker is: the name of a point, or the line of code that waits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import FrameType
from typing import Any

from bobcat.kernel.begun import resumed
from bobcat.testing.crashsim.loop import SimLoop

_ASYNCIO = str(Path(asyncio.__file__).parent)
_RESUMED = resumed.__code__.co_filename


def place_of(what: object, loop: SimLoop) -> str:
    """Where the task of a handle is, or a task itself; what a handle calls, when it belongs to no task."""
    task = what
    if isinstance(what, asyncio.Handle):
        callback = what._callback  # type: ignore[attr-defined]
        task = getattr(callback, "__self__", None)
        if not isinstance(task, asyncio.Task):
            return f"{getattr(callback, '__qualname__', type(callback).__name__)}()"
    if not isinstance(task, asyncio.Task):
        return "nowhere"
    label = loop.label_of(task)
    if label is not None:
        return label
    frames = _frames(task.get_coro())
    told = [frame for frame in frames if not frame.f_code.co_filename.startswith(_ASYNCIO)]
    return _line(told[-1]) if told else "its beginning"


def _frames(found: Any) -> list[FrameType]:  # Any: coroutines, generators and what else can be awaited
    """The frames of what a coroutine awaits, the outermost first."""
    frames = []
    while found is not None:
        frame = _attribute(found, "cr_frame", "gi_frame", "ag_frame")
        if frame is None:
            break
        frames.append(frame)
        inner = _attribute(found, "cr_await", "gi_yieldfrom", "ag_await")
        if inner is None and frame.f_code.co_filename == _RESUMED:
            inner = frame.f_locals.get("running")  # it sends by hand
        found = inner
    return frames


def _attribute(found: Any, *names: str) -> Any:  # Any: as above
    """The first of these that is there."""
    return next((value for name in names if (value := getattr(found, name, None)) is not None), None)


def _line(frame: FrameType) -> str:
    code = frame.f_code
    return f"{code.co_qualname} ({Path(code.co_filename).name}:{frame.f_lineno})"
