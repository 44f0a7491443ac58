"""Bundles in memory and in files: what they tell, that they stay the same, and how they travel."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import bobcat
from bobcat import BundleError, Verdict, compile_policy, load_bundle, load_policy_file
from bobcat.bundle import PolicyBundle, file, is_bundle, sign
from bobcat.model.decision import Decision

POLICY = """\
version: 1
defaults: {on_no_match: deny, on_missing_shadow: deny}
rules:
  - id: reads
    description: reading is safe
    match: {tool: read_file}
    decision: allow
  - id: ask
    priority: 5
    match:
      tool: deploy
      any_of:
        - context.environment: prod
        - args.force: true
    decision: approve_required
    approvers: [alice]
    timeout_seconds: 60
    reason: production
"""

CALLS = [
    {"tool": "read_file"},
    {"tool": "deploy"},
    {"tool": "deploy", "context": {"environment": "prod"}},
    {"tool": "deploy", "args": {"force": "yes"}},
    {"tool": "rm"},
]


def decisions(bundle: PolicyBundle) -> list[Decision]:
    return [bundle.evaluate(bobcat.request_from_json(call)) for call in CALLS]


# `vars()` has no lowered form: these stay callables.
def quiet(request: Any, context: Any) -> None:
    vars()


def denying(request: Any, context: Any) -> Decision | None:
    return bobcat.deny("no") if vars() and request.tool == "rm" else None


def with_host_rules(*rules: Any, **options: Any) -> PolicyBundle:
    return compile_policy(POLICY, python_rules=rules, uncompiled="callable", **options)


@pytest.fixture
def bundle() -> PolicyBundle:
    return compile_policy(POLICY, "ops.yaml")


def test_a_bundle_lists_its_sources(bundle: PolicyBundle) -> None:
    assert len(bundle.id) == 64
    assert bundle.id == bundle.digest
    assert (bundle.version, bundle.profile, bundle.rule_count) == (1, "strict", 2)
    assert bundle.defaults.on_no_match is Verdict.DENY
    assert bundle.defaults.on_missing_shadow is Verdict.DENY
    assert bundle.source_files == ("ops.yaml",)
    ask, reads = bundle.rules
    assert (ask.id, ask.priority, ask.verdict, ask.order) == ("ask", 5, Verdict.APPROVE_REQUIRED, 1)
    assert (reads.description, reads.source_location) == ("reading is safe", "ops.yaml:rule[0]")
    assert reads.span is not None
    assert (reads.span.line, reads.span.column) == (4, 5)
    assert bundle.rule_digests == (ask.digest, reads.digest)
    assert bundle.python_rules == ()
    assert repr(bundle) == f"<Policy {bundle.id[:16]} strict, 2 rules>"


def test_a_bundle_comes_back_from_its_bytes_the_same(bundle: PolicyBundle) -> None:
    loaded = load_bundle(bundle.to_bytes())
    assert loaded == bundle
    assert hash(loaded) == hash(bundle)
    assert loaded.rules == bundle.rules
    assert loaded.ir == bundle.ir
    assert loaded.source_map == bundle.source_map
    assert loaded.defaults == bundle.defaults
    assert decisions(loaded) == decisions(bundle)
    assert loaded.to_bytes() == bundle.to_bytes()
    assert loaded.lynx_id == bundle.lynx_id


def test_a_bundle_comes_back_from_its_file(bundle: PolicyBundle, tmp_path: Path) -> None:
    path = tmp_path / "ops.bobcat"
    bundle.save(path)
    assert is_bundle(path.read_bytes())
    for source in (path, str(path), path.read_bytes()):
        assert load_bundle(source) == bundle
    assert [entry.name for entry in tmp_path.iterdir()] == ["ops.bobcat"]


def test_saving_replaces_a_file_or_leaves_it_alone(bundle: PolicyBundle, tmp_path: Path) -> None:
    path = tmp_path / "ops.bobcat"
    path.write_text("old", encoding="utf-8")
    bundle.save(path)
    assert load_bundle(path) == bundle
    with pytest.raises(OSError):  # which OSError differs between platforms
        bundle.save(tmp_path / "missing" / "ops.bobcat")
    directory = tmp_path / "taken"
    directory.mkdir()
    with pytest.raises(OSError):
        bundle.save(directory)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["ops.bobcat", "taken"]


@pytest.mark.parametrize("name", ["missing.bobcat", "directory", "nul\0"])
def test_a_file_that_cannot_be_read_is_a_bundle_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "directory").mkdir()
    with pytest.raises(BundleError, match="cannot read bundle file") as caught:
        load_bundle(tmp_path / name)
    assert caught.value.code == "unreadable"


def test_equality_is_meaning(bundle: PolicyBundle) -> None:
    respelled = compile_policy(POLICY.replace("reading is safe", "other words"), "elsewhere.yaml")
    assert respelled == bundle
    assert len({respelled, bundle}) == 1
    assert compile_policy(POLICY.replace("timeout_seconds: 60", "timeout_seconds: 61")) != bundle
    assert bundle != bundle.id


def test_a_bundle_is_frozen(bundle: PolicyBundle) -> None:
    with pytest.raises(AttributeError):
        bundle.version = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        bundle.note = "x"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        del bundle._parts
    with pytest.raises(TypeError):
        bundle.sources["ops.yaml"] = ""  # type: ignore[index]


def test_a_bundle_is_copied_by_reference_and_pickled_by_value(bundle: PolicyBundle) -> None:
    assert copy.copy(bundle) is bundle
    assert copy.deepcopy({"policy": bundle})["policy"] is bundle
    again = pickle.loads(pickle.dumps(bundle))
    assert again == bundle
    assert again.rules == bundle.rules
    assert decisions(again) == decisions(bundle)


def test_a_bundle_with_host_rules_is_pickled_when_they_can_be() -> None:
    bundle = with_host_rules(denying, quiet)
    again = pickle.loads(pickle.dumps(bundle))
    assert again == bundle
    assert again.python_rules == (("denying", 0, denying), ("quiet", 0, quiet))
    assert decisions(again) == decisions(bundle)


def test_the_file_holds_no_absolute_path(tmp_path: Path) -> None:
    bundles = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "ops.yaml"
        path.write_text(POLICY, encoding="utf-8")
        bundles.append(load_policy_file(path).to_bytes(sources=True))
    assert bundles[0] == bundles[1]
    assert str(tmp_path).encode() not in bundles[0]
    assert load_bundle(bundles[0]).source_files == ("ops.yaml",)


def test_sources_travel_when_asked(bundle: PolicyBundle) -> None:
    assert bundle.sources == {"ops.yaml": POLICY}
    assert load_bundle(bundle.to_bytes()).sources == {}
    assert load_bundle(bundle.to_bytes(sources=True)).sources == {"ops.yaml": POLICY}


def test_the_bytes_are_the_same_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(POLICY, encoding="utf-8")
    program = (
        "import sys, hashlib, bobcat;"
        "def_ = bobcat.load_policy_file('ops.yaml').to_bytes(sources=True);"
        "print(hashlib.sha256(def_).hexdigest())"
    )
    seen = set()
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": f"UTC+{len(seen)}"}
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, check=True, text=True
        )
        seen.add(run.stdout)
    assert len(seen) == 1


def test_host_rules_are_brought_by_who_loads() -> None:
    data = with_host_rules(denying, quiet, python_rule_priorities=(1, 9)).to_bytes()
    loaded = load_bundle(data, host_rules=(denying, quiet))
    assert loaded.python_rules == (("quiet", 9, quiet), ("denying", 1, denying))
    assert loaded.evaluate(bobcat.request_from_json({"tool": "rm"})).matched_rules == ("denying",)
    assert load_bundle(data, host_rules={"a": denying, "b": quiet}) == loaded


def changed() -> Any:
    def denying(request: Any, context: Any) -> Decision | None:
        return bobcat.allow() if vars() else None

    return denying


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ((), "missing_host_rule"),
        ((quiet,), "missing_host_rule"),
        ((changed(),), "host_rule_changed"),
        ((denying, quiet), "unknown_host_rule"),
        ((denying, denying), "unknown_host_rule"),
        (("denying",), "bad_host_rule"),
    ],
)
def test_other_host_rules_are_refused(given: tuple[Any, ...], code: str) -> None:
    data = with_host_rules(denying).to_bytes()
    with pytest.raises(BundleError) as caught:
        load_bundle(data, host_rules=given)
    assert caught.value.code == code


def test_a_manifest_cannot_put_another_callable_in_the_place_of_the_one_that_was_compiled() -> None:
    content = dict(file.unpack(with_host_rules(denying).to_bytes()).content)
    others = file.unpack(with_host_rules(changed()).to_bytes()).content[file.MANIFEST]
    manifest = json.loads(content[file.MANIFEST])
    manifest["host_rules"] = json.loads(others)["host_rules"]
    content[file.MANIFEST] = msgspec.json.encode(manifest, order="sorted")
    with pytest.raises(BundleError) as caught:
        load_bundle(file.pack(content), host_rules=(changed(),))
    assert (caught.value.code, str(caught.value)) == ("bad_manifest", "the manifest does not describe the policy")


@pytest.fixture
def key() -> bytes:
    return bytes(range(32))


def test_a_signed_bundle_is_loaded_by_who_trusts_the_key(bundle: PolicyBundle, key: bytes) -> None:
    signed = bundle.to_bytes(private_key=key)
    assert signed == bundle.to_bytes(private_key=key.hex())
    public = sign.public_key(key)
    for trusted in ([public], [bytes.fromhex(public)], ["00" * 32, public]):
        assert load_bundle(signed, trusted_keys=trusted) == bundle
    assert load_bundle(signed) == bundle


def test_once_a_key_is_trusted_nothing_else_loads(bundle: PolicyBundle, key: bytes) -> None:
    public = sign.public_key(key)
    other = bundle.to_bytes(private_key=b"\1" * 32)
    forged = dict(file.unpack(bundle.to_bytes(private_key=key)).content)
    replaced = file.unpack(compile_policy("rules: []").to_bytes())
    forged.update({name: replaced.content[name] for name in (file.MANIFEST, file.IR)})
    del forged[file.SOURCE_MAP]
    for data, code in [
        (bundle.to_bytes(), "unsigned"),
        (other, "unsigned"),
        (file.pack(forged), "bad_signature"),
        (file.pack({**forged, file.SIGNATURES: b"[{}]"}), "bad_signature"),
        (file.pack({**forged, file.SIGNATURES: b"[" * 1000}), "bad_signature"),
    ]:
        with pytest.raises(BundleError) as caught:
            load_bundle(data, trusted_keys=[public])
        assert caught.value.code == code


@pytest.mark.parametrize("bad", ["", "zz", "00", b"short", "é" * 32])
def test_a_malformed_key_is_refused(bundle: PolicyBundle, key: bytes, bad: Any) -> None:
    with pytest.raises(BundleError) as caught:
        load_bundle(bundle.to_bytes(private_key=key), trusted_keys=[bad])
    assert caught.value.code == "bad_key"


def test_only_a_bundle_looks_like_one(bundle: PolicyBundle) -> None:
    assert is_bundle(bundle.to_bytes())
    assert not is_bundle(POLICY.encode())
    assert not is_bundle(b"")
