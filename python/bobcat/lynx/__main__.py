"""`python -m bobcat.lynx script.py [args]`: run a program written for lynx-agent, unchanged, on Bobcat.

`python -m bobcat.lynx -m package.module [args]` runs a module. The script sees its own `sys.argv` and `__main__`.
"""

from __future__ import annotations

import os
import runpy
import sys

from bobcat.lynx.installing import install

USAGE = "usage: python -m bobcat.lynx (SCRIPT | -m MODULE) [ARGUMENT ...]"


def main(arguments: list[str]) -> int:
    """Run it; what the program raises, `SystemExit` included, comes out."""
    as_module = arguments[:1] == ["-m"]
    rest = arguments[1:] if as_module else arguments
    if not rest or (rest[0].startswith("-") and not as_module):
        print(USAGE, file=sys.stdout if rest and rest[0] in ("-h", "--help") else sys.stderr)
        return 0 if rest and rest[0] in ("-h", "--help") else 2
    if not as_module and not os.path.exists(rest[0]):
        print(f"python -m bobcat.lynx: cannot open {rest[0]!r}: no such file\n{USAGE}", file=sys.stderr)
        return 2
    install(children=True)
    sys.argv = rest
    if as_module:
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        # As `python script.py` does: the script's directory takes the place of the current one.
        directory = os.path.dirname(os.path.realpath(rest[0]))
        sys.path[:] = [directory, *(path for path in sys.path if path not in ("", os.getcwd()) or path == directory)]
        runpy.run_path(rest[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
