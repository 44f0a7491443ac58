"""Child program of `bobcat.executors.sandbox`: run one tool call. Run by its path; it imports nothing of this package.

    python -P sandbox_child.py PAYLOAD RESULT_FD LIFELINE_FD CPU_SECONDS MEMORY_BYTES

PAYLOAD holds three pickles: the caller's main program (or None) with its `sys.argv`, the function, the arguments. The
value goes to RESULT_FD as JSON; an exception goes to stderr as a traceback. The end of file on LIFELINE_FD means that
the caller has exited, and ends this process group.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import sys
import threading

LOADING = "BOBCAT_SANDBOX_LOADING"
"""Environment variable that is set while the caller's main program is loaded: it must not start sandboxes then."""


def main(arguments: list[str]) -> None:
    """Run the call that `arguments` describe."""
    payload_path = arguments[0]
    result_fd, lifeline_fd, cpu_seconds, memory_bytes = map(int, arguments[1:])
    os.set_inheritable(result_fd, False)
    os.set_inheritable(lifeline_fd, False)
    _limit(cpu_seconds, memory_bytes)
    threading.Thread(target=_watch_lifeline, args=(lifeline_fd,), daemon=True).start()
    with open(payload_path, "rb") as payload:
        main_program, sys.argv = pickle.load(payload)
        if main_program is not None:
            _load_main(*main_program)
        function = pickle.load(payload)
        args = pickle.load(payload)
    value = asyncio.run(function(**args))
    with open(result_fd, "wb") as result:
        result.write(json.dumps({"value": value}, default=str).encode())


def _limit(cpu_seconds: int, memory_bytes: int) -> None:
    import resource  # only POSIX has it, and the caller imports this module everywhere

    # At the soft limit the kernel sends SIGXCPU, which names the cause; a second later SIGKILL, which cannot be caught.
    for kind, soft, hard in (
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1),
        (resource.RLIMIT_AS, memory_bytes, memory_bytes),
    ):
        ceiling = resource.getrlimit(kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        try:
            resource.setrlimit(kind, (soft, hard))
        except (OSError, ValueError) as error:
            print(f"[bobcat] resource limit {kind} is not supported here: {error}", file=sys.stderr)


def _watch_lifeline(lifeline_fd: int) -> None:
    if not os.read(lifeline_fd, 1):
        os.killpg(0, signal.SIGKILL)


def _load_main(path: str, package: str) -> None:
    """Load the caller's main program under another name, which keeps its `__main__` guard shut."""
    import importlib.machinery
    import importlib.util

    if package:
        importlib.import_module(package)
    name = f"{package}.__bobcat_main__" if package else "__bobcat_main__"
    spec = importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, path))
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = sys.modules["__main__"] = module
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    os.environ[LOADING] = "1"
    try:
        spec.loader.exec_module(module)
    finally:
        os.environ.pop(LOADING, None)
        sys.dont_write_bytecode = written


if __name__ == "__main__":
    main(sys.argv[1:])
