"""The core needs no lock of the interpreter, and says so to interpreters without one; threads may share its values."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path

from bobcat import _core
from bobcat.model.decision import ActionRequest
from bobcat.model.request_json import request_from_json

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "rust" / "py" / "src" / "lib.rs"
VECTORS = ROOT / "tests" / "vectors" / "cases.jsonl"


def test_the_core_declares_that_it_needs_no_lock() -> None:
    declared = re.findall(r"^#\[(?:pyo3::)?pymodule(?:\((.*)\))?\]", SOURCE.read_text(encoding="utf-8"), re.MULTILINE)
    assert declared == ["gil_used = false"]


def test_an_interpreter_that_imports_the_core_stays_as_it_is() -> None:
    code = "import sys, bobcat._core; print(getattr(sys, '_is_gil_enabled', lambda: True)())"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{sysconfig.get_config_var('Py_GIL_DISABLED') != 1}\n"


def _together(*work: Callable[[], object]) -> None:
    """Do the work in threads that begin at the same time; an exception of one is raised."""
    ready = threading.Barrier(len(work))
    failed: list[BaseException] = []

    def run(each: Callable[[], object]) -> None:
        try:
            ready.wait()
            each()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(each,)) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def test_threads_make_the_parts_of_one_program_together() -> None:
    # Indexes, automata and static decisions are made on first use, here by four threads at once.
    for line in VECTORS.read_bytes().splitlines()[::5]:
        vector = json.loads(line)
        program = _core.Program(_canonical(vector["ir"]))
        cases = [(request_from_json(json.dumps(case["request"])), case["decision"]) for case in vector["requests"]]

        def decide(
            program: _core.Program = program, cases: list[tuple[ActionRequest, dict[str, object]]] = cases
        ) -> None:
            for request, wanted in cases:
                decision = program.evaluate(request)
                assert (decision.verdict, list(decision.matched_rules)) == (wanted["verdict"], wanted["matched_rules"])

        _together(*[decide] * 4)


def test_threads_without_a_lock_count_references_of_decisions_of_their_own() -> None:
    # Otherwise they wait for each other: one decision is returned for every call that no other rule decides.
    program = _core.Program(_canonical(json.loads(VECTORS.read_bytes().splitlines()[0])["ir"]))
    request = request_from_json('{"tool": "no such tool"}')
    found: list[object] = [program.evaluate(request)]
    _together(lambda: found.append(program.evaluate(request)))
    assert found[0] == found[1]
    assert program.evaluate(request) is found[0]
    assert (found[0] is found[1]) == getattr(sys, "_is_gil_enabled", lambda: True)()


def test_a_request_that_another_thread_changes_is_read_and_decided() -> None:
    vectors = [json.loads(line) for line in VECTORS.read_bytes().splitlines()]
    programs = [_core.Program(_canonical(vector["ir"])) for vector in vectors[:60]]
    args = {"path": "/tmp/a", "cmd": ["ls", "-l"], "n": 1, "deep": {"list": [1, 2, 3], "text": "a"}}
    request = request_from_json(json.dumps({"tool": "t", "args": args}))
    object.__setattr__(request, "args", args)
    over = threading.Event()

    def change() -> None:
        values = [
            lambda n: "x" * (n % 50),
            lambda n: [str(n)] * (n % 7),
            lambda n: {"list": [n], "text": str(n)},
            lambda n: n,
        ]
        n = 0
        while not over.is_set():
            n += 1
            args["cmd"] = values[n % 4](n)
            args["deep"] = {"list": list(range(n % 9)), "text": str(n)}
            args[f"more{n % 20}"] = n
            args.pop(f"more{(n + 7) % 20}", None)
            object.__setattr__(request, "tool", f"tool{n % 3}")

    def decide() -> None:
        try:
            for _ in range(30):
                for program in programs:
                    assert program.evaluate(request).verdict in {
                        "allow",
                        "deny",
                        "dry_run",
                        "approve_required",
                        "transform",
                    }
                text = _core.canonical_text(args)
                assert text is None or set(json.loads(text)) >= {"path", "cmd", "n", "deep"}
                frozen = _core.frozen_if_flat(args)
                assert frozen is None or not any(isinstance(value, list | dict) for value in frozen.values())
        finally:
            over.set()

    _together(change, decide, decide)
