"""A process that exchanges names as fast as it can: `python swapper.py DIRECTORY NAME NAME [NAME NAME ...]`.

Each pair of names is exchanged at once (RENAME_EXCHANGE), so that both exist at all times. It prints a line when it has
begun, and ends when its standard input does.
"""

from __future__ import annotations

import ctypes
import os
import select
import sys

_AT_FDCWD = -100
_EXCHANGE = 2


def main(directory: str, *names: str) -> None:
    os.chdir(directory)
    rename = ctypes.CDLL(None, use_errno=True).renameat2
    pairs = [(os.fsencode(one), os.fsencode(other)) for one, other in zip(names[::2], names[1::2], strict=True)]
    print("swapping", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(50):
            for one, other in pairs:
                if rename(_AT_FDCWD, one, _AT_FDCWD, other, _EXCHANGE) < 0:
                    sys.exit(os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main(*sys.argv[1:])
