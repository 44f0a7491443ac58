"""`.github/actions/bobcat`: its inputs, its scripts, and what it does in a repository with and without problems."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from github_runner import Job, run_action

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "bobcat"
DEFINITION: dict[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text())
STEPS: list[dict[str, Any]] = DEFINITION["runs"]["steps"]
PAGE = (ROOT / "docs" / "how-to" / "check-in-ci.md").read_text()
POLICY = "rules:\n  - {id: look, match: {tool: search}, decision: allow}\n"
SUITE = "policy: policy.yaml\ncases: [{name: a search, request: {tool: search}, expect: {verdict: %s}}]\n"
BOBCAT = """#!/bin/sh
if [ "$1" = diff ]; then
    shift
    echo "$@" >> "$DIFF_ARGS"
    [ -n "$DIFF_TEXT" ] && printf '%s\\n' "$DIFF_TEXT"
    exit "${DIFF_CODE:-0}"
fi
exec "$PYTHON" -m bobcat "$@"
"""


class Comments:
    """A stand-in for the comments of a repository at GitHub."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = [{"id": number, "body": "looks good"} for number in range(100)]
        self.status = 0
        self.seen: list[tuple[str, str]] = []
        comments = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
                comments.seen.append((self.command, self.path))
                assert self.headers["Authorization"] == "Bearer t0ken"
                status, found = comments.answer(self.command, self.path, body)
                data = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = _answer

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if self.status:
            return self.status, {"message": "no"}
        place = path.removeprefix("/repos/acme/agents/issues/")
        if method == "GET":
            page = int(re.findall(r"[?&]page=(\d+)", path)[0])
            return 200, self.comments[100 * (page - 1) : 100 * page]
        if method == "POST" and place == "7/comments":
            self.comments.append({"id": len(self.comments), "body": body["body"]})
            return 201, self.comments[-1]
        self.comments[int(place.removeprefix("comments/"))]["body"] = body["body"]
        return 200, {}

    @property
    def own(self) -> list[str]:
        return [each["body"] for each in self.comments if each["body"].startswith("<!-- bobcat diff -->\n")]


@pytest.fixture
def api() -> Iterator[Comments]:
    comments = Comments()
    yield comments
    comments.server.shutdown()
    comments.server.server_close()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    place.mkdir()
    (place / "policy.yaml").write_text(POLICY)
    (place / "policy.policytest.yaml").write_text(SUITE % "allow")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1"]):
        subprocess.run(["git", *words], cwd=place, check=True)
    return place


def job(tmp_path: Path, repository: Path, api: Comments, *, event: str = "pull_request", **environment: str) -> Job:
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "bobcat").write_text(BOBCAT)
    (programs / "bobcat").chmod(0o755)
    if not (programs / "python").exists():
        (programs / "python").symlink_to(sys.executable)
    root = tmp_path / f"runner-{len(list(tmp_path.iterdir()))}"
    root.mkdir()
    base = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True).stdout.strip()
    github = {
        "token": "t0ken", "event_name": event,
        "event": {"pull_request": {"number": 7, "base": {"sha": base}}} if event == "pull_request" else {},
    }  # fmt: skip
    return Job(root, github, {
        "PATH": f"{programs}:{os.environ['PATH']}", "PYTHON": sys.executable, "GITHUB_API_URL": api.url,
        "GITHUB_REPOSITORY": "acme/agents", "DIFF_ARGS": str(root / "diff-args"), **environment,
    })  # fmt: skip


def test_every_input_and_output_is_documented() -> None:
    section = PAGE.partition("## A GitHub action")[2].partition("\n## ")[0]
    for name, each in {**DEFINITION["inputs"], **DEFINITION["outputs"]}.items():
        assert each["description"]
        assert f"`{name}`" in section, name
    assert DEFINITION["runs"]["using"] == "composite"


@pytest.mark.parametrize("step", [each for each in STEPS if "run" in each], ids=lambda each: each["name"])
def test_every_script_is_bash_and_holds_no_expression(step: dict[str, Any]) -> None:
    assert step["shell"] == "bash"
    subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)
    assert "${{" not in step["run"], "an input would be text of the script"


def test_the_example_of_the_docs_uses_the_action_as_it_is() -> None:
    section = PAGE.partition("## A GitHub action")[2].partition("\n## ")[0]
    workflow = yaml.safe_load(re.findall(r"```yaml no-run\n(.*?)```", section, re.DOTALL)[0])
    (steps,) = [each["steps"] for each in workflow["jobs"].values()]
    (own,) = [
        each
        for each in steps
        if each.get("uses", "").endswith(".github/actions/bobcat") or "bobcat" in str(each.get("uses"))
    ]
    assert set(own["with"]) <= set(DEFINITION["inputs"])
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write", "security-events": "write"}


def test_good_policies_pass_and_are_uploaded(tmp_path: Path, repository: Path, api: Comments) -> None:
    done = run_action(ACTION, job(tmp_path, repository, api, event="push"), repository)
    assert done.failed == "", done.log
    ((uses, given),) = done.used
    assert re.fullmatch(r"github/codeql-action/upload-sarif@[0-9a-f]{40}", uses)
    assert json.loads(Path(given["sarif_file"]).read_text())["version"] == "2.1.0"
    assert (api.seen, "diff" in done.outputs) == ([], False)


@pytest.mark.parametrize(
    ("file", "text", "inputs", "errors"),
    [
        ("policy.yaml", POLICY.replace("decision", "decison"), {}, ["check", "test"]),
        ("policy.policytest.yaml", SUITE % "deny", {}, ["test"]),
        ("policy.yaml", POLICY.replace("tool: search", ""), {"deny-warnings": "true"}, ["check"]),
        ("policy.yaml", POLICY.replace("tool: search", ""), {}, []),
        ("policy.yaml", POLICY, {"policies": "policy.yaml\nmissing.yaml"}, ["check"]),
        ("policy.yaml", POLICY, {"tests": "missing"}, ["test"]),
        ("policy.yaml", POLICY, {"tools": "no_such_module"}, ["check"]),
    ],
)
def test_each_problem_fails_the_job_after_all_steps(
    tmp_path: Path, repository: Path, api: Comments, file: str, text: str, inputs: dict[str, str], errors: list[str]
) -> None:
    (repository / file).write_text(text)
    done = run_action(ACTION, job(tmp_path, repository, api, event="push"), repository, **inputs)
    assert done.failed == ("Report the result" if errors else ""), done.log
    assert re.findall(r"::error::bobcat (\w+) failed", done.log) == errors
    assert "Traceback" not in done.log


def test_a_repository_without_tests_is_a_warning(tmp_path: Path, repository: Path, api: Comments) -> None:
    (repository / "policy.policytest.yaml").unlink()
    done = run_action(ACTION, job(tmp_path, repository, api, event="push"), repository)
    assert (done.failed, "::warning::no policy has a test" in done.log) == ("", True)


def test_a_pull_request_gets_one_comment_that_is_replaced(tmp_path: Path, repository: Path, api: Comments) -> None:
    first = run_action(ACTION, job(tmp_path, repository, api, DIFF_TEXT="### 1 change"), repository)
    assert first.failed == "", first.log
    assert api.own == ["<!-- bobcat diff -->\n### 1 change"]
    assert "### 1 change" in first.summary
    base = first.github["event"]["pull_request"]["base"]["sha"]
    assert (first.root / "diff-args").read_text() == f"--git {base}...HEAD --format markdown -- .\n"
    run_action(ACTION, job(tmp_path, repository, api, DIFF_TEXT="### 2 changes"), repository)
    assert api.own == ["<!-- bobcat diff -->\n### 2 changes"]
    run_action(ACTION, job(tmp_path, repository, api), repository)
    assert api.own == ["<!-- bobcat diff -->\nNo policy differs."]


@pytest.mark.parametrize("text", ["", "No policy differs."])
def test_no_change_makes_no_comment(tmp_path: Path, repository: Path, api: Comments, text: str) -> None:
    assert run_action(ACTION, job(tmp_path, repository, api, DIFF_TEXT=text), repository).failed == ""
    assert (api.own, {method for method, _ in api.seen}) == ([], {"GET"})


@pytest.mark.parametrize(("code", "failed", "changed"), [("0", "", "false"), ("1", "Report the result", "true")])
def test_fail_on_fails_the_job_and_still_comments(
    tmp_path: Path, repository: Path, api: Comments, code: str, failed: str, changed: str
) -> None:
    given = job(tmp_path, repository, api, DIFF_TEXT="looser", DIFF_CODE=code)
    done = run_action(ACTION, given, repository, **{"fail-on": "loosening"})
    assert (done.failed, done.outputs["diff"]["changed"]) == (failed, changed)
    assert api.own == ["<!-- bobcat diff -->\nlooser"]
    assert (done.root / "diff-args").read_text().endswith("--fail-on loosening -- .\n")


def test_a_comparison_that_fails_is_an_error_and_no_comment(tmp_path: Path, repository: Path, api: Comments) -> None:
    done = run_action(ACTION, job(tmp_path, repository, api, DIFF_CODE="3", DIFF_TEXT="half"), repository)
    assert (done.failed, api.seen) == ("Report the result", [])
    assert "fetch-depth: 0" in done.log


@pytest.mark.parametrize(("status", "failed"), [(403, ""), (500, "Comment on the pull request")])
def test_a_comment_that_is_refused(tmp_path: Path, repository: Path, api: Comments, status: int, failed: str) -> None:
    api.status = status
    done = run_action(ACTION, job(tmp_path, repository, api, DIFF_TEXT="x"), repository)
    assert (done.failed, "Traceback" in done.log) == (failed, False)
    assert ("::warning::no comment" if status == 403 else "::error::no comment: 500") in done.log


def test_a_long_comparison_is_cut_for_the_comment(tmp_path: Path, repository: Path, api: Comments) -> None:
    text = "\n".join(f"* change {number}" for number in range(6_000))
    done = run_action(ACTION, job(tmp_path, repository, api, DIFF_TEXT=text), repository)
    assert len(api.own[0]) < 65_536
    assert api.own[0].endswith("The rest is in the summary of the job.")
    assert "* change 5999" in done.summary


def test_inputs_are_never_run(tmp_path: Path, repository: Path, api: Comments) -> None:
    evil = f"$(touch {tmp_path}/pwned); touch {tmp_path}/pwned"
    for name in ("policies", "tests", "tools", "fail-on"):
        run_action(ACTION, job(tmp_path, repository, api), repository, **{name: evil})
    assert not (tmp_path / "pwned").exists()


def test_the_workflow_of_this_repository_runs_what_contributors_run() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    commands = [step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step]
    assert commands == ["sudo .ci/services", ".ci/run"]
    assert all((ROOT / each.removeprefix("sudo ")).exists() for each in commands)


def test_the_comparison_is_that_of_the_command(tmp_path: Path, repository: Path, api: Comments) -> None:
    given = job(tmp_path, repository, api)
    program = tmp_path / "bin" / "bobcat"
    program.write_text('#!/bin/sh\nexec "$PYTHON" -m bobcat "$@"\n')
    looser = POLICY + "  - {id: pay, match: {tool: pay}, decision: allow}\n"
    (repository / "policy.yaml").write_text(looser)
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "2"], cwd=repository, check=True
    )
    done = run_action(ACTION, given, repository, **{"fail-on": "loosening"})
    assert (done.failed, done.outputs["diff"]["changed"]) == ("Report the result", "true"), done.log
    (comment,) = api.own
    assert "policy.yaml" in comment
    assert "pay" in comment
    assert "Traceback" not in done.log
