"""The TypeScript example of the documentation, type-checked and run by Node against a server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from bobcat import Policy, Principal, Request
from bobcat.server import DecisionClient
from server.test_served_processes import TOKEN, free_port, server

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "serve-decisions.md"
POLICY = """
rules:
  - {id: read, match: {tool: read, context.principal.id: alice}, decision: allow}
  - {id: ask, match: {tool: pay}, decision: approve_required}
"""
QUESTIONS = [
    ("read", {"path": "a"}, "alice"),
    ("read", {"path": "a"}, "mallory"),
    ("pay", {}, "alice"),
    ("rm", {}, "alice"),
]


@pytest.mark.slow
def test_the_example_permits_only_permissions(tmp_path: Path) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    assert npm is not None, "this campaign needs npm"
    assert node is not None, "this campaign needs Node.js"
    found = re.search(r"```ts\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    asked = f"for (const [tool, args, user] of {json.dumps(QUESTIONS)} as [string, object, string][])\n"
    program = f"{found[1]}\n{asked}  console.log(await permitted(tool, args, user));\nexport {{}};\n"
    (tmp_path / "example.mts").write_text(program)
    install = [npm, "install", "--silent", "--no-audit", "--no-fund", "typescript@5.9", "@types/node@22"]
    subprocess.run(install, cwd=tmp_path, check=True)
    check = ["node_modules/.bin/tsc", "--strict", "--target", "es2022", "--module", "nodenext", "example.mts"]
    subprocess.run(check, cwd=tmp_path, check=True)

    Policy.compile(POLICY).save(tmp_path / "policy.bundle")
    (tmp_path / "tokens").write_text(f"{TOKEN}\n")
    port = free_port()
    compiled = tmp_path / "example.mjs"
    compiled.write_text(compiled.read_text().replace("127.0.0.1:8181", f"127.0.0.1:{port}"))

    def answers(token: str) -> list[str]:
        environment = {**os.environ, "BOBCAT_TOKEN": token}
        done = subprocess.run([node, compiled], env=environment, capture_output=True, text=True, check=True, timeout=60)
        return done.stdout.split()

    with server(tmp_path, "--port", str(port), "--token-file", "tokens"):
        alice = Request("read", principal=Principal("user", "alice"))
        with DecisionClient(f"http://127.0.0.1:{port}", token=TOKEN) as client:
            for _ in range(300):
                if client.evaluate(alice).verdict == "allow":
                    break
                time.sleep(0.05)
        assert answers(TOKEN) == ["true", "false", "false", "false"]
        assert answers("another token") == ["false"] * 4
    assert answers(TOKEN) == ["false"] * 4  # no server
