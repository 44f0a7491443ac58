"""Compile once, ship a file: a worker loads the bundle, and can load nothing that compiles."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bobcat import Policy

WORKER = """
import sys
from bobcat import Policy, Request
policy = Policy.load(sys.argv[1])
decision = policy.evaluate(Request("ping"))
print(decision.verdict, decision.reason)
print("PyYAML loaded:", "yaml" in sys.modules)
"""

bundle = Policy.compile("rules: [{id: ping, match: {tool: ping}, decision: allow, reason: shipped}]")
with tempfile.TemporaryDirectory() as directory:
    path = Path(directory) / "policy.bobcat"
    bundle.save(path)
    subprocess.run([sys.executable, "-c", WORKER, str(path)], check=True)
same = Policy.compile({"rules": [{"reason": "shipped", "decision": "allow", "match": {"tool": "ping"}, "id": "ping"}]})
print("another spelling, the same digest:", same.id == bundle.id)
