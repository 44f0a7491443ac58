"""The floor: a call into C that decides nothing, and one that decides by the tool, beside Bobcat on the same policy.

The C of `benches/floor` is compiled here, into `.build/floor`, and is part of no wheel.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import shlex
import statistics
import subprocess
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bobcat
from bobcat.model.request_json import request_from_json

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "benches" / "floor" / "floor.c"
NAME = "bobcat_floor"
TOOLS = 20
ROUNDS = 15
REPEAT = 200


def floor_figures() -> dict[str, float]:
    """Nanoseconds per call, the Python loop around it included; medians of rounds in turn."""
    module = _compiled()
    rules = [{"id": f"r{number}", "match": {"tool": f"t{number}"}, "decision": "allow"} for number in range(TOOLS)]
    bundle = bobcat.compile_policy({"rules": rules})
    requests = [request_from_json({"tool": f"t{number}"}) for number in range(TOOLS)]
    decisions = [bundle.evaluate(request) for request in requests]
    floor = module.Floor(
        bobcat.ActionRequest,
        {request.tool: decision for request, decision in zip(requests, decisions, strict=True)},
        None,
    )
    assert [module.decide(floor, request) for request in requests] == decisions
    runs: dict[str, tuple[Callable[[Any, Any], object], object]] = {
        "an empty call into C": (module.nothing, floor),
        "the tool looked up in C": (module.decide, floor),
        "Bobcat with a rule for each of 20 tools": (bobcat.evaluate, bundle),
    }
    taken: dict[str, list[float]] = {name: [] for name in runs}
    gc.collect()
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for name, (function, policy) in runs.items():
                taken[name].append(_nanoseconds(function, policy, requests))
    finally:
        gc.enable()
    return {name: round(statistics.median(mine), 1) for name, mine in taken.items()}


def _nanoseconds(function: Callable[[Any, Any], object], policy: object, requests: Sequence[object]) -> float:
    started = time.perf_counter()
    for _ in range(REPEAT):
        for request in requests:
            function(policy, request)
    return (time.perf_counter() - started) / (REPEAT * len(requests)) * 1e9


def _compiled() -> Any:  # Any: an extension module
    target = ROOT / ".build" / "floor" / f"{NAME}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not target.exists() or target.stat().st_mtime < SOURCE.stat().st_mtime:
        target.parent.mkdir(parents=True, exist_ok=True)
        compiler = shlex.split(os.environ.get("CC", "cc"))
        include = sysconfig.get_path("include")
        undefined = ["-undefined", "dynamic_lookup"] if sysconfig.get_platform().startswith("macosx") else []
        options = ["-O3", "-fPIC", "-shared", "-Wall", "-Wextra", f"-I{include}", *undefined]
        subprocess.run([*compiler, *options, str(SOURCE), "-o", str(target)], check=True)
    specification = importlib.util.spec_from_file_location(NAME, target)
    if specification is None or specification.loader is None:
        raise SystemExit(f"{target} is no extension module")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


if __name__ == "__main__":
    for label, figure in floor_figures().items():
        print(f"{figure:8.1f} ns  {label}")
