"""`bobcat serve`: mistakes are refused before the server starts. `tests/server` starts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bobcat import Policy
from unit.cli_runner import Run, runner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Policy.compile("rules: []").save("policy.bundle")
    Path("weak").write_text("short")
    Path("policy.yaml").write_text("rules: []")
    return runner(capsys, monkeypatch)


MISTAKES = [
    (("policy.bundle",), 2, "--token-file"),
    (("policy.bundle", "--token-file", "missing"), 3, "missing"),
    (("policy.bundle", "--token-file", "weak"), 3, "a token has at least"),
    (("policy.bundle", "--insecure", "--trusted-key", "00" * 32), 3, "signature"),
    (("policy.bundle", "--insecure", "--rate", "-1"), 2, "rate"),
    (("policy.yaml", "--insecure"), 3, "the bundle is refused"),
    (("missing.bundle", "--insecure"), 3, "missing.bundle"),
]


@pytest.mark.parametrize(("arguments", "code", "text"), MISTAKES)
def test_mistakes_are_refused_before_the_server_starts(
    run: Run, arguments: tuple[str, ...], code: int, text: str
) -> None:
    done = run("serve", *arguments)
    assert (done.code, done.out, "Traceback" in done.err) == (code, "", False)
    assert text in done.err
