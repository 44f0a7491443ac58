"""A process in which the kernel refuses given system calls: `filtered_calls.py ERRNO NUMBER,NUMBER,... DIRECTORY`.

It uses every tool of the files provider under the filter, as containers have one, and prints the outcomes as JSON.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import struct
import sys
from typing import Any

from bobcat import ToolError
from bobcat.providers import files
from bobcat.providers.filesystem import syscalls
from bobcat.providers.filesystem.root import Root

_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("fs.read", {"path": "ws/f"}),
    ("fs.read", {"path": "ws/l/secret"}),
    ("fs.write", {"path": "ws/n", "content": "x", "overwrite": False}),
    ("fs.write", {"path": "ws/n", "content": "x", "overwrite": False}),
    ("fs.append", {"path": "ws/n", "content": "y"}),
    ("fs.move", {"path": "ws/n", "to": "ws/m"}),
    ("fs.move", {"path": "ws/m", "to": "ws/f"}),
    ("fs.move", {"path": "ws/m", "to": "ws/f", "overwrite": True}),
    ("fs.mkdir", {"path": "ws/d"}),
    ("fs.move", {"path": "ws/d", "to": "ws/e"}),
    ("fs.list", {"path": "ws"}),
    ("fs.read", {"path": "ws/mounted/f"}),
]


def refuse(errno: int, numbers: list[int]) -> None:
    """Let the kernel answer the calls of these numbers with an error, for good."""
    program = [(_LOAD, 0, 0, 0)]
    for number in numbers:
        program += [(_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | errno)]
    program.append((_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in program))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_SET_SECCOMP, _FILTER, ctypes.c_char_p(header), 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls")


def main(errno: str, numbers: str, base: str) -> None:
    refuse(int(errno), [int(number) for number in numbers.split(",") if number])
    tools = files("ws", base=base)
    root = Root("ws", f"{base}/ws", symlinks="refuse", mounts="refuse", resolver=None)
    outcomes = []
    for tool, args in CALLS:
        try:
            outcomes.append(asyncio.run(tools.get(tool).fn(**args)))
        except ToolError as error:
            outcomes.append(error.code)
    found = {"openat2": syscalls.has_openat2(), "resolver": root.resolver, "outcomes": outcomes}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
