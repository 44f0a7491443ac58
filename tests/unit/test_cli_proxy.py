"""`bobcat proxy` and `bobcat mcp`: mistakes are refused before a server starts. `tests/mcp_proxy` starts them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bobcat.cli.proxy import proxy
from mcp_proxy.raw_client import ALL, PROXY


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(ALL)
    return path


@pytest.mark.parametrize(
    "options",
    [
        [], ["--server", "a"], ["--server", "=x"], ["--server", "a="], ["--server", "a__b=x"], ["--server", "a b=x"],
        ["--server", "a=x", "--server", "a=y"], ["--server", "a=x", "--url", "http://h/"], ["--url", "ftp://h/"],
        ["--url", "http://"], ["--url", "http://h:99999/"], ["--server", "a='x"], ["--server", "a=http://"],
        ["--url", "http://h/", "--", "x"], ["--url", "http://h/", "--header", "x"],
        ["--url", "http://h/", "--header", "x y=1"], ["--url", "http://h/", "--header", "x=env:BOBCAT_NONE"],
        ["--url", "http://h/", "--header", "x=\n"], ["--pin-new", "--", "x"], ["--approvals", "wait", "--", "x"],
        ["--listen", "here", "--", "x"], ["--listen", "h:70000", "--insecure", "--", "x"],
        ["--listen", "h:1", "--", "x"],
        ["--insecure", "--", "x"], ["--token-file", "t", "--", "x"],
    ],
)  # fmt: skip
def test_usage_errors(policy: Path, options: list[str]) -> None:
    found = CliRunner().invoke(proxy, ["--policy", str(policy), *options])
    assert found.exit_code == 2, found.output
    assert not isinstance(found.exception, (ValueError, TypeError))


@pytest.mark.parametrize(
    "options, code",
    [
        (["--policy", "none.yaml"], 3),
        (["--policy", "bad.yaml"], 3),
        (["--policy", "policy.yaml", "--store", "nothing://x"], 3),
        (["--policy", "policy.yaml", "--listen", "127.0.0.1:1", "--token-file", "none"], 3),
        (["--policy", "policy.yaml", "--listen", "127.0.0.1:1", "--token-file", "empty"], 3),
        (["--policy", "policy.yaml", "--redact", "args.x"], 3),
    ],
)
def test_inputs_that_cannot_be_used(policy: Path, options: list[str], code: int) -> None:
    (policy.parent / "bad.yaml").write_text("rules: 5")
    (policy.parent / "empty").write_text("\n")
    done = subprocess.run(
        [*PROXY, *options, "--", "x"], cwd=policy.parent, capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert done.stdout == ""
    assert sys.executable not in done.stderr


@pytest.mark.parametrize(
    "options, code",
    [
        (["accept"], 2),
        (["accept", "--pins", "new.json", "--server", "x"], 3),
        (["accept", "--pins", "."], 3),
        (["accept", "--pins", "policy.yaml"], 3),
        (["accept", "--pins", "new.json", "--", "/nonexistent"], 3),
        (["accept", "--pins", "new.json", "--url", "ftp://x"], 2),
        (["accept", "--pins", "new.json"], 0),
    ],
)
def test_mistakes_of_mcp_accept(policy: Path, options: list[str], code: int) -> None:
    command = [sys.executable, "-m", "bobcat", "mcp", *options]
    done = subprocess.run(command, cwd=policy.parent, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert not (policy.parent / "new.json").exists()


@pytest.mark.parametrize("server", [["--url", "http://127.0.0.1:1/mcp"], ["--server", "a=http://127.0.0.1:1/mcp"]])
@pytest.mark.parametrize("command", [["proxy", "--policy", "policy.yaml"], ["mcp", "accept", "--pins", "pins.json"]])
def test_a_server_behind_a_url_needs_an_extra(policy: Path, command: list[str], server: list[str]) -> None:
    program = "import sys; sys.modules['httpx'] = None; from bobcat.cli.main import main; main(sys.argv[1:])"
    arguments = [sys.executable, "-c", program, *command, *server]
    done = subprocess.run(arguments, cwd=policy.parent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "error: a server behind a URL needs `pip install 'bobcat[proxy]'`\n"
