"""`bobcat check`, `compile`, `inspect`, `bundle-id`: what happens to policies and bundles."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bobcat import compile_policy, load_bundle
from unit.cli_runner import Run, runner

GOOD = """\
rules:
  - id: no-rm
    description: files are kept
    match: {tool: shell, args.txt.matches: '\\brm\\b'}
    decision: deny
    reason: rm is not for agents
  - id: look
    match: {tool.in: [read_file, list_files]}
    decision: allow
"""
BAD = """\
rules:
  - id: no-rm
    match: {tool: shell, args.cmd.matchs: '\\brm\\b'}
    decision: Deny
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(BAD)
    return tmp_path


@pytest.mark.usefixtures("here")
class TestCheck:
    def test_says_that_a_good_policy_is_good(self, run: Run) -> None:
        done = run("check", "good.yaml")
        assert (done.code, done.out, done.err) == (0, "1 policy: 0 errors, 0 warnings\n", "")

    def test_shows_every_mistake_with_its_place_and_exits_with_1(self, run: Run) -> None:
        done = run("check", "bad.yaml", "good.yaml")
        assert done.code == 1
        assert "bad.yaml:3:" in done.out
        assert "bad.yaml:4:" in done.out
        assert "2 policies: 2 errors" in done.out

    def test_looks_at_policy_yaml_by_default(self, run: Run, here: Path) -> None:
        assert run("check").code == 3
        (here / "policy.yaml").write_text(GOOD)
        assert run("check").code == 0

    def test_reads_standard_input(self, run: Run) -> None:
        assert run("check", "-", stdin=GOOD).code == 0
        done = run("check", "-", stdin=BAD)
        assert done.code == 1
        assert "<stdin>:3:" in done.out

    def test_gives_json(self, run: Run) -> None:
        done = run("check", "--format", "json", "bad.yaml")
        assert done.code == 1
        assert "bad.yaml" in json.dumps(done.json())

    def test_gives_sarif(self, run: Run) -> None:
        report = run("check", "--format", "sarif", "bad.yaml").json()
        assert report["version"] == "2.1.0"
        regions = [result["locations"][0]["physicalLocation"]["region"] for result in report["runs"][0]["results"]]
        assert [region["startLine"] for region in regions] == [3, 4]

    def test_warnings_fail_only_when_denied(self, run: Run, here: Path) -> None:
        (here / "lax.yaml").write_text("defaults: {on_no_match: allow}\nrules: []\n")
        assert run("check", "lax.yaml").code == 0
        assert run("check", "--deny-warnings", "lax.yaml").code == 1

    @pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
    def test_a_file_that_is_not_text_is_a_finding_with_its_place(self, run: Run, here: Path, start: bytes) -> None:
        (here / "latin.yaml").write_bytes(start + "rules:\n  # é".encode("latin-1"))
        done = run("check", "latin.yaml", "--format", "json")
        assert done.code == 1
        (found,) = json.loads(done.out)["diagnostics"]
        assert (found["code"], found["span"]["line"], found["span"]["column"]) == ("E0102", 2, 5)
        assert "byte 0xe9" in run("eval", "latin.yaml", "--tool", "x").err
        assert "latin.yaml:2:5" in run("compile", "latin.yaml", "-o", "out").err
        assert not (here / "out").exists()

    def test_a_missing_file_and_a_directory_are_errors(self, run: Run, here: Path) -> None:
        (here / "sub").mkdir()
        assert run("check", "none.yaml").err == "error: cannot read `none.yaml`: no such file or directory\n"
        assert run("check", "sub").code == 3

    def test_uses_no_colour_in_pipes(self, run: Run) -> None:
        assert "\x1b" not in run("check", "bad.yaml").out


class TestCompile:
    def test_writes_a_bundle_that_decides(self, run: Run, here: Path) -> None:
        done = run("compile", "good.yaml", "-o", "good.bobcat")
        bundle = load_bundle(here / "good.bobcat")
        assert done.code == 0
        assert done.out == f"good.bobcat: 2 rules, id {bundle.id}\n"
        assert bundle == compile_policy(GOOD)

    def test_gives_json(self, run: Run, here: Path) -> None:
        done = run("compile", "good.yaml", "-o", "good.bobcat", "--format", "json")
        expected = {"bundle": "good.bobcat", "id": compile_policy(GOOD).id, "profile": "strict", "rules": 2}
        assert done.json() == {**expected, "imported": []}
        assert here.joinpath("good.bobcat").exists()

    def test_writes_nothing_for_a_policy_with_errors(self, run: Run, here: Path) -> None:
        done = run("compile", "bad.yaml", "-o", "bad.bobcat")
        assert done.code == 1
        assert "bad.yaml:3:" in done.err
        assert not (here / "bad.bobcat").exists()

    @pytest.mark.parametrize(
        "command",
        ["compile -o out", "eval --tool x", "explain --tool x", "inspect", "bench --requests calls", "bundle-id"],
    )
    def test_errors_are_a_json_document_where_json_is_asked_for(self, run: Run, here: Path, command: str) -> None:
        (here / "latin.yaml").write_bytes("rules:\n  # é".encode("latin-1"))
        (here / "calls").write_text('{"tool": "x", "args": {}}\n')
        name, *options = command.split()
        for policy in ("bad.yaml", "latin.yaml"):
            done = run(name, policy, *options, "--format", "json")
            assert (done.code, done.err) == (1, "")
            assert done.json() == run("check", policy, "--format", "json").json()
        assert not (here / "out").exists()

    def test_needs_an_output(self, run: Run, here: Path) -> None:
        assert run("compile", str(here / "good.yaml")).code == 2

    @pytest.mark.usefixtures("here")
    def test_says_why_it_cannot_write(self, run: Run) -> None:
        done = run("compile", "good.yaml", "-o", "none/good.bobcat")
        assert done.code == 3
        assert "cannot write `none/good.bobcat`" in done.err

    def test_signs_and_a_trusted_key_opens(self, run: Run, here: Path) -> None:
        pytest.importorskip("cryptography")
        from bobcat.bundle.sign import public_key

        seed = os.urandom(32)
        (here / "key").write_text(seed.hex() + "\n")
        assert run("compile", "good.yaml", "-o", "signed.bobcat", "--sign-key", "key").code == 0
        assert run("inspect", "signed.bobcat", "--trusted-key", public_key(seed)).code == 0
        refused = run("inspect", "signed.bobcat", "--trusted-key", public_key(os.urandom(32)))
        assert refused.code == 3
        assert "error[unsigned]" in refused.err

    def test_takes_python_rules(self, run: Run, here: Path) -> None:
        (here / "my_rules.py").write_text("def nobody_pays(request, context):\n    return None\n")
        assert run("compile", "good.yaml", "-o", "p.bobcat", "--python-rule", "my_rules:nobody_pays@5").code == 0
        first = run("inspect", "p.bobcat", "--format", "json").json()["rules"][0]
        assert (first["id"], first["priority"]) == ("nobody_pays", 5)
        assert first["source"].endswith("my_rules.py:1:1")

    def test_refuses_a_python_rule_that_stays_a_callable_by_default(self, run: Run, here: Path) -> None:
        (here / "looking_rules.py").write_text("def looks(request, context):\n    vars(request)\n")
        rule = ("--python-rule", "looking_rules:looks@5")
        refused = run("compile", "good.yaml", "-o", "p.bobcat", *rule)
        assert refused.code == 1
        assert "error[E0807]" in refused.err
        assert "looking_rules.py:2:5" in refused.err
        assert "    vars(request)" in refused.err
        assert not (here / "p.bobcat").exists()
        allowed = run("compile", "good.yaml", "-o", "p.bobcat", *rule, "--uncompiled", "callable")
        assert allowed.code == 0
        assert "warning[W0115]" in allowed.err
        older = run("compile", "good.yaml", "-o", "p.bobcat", *rule, "--host", "allow")
        assert older.code == 0
        assert "note: `--host allow` is now `--uncompiled callable`" in older.err
        assert run("compile", "good.yaml", "-o", "q.bobcat", *rule, "--host", "refuse").code == 1
        assert run("inspect", "p.bobcat").code == 3
        shown = run("inspect", "p.bobcat", "--python-rule", "looking_rules:looks", "--format", "json").json()
        assert (shown["rules"][0]["id"], shown["rules"][0]["priority"]) == ("looks", 5)

    @pytest.mark.parametrize("command", ["eval", "explain", "bench"])
    def test_a_python_rule_that_exits_is_no_command_that_is_done(self, run: Run, here: Path, command: str) -> None:
        (here / "leaving_import.py").write_text("raise SystemExit(0)\n")
        (here / "leaving_rules.py").write_text("def leaves(request, context):\n    raise SystemExit(0)\n")
        call = () if command == "bench" else ("--tool", "x")
        refused = run(command, "good.yaml", *call, "--python-rule", "leaving_import:leaves")
        assert refused.code == 3
        assert "cannot import the Python rule `leaving_import:leaves`: SystemExit: 0" in refused.err
        rule = ("--python-rule", "leaving_rules:leaves@5", "--profile", "lynx")
        refused = run(command, "good.yaml", *call, *rule)
        assert refused.code == 3
        assert "error: a Python rule ended the command: SystemExit: 0" in refused.err

    @pytest.mark.usefixtures("here")
    @pytest.mark.parametrize("spec", ["nothing", "a:b@x", "no_such_module_here:rule"])
    def test_a_python_rule_that_cannot_be_found_is_an_error(self, run: Run, spec: str) -> None:
        assert run("compile", "good.yaml", "-o", "p.bobcat", "--python-rule", spec).code in (2, 3)


@pytest.mark.usefixtures("here")
class TestInspect:
    def test_shows_the_manifest_and_the_rules_in_order(self, run: Run) -> None:
        done = run("inspect", "good.yaml")
        assert done.code == 0
        assert compile_policy(GOOD).id in done.out
        assert done.out.index("no-rm") < done.out.index("look")
        assert "good.yaml:2:" in done.out

    def test_gives_json_with_rule_digests(self, run: Run) -> None:
        shown = run("inspect", "good.yaml", "--format", "json").json()
        bundle = compile_policy(GOOD)
        assert shown["manifest"]["digest"] == bundle.id
        assert [rule["digest"] for rule in shown["rules"]] == list(bundle.rule_digests)
        assert shown["rules"][0]["description"] == "files are kept"

    def test_shows_the_normal_form(self, run: Run) -> None:
        assert "no-rm: deny" in run("inspect", "--ir", "good.yaml").out

    def test_a_damaged_bundle_is_refused_with_its_code(self, run: Run, here: Path) -> None:
        data = bytearray(compile_policy(GOOD).to_bytes())
        data[-1] ^= 1
        (here / "damaged.bobcat").write_bytes(data)
        done = run("inspect", "damaged.bobcat")
        assert done.code == 3
        assert done.err.startswith("error[")
        assert "the bundle is refused" in done.err


@pytest.mark.usefixtures("here")
class TestBundleId:
    def test_is_the_same_for_a_source_and_its_bundle(self, run: Run) -> None:
        run("compile", "good.yaml", "-o", "good.bobcat")
        assert (
            run("bundle-id", "good.yaml").out == run("bundle-id", "good.bobcat").out == compile_policy(GOOD).id + "\n"
        )

    def test_can_be_that_of_lynx(self, run: Run) -> None:
        from lynx.core.policy import compile_policy as lynx_compile

        assert run("bundle-id", "--lynx", "--profile", "lynx", "good.yaml").out.strip() == lynx_compile(GOOD).id

    def test_gives_json(self, run: Run) -> None:
        assert run("bundle-id", "good.yaml", "--format", "json").json() == {"id": compile_policy(GOOD).id}
