"""Compile once, ship a file: a worker loads the bundle, and can load nothing that compiles."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bobcat import compile_policy

WORKER = """
import sys
from bobcat import evaluate, load_bundle, request_from_json
bundle = load_bundle(sys.argv[1])
decision = evaluate(bundle, request_from_json({"tool": "ping"}))
print(decision.verdict, decision.reason)
print("PyYAML loaded:", "yaml" in sys.modules)
"""

bundle = compile_policy("rules: [{id: ping, match: {tool: ping}, decision: allow, reason: shipped}]")
with tempfile.TemporaryDirectory() as directory:
    path = Path(directory) / "policy.bobcat"
    bundle.save(path)
    subprocess.run([sys.executable, "-c", WORKER, str(path)], check=True)
same = compile_policy({"rules": [{"reason": "shipped", "decision": "allow", "match": {"tool": "ping"}, "id": "ping"}]})
print("another spelling, the same digest:", same.id == bundle.id)
