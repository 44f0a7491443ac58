"""The pytest fixture `bobcat_bench`, in test sessions of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEST = """
def test_speed(bobcat_bench):
    report = bobcat_bench("policy.yaml", requests="r.jsonl", baseline="bench.json", fail_over=3, seconds=0.1)
    assert report.subject.requests == 1
"""


@pytest.fixture
def session(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "policy.yaml").write_text("rules: [{id: r, match: {tool: t}, decision: allow}]")
    (tmp_path / "r.jsonl").write_text('{"tool": "t"}\n')
    (tmp_path / "test_speed.py").write_text(TEST)
    return tmp_path


def run(session: Path, *options: str) -> tuple[int, str]:
    # By its module, so that it makes no difference whether this checkout's entry point is installed.
    plugin = ("-p", "no:bobcat", "-p", "bobcat.benchmark.pytest_plugin", "-p", "no:cacheprovider")
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, *options],
        cwd=session,
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_baseline_is_written_and_then_compared_with(session: Path) -> None:
    code, reported = run(session, "--bobcat-bench-save")
    assert code == 0, reported
    code, reported = run(session)
    assert code == 0, reported
    saved = json.loads((session / "bench.json").read_text())
    saved["decisions"]["relative"] /= 20
    (session / "bench.json").write_text(json.dumps(saved))
    code, reported = run(session)
    assert code == 1
    assert "times as many reference steps as in the baseline" in reported
    assert "Traceback" not in reported


def test_a_missing_baseline_fails_and_says_how_it_is_written(session: Path) -> None:
    code, reported = run(session)
    assert code == 1
    assert "`pytest --bobcat-bench-save` writes it" in reported


@pytest.mark.parametrize(
    "call",
    [
        "bobcat_bench('policy.yaml', seconds=0.1)",
        "bobcat_bench('policy.yaml', requests=[{'tool': 't'}], seconds=0.1)",
        "bobcat_bench(bobcat.compile_policy('rules: []'), requests=[{'tool': 't'}], seconds=0.1)",
    ],
)
def test_policies_and_requests_are_given_as_files_or_as_values(session: Path, call: str) -> None:
    body = f"    assert {call}.comparison is None\n"
    (session / "test_speed.py").write_text(f"import bobcat\ndef test_speed(bobcat_bench):\n{body}")
    code, reported = run(session)
    assert code == 0, reported


@pytest.mark.parametrize("call", ["'policy.yaml', fail_over=2", "'policy.yaml', requests=[]"])
def test_a_wrong_use_is_an_error_of_the_test(session: Path, call: str) -> None:
    (session / "test_speed.py").write_text(f"def test_speed(bobcat_bench):\n    bobcat_bench({call})\n")
    code, reported = run(session)
    assert code == 1
    assert "ValueError" in reported


def test_a_policy_that_is_not_utf_8_is_reported_with_its_place(session: Path) -> None:
    (session / "policy.yaml").write_bytes(b"rules: [] # \xe9")
    code, reported = run(session)
    assert code == 1
    assert "error[E0102]" in reported
    assert "policy.yaml:1:13" in reported


def test_the_plugin_is_declared_where_pytest_looks() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"bobcat": "bobcat.benchmark.pytest_plugin"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("requests=[5]", "TypeError: `requests[0]` must be a request or a mapping, not int"),
        ('requests={"tool": "t"}', "TypeError: `requests` must be a file or a list of requests, not dict"),
        ("seconds=0", "ValueError: `seconds` is the duration of the measurement and must be above 0, not 0"),
    ],
)
def test_a_mistake_in_the_call_is_reported_in_its_words(session: Path, options: str, message: str) -> None:
    text = f'def test_speed(bobcat_bench):\n    bobcat_bench("policy.yaml", {options})\n'
    (session / "test_speed.py").write_text(text)
    code, out = run(session)
    assert code == 1
    assert message in out
