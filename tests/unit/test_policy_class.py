"""`Policy`: the one class of compiled policies, and the way in for sources, files and bundles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bobcat
from bobcat import BundleError, Policy, PolicyCompileError, build, compile_policy, load_bundle, request_from_json
from bobcat.bundle import PolicyBundle

TEXT = "rules: [{id: no-rm, match: {args.cmd.contains: rm}, decision: deny, reason: no}]"
DATA = {"rules": [{"id": "no-rm", "match": {"args.cmd.contains": "rm"}, "decision": "deny", "reason": "no"}]}
BUILT = build.Policy(build.when(build.args.cmd.contains("rm")).deny("no", id="no-rm"))
REQUEST = request_from_json({"tool": "shell", "args": {"cmd": "rm -r x"}})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(TEXT)
    return path


def test_the_older_names_are_the_same_class() -> None:
    assert bobcat.Policy is bobcat.PolicyBundle is PolicyBundle
    assert type(compile_policy(TEXT)) is type(load_bundle(compile_policy(TEXT).to_bytes())) is Policy


def test_every_kind_of_source_compiles_to_the_same_policy(file: Path) -> None:
    policies = [Policy.compile(source) for source in (TEXT, DATA, BUILT, file)]
    assert policies == [compile_policy(TEXT)] * 4
    assert [type(policy) for policy in policies] == [Policy] * 4
    assert policies[3].source_files == (str(file),)


def test_options_reach_the_compiler(file: Path) -> None:
    for source in (TEXT, file):
        assert Policy.compile(source, profile="lynx").profile == "lynx"
        with pytest.raises(TypeError, match="profil"):
            Policy.compile(source, profil="lynx")


def test_a_source_with_mistakes_is_refused_with_every_finding(tmp_path: Path) -> None:
    with pytest.raises(PolicyCompileError) as raised:
        Policy.compile("rules: [{id: a, match: {}, decision: dny}, {id: b, match: {}, decision: alow}]")
    assert len(raised.value.diagnostics) == 2
    with pytest.raises(PolicyCompileError, match="Cannot read policy file"):
        Policy.compile(tmp_path / "missing.yaml")


def test_a_policy_saves_loads_decides_and_explains(tmp_path: Path) -> None:
    policy = Policy.compile(TEXT)
    policy.save(tmp_path / "policy.bobcat")
    for loaded in (Policy.load(tmp_path / "policy.bobcat"), Policy.load(policy.to_bytes())):
        assert loaded == policy
        assert loaded.evaluate(REQUEST).verdict == loaded.explain(REQUEST).decision.verdict == "deny"
        assert repr(loaded) == f"<Policy {policy.id[:16]} strict, 1 rules>"


def test_loading_takes_the_conditions_of_load_bundle() -> None:
    data = Policy.compile(TEXT).to_bytes()
    with pytest.raises(BundleError) as raised:
        Policy.load(data, trusted_keys=[])
    assert raised.value.code == "unsigned"
    with pytest.raises(BundleError) as raised:
        Policy.load(data, expected_id="0" * 64)
    assert raised.value.code == "id_mismatch"


@pytest.mark.parametrize("source", [TEXT, DATA, BUILT])
def test_a_source_is_compiled_and_not_passed_to_the_constructor(source: Any) -> None:
    with pytest.raises(TypeError, match=r"write Policy.compile\(...\) for a source"):
        Policy(source)
