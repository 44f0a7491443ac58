"""A process that is killed by SIGKILL in the middle of a call: `killed_writer.py BASE TOOL ARGS CALL WHEN`.

Its call of the function `CALL` of `os`, or of the provider's `syscalls`, kills it `before` or `after` the effect.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from bobcat import Guard, Policy
from bobcat.providers import files
from bobcat.providers.filesystem import syscalls

POLICY = Policy.compile("rules: [{id: all, match: {tool.glob: fs.*}, decision: allow}]")
LEASE_SECONDS = 0.5


def main(base: str, tool: str, args: str, call: str, when: str) -> None:
    owner: Any = syscalls if call == "rename_noreplace" else os
    real = getattr(owner, call)

    def killing(*given: Any, **options: Any) -> None:
        if when == "after":
            real(*given, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    tools = files("ws", base=base)
    guard = Guard(POLICY, tools, store=f"sqlite:///{base}/runs.db", lease_seconds=LEASE_SECONDS)
    setattr(owner, call, killing)
    guard.submit_sync(tool, json.loads(args), key="one")


if __name__ == "__main__":
    main(*sys.argv[1:])
