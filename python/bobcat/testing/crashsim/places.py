"""The position of a worker: the name of a point, or the line of code that waits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import FrameType
from typing import Any

from bobcat.runtime.coroutine import await_started
from bobcat.testing.crashsim.loop import SimLoop

_ASYNCIO = str(Path(asyncio.__file__).parent)
_RESUMED = await_started.__code__.co_filename


def place_of(what: object, loop: SimLoop) -> str:
    """Return the position of a handle's task, or of a task; the callback's name if a handle has no task."""
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
    visible = [frame for frame in frames if not frame.f_code.co_filename.startswith(_ASYNCIO)]
    return _line(visible[-1]) if visible else "its beginning"


def _frames(found: Any) -> list[FrameType]:  # Any: coroutines, generators and what else can be awaited
    """Return the frames of a coroutine's await chain, outermost first."""
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
    """Return the first of these attributes that exists."""
    return next((value for name in names if (value := getattr(found, name, None)) is not None), None)


def _line(frame: FrameType) -> str:
    code = frame.f_code
    return f"{code.co_qualname} ({Path(code.co_filename).name}:{frame.f_lineno})"
