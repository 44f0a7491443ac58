"""Deep code on threads with small stacks, each in a process of its own: an overflow ends the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys, threading
from bobcat import compile_policy, load_bundle, request_from_json
from deep_rule import rule

bundle = compile_policy("rules: []", python_rules=[rule])
assert not bundle.python_rules
call, data = request_from_json({"tool": "t", "args": {"x": 5}}), bundle.to_bytes()
acts = {
    "load": lambda: load_bundle(data).rule_count == 1,
    "evaluate": lambda: bundle.evaluate(call).verdict == "deny",
    "explain": lambda: bundle.explain(call).decision.verdict == "deny",
}
done = []
threading.stack_size(128 * 1024)
thread = threading.Thread(target=lambda: done.append(acts[sys.argv[1]]()))
thread.start()
thread.join()
sys.exit(0 if done == [True] else 1)
"""


@pytest.mark.parametrize("act", ["load", "evaluate", "explain"])
@pytest.mark.parametrize("around", ["(1 + {})", "(-{})", "(not {})", "abs({})", "(1 if {} else 2)"])
def test_ninety_nested_operations_fit_a_small_stack(tmp_path: Path, act: str, around: str) -> None:
    nested = "request.args['x']"
    for _ in range(90):
        nested = around.format(nested)
    rule = f"def rule(request, context):\n    if {nested} != 0.5:\n        return deny('no')\n"
    (tmp_path / "deep_rule.py").write_text(f"from bobcat import deny\n\n\n{rule}")
    done = subprocess.run([sys.executable, "-c", PROGRAM, act], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
