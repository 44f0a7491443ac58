"""Smoke test of the built extension on an interpreter that has the standard library and nothing else.

    python3.13 -I -S -B -W error tests/packaging/standard_library_smoke.py

`.ci/pythons` runs it on interpreters other than that of `.venv`. It compiles every source of the package, imports the
modules that need no other package, and decides the vectors: as objects, as JSON and with an explanation.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "bobcat"
LEAST_MODULES = 80
LEAST_DECISIONS = 1000


def import_modules() -> int:
    """Count the modules imported; one that lacks a package from elsewhere does not count, any other failure raises."""
    imported = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        compile(path.read_bytes(), str(path), "exec")
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] == "__main__":
            continue
        try:
            import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package in ("", "bobcat", *sys.stdlib_module_names):
                raise
        else:
            imported += 1
    return imported


def decide_vectors() -> int:
    """Count the decisions; one that differs from its vector raises."""
    from bobcat import _core
    from bobcat.model.request_json import request_from_json

    decided = 0
    for line in (ROOT / "tests" / "vectors" / "cases.jsonl").read_bytes().splitlines():
        vector = json.loads(line)
        program = _core.Program(_canonical(vector["ir"]))
        for case in vector["requests"]:
            text = json.dumps(case["request"])
            request = request_from_json(text)
            decisions = (
                program.evaluate(request),
                _core.explain(program, request)[0],
                *_core.evaluate_many(program, [request]),
                *_core.evaluate_json(program, text.encode()),
            )
            for decision in decisions:
                found = _canonical({name: getattr(decision, name) for name in case["decision"]})
                if found != _canonical(case["decision"]):
                    raise AssertionError(f"{text}: expected {case['decision']}, got {found.decode()}")
                decided += 1
    return decided


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


if __name__ == "__main__":
    sys.path.insert(0, str(PACKAGE.parent))
    modules, decisions = import_modules(), decide_vectors()
    print(f"CPython {platform.python_version()}: {modules} modules, {decisions} decisions")
    if modules < LEAST_MODULES or decisions < LEAST_DECISIONS:
        sys.exit(f"expected at least {LEAST_MODULES} modules and {LEAST_DECISIONS} decisions")
