"""The native hook accepts the bundles that the loader in Python accepts, and no others."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bobcat import Policy
from bobcat.bundle import file, load
from bobcat.bundle.load import load_bundle
from bobcat.bundle.manifest import Manifest
from bobcat.errors import BundleError
from bobcat.ir import canonical
from campaign import examples
from hooks.hosts import POLICY, call, native

HEAD = struct.Struct(">8sHH")
ROW = struct.Struct(">16sIQ32s")


def python_accepts(data: bytes) -> bool:
    """Load the bundle with its manifest read by the core, and with it decoded in Python."""
    accepted = []
    for head in (load.manifest_head, lambda _: None):
        with mock.patch.object(load, "manifest_head", head):
            try:
                accepted.append(load_bundle(data).manifest)
            except BundleError as error:
                accepted.append(error.code)
    assert accepted[0] == accepted[1]
    return isinstance(accepted[0], Manifest)


def native_accepts(path: Path, data: bytes) -> bool:
    path.write_bytes(data)
    ended = native("codex", path, call("codex"))
    assert ended.code in (0, 2), ended
    assert ended.err.count(b"\n") == (ended.code == 2)
    return ended.code == 0


def repacked(rows: list[tuple[bytes, int, bytes]], *, version: int = 1, check: bytes | None = None) -> bytes:
    """A bundle of these sections, with the digests that they should have."""
    table = b"".join(
        ROW.pack(name, flags, len(body), canonical.digest(body) if name == b"ir" else hashlib.sha256(body).digest())
        for name, flags, body in rows
    )
    head = HEAD.pack(file.MAGIC, version, len(rows)) + table
    return head + (hashlib.sha256(head).digest() if check is None else check) + b"".join(body for *_, body in rows)


def parts() -> tuple[dict[str, Any], bytes]:
    content = file.unpack(Policy.compile(POLICY).to_bytes()).content
    return json.loads(content["manifest"]), content["ir"]


def written(manifest: Any, ir: bytes, *more: tuple[bytes, int, bytes]) -> bytes:
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return repacked([(b"manifest", 1, text), (b"ir", 1, ir), *more])


MANIFEST, IR = parts()
GOOD = written(MANIFEST, IR)
SPACED = json.dumps(MANIFEST, sort_keys=True).encode()

EDITED: dict[str, tuple[bytes, bool]] = {
    "as compiled": (GOOD, True),
    "with sources": (Policy.compile(POLICY).to_bytes(sources=True), True),
    "with an epoch": (Policy.compile(POLICY).to_bytes(epoch=7), True),
    "with an expiry": (written({**MANIFEST, "epoch": 7, "expires": "2026-02-28T12:00:00Z"}, IR), True),
    "with an expiry on no day": (written({**MANIFEST, "expires": "2026-02-29T12:00:00Z"}, IR), False),
    "with an expiry without a time zone": (written({**MANIFEST, "expires": "2026-02-28T12:00:00"}, IR), False),
    "with an expiry in small letters": (written({**MANIFEST, "expires": "2026-02-28t12:00:00z"}, IR), False),
    "with an expiry in parts of a second": (written({**MANIFEST, "expires": "2026-02-28T12:00:00.50Z"}, IR), False),
    "with an expiry that is a number": (written({**MANIFEST, "expires": 5}, IR), False),
    "with an unknown section": (written(MANIFEST, IR, (b"extra", 0, b"x")), True),
    "with an odd file name": (written({**MANIFEST, "source_files": ['a"\\\x08\x0c\n\x7f\x1fé😀']}, IR), True),
    "with a critical unknown section": (written(MANIFEST, IR, (b"extra", 1, b"x")), False),
    "with unknown flags": (written(MANIFEST, IR, (b"extra", 2, b"x")), False),
    "with a section twice": (written(MANIFEST, IR, (b"ir", 1, IR)), False),
    "with an invalid name": (written(MANIFEST, IR, (b"a b", 0, b"x")), False),
    "with a name with a gap": (written(MANIFEST, IR, (b"a\0b", 0, b"x")), False),
    "with a name that is not ASCII": (written(MANIFEST, IR, ("é".encode(), 0, b"x")), False),
    "with a name of digits": (written(MANIFEST, IR, (b"1a", 0, b"x")), False),
    "without a manifest": (repacked([(b"ir", 1, IR)]), False),
    "without a policy": (repacked([(b"manifest", 1, b"{}")]), False),
    "of another format": (repacked([(b"ir", 1, IR)], version=2), False),
    "with a wrong check": (repacked([(b"ir", 1, IR)], check=bytes(32)), False),
    "with seventeen sections": (repacked([(b"s%d" % at, 0, b"") for at in range(17)]), False),
    "with bytes behind": (GOOD + b"x", False),
    "with a spaced manifest": (repacked([(b"manifest", 1, SPACED), (b"ir", 1, IR)]), False),
    "with another digest": (written({**MANIFEST, "digest": "0" * 64}, IR), False),
    "with more rules": (written({**MANIFEST, "rule_count": MANIFEST["rule_count"] + 1}, IR), False),
    "with fewer rules than none": (written({**MANIFEST, "rule_count": -1}, IR), False),
    "with another language": (written({**MANIFEST, "language_version": 2}, IR), False),
    "with another profile": (written({**MANIFEST, "profile": "lynx"}, IR), False),
    "with no such profile": (written({**MANIFEST, "profile": "other"}, IR), False),
    "with other defaults": (
        written({**MANIFEST, "defaults": {**MANIFEST["defaults"], "on_no_match": "allow"}}, IR), False,
    ),
    "with a default too many": (written({**MANIFEST, "defaults": {**MANIFEST["defaults"], "x": "deny"}}, IR), False),
    "with an unknown key": (written({**MANIFEST, "x": 1}, IR), False),
    "with a negative epoch": (written({**MANIFEST, "epoch": -1}, IR), False),
    "with a huge epoch": (written({**MANIFEST, "epoch": 2**53}, IR), False),
    "with a null epoch": (written({**MANIFEST, "epoch": None}, IR), False),
    "with a number as its lynx id": (written({**MANIFEST, "lynx_id": 5}, IR), False),
    "with files that are no texts": (written({**MANIFEST, "source_files": [1]}, IR), False),
    **{
        f"without {key}": (written({name: value for name, value in MANIFEST.items() if name != key}, IR), False)
        for key in MANIFEST
    },
    "with a policy that is cut off": (written({**MANIFEST, "digest": canonical.digest(IR[:-1]).hex()}, IR[:-1]), False),
    "that is empty": (b"", False),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITED)
def test_an_edited_bundle_is_accepted_by_both_or_neither(tmp_path: Path, name: str) -> None:
    data, accepted = EDITED[name]
    assert (native_accepts(tmp_path / "edited", data), python_accepts(data)) == (accepted, accepted)


@pytest.mark.campaign
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, len(GOOD) - 1), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_bundle_is_accepted_by_both_or_neither(tmp_path: Path, at: int, byte: int, cut: bool) -> None:
    data = GOOD[:at] if cut else GOOD[:at] + bytes([byte]) + GOOD[at + 1 :]
    accepted = native_accepts(tmp_path / "damaged", data)
    assert accepted == python_accepts(data) == (data == GOOD)


def test_a_source_is_refused_with_the_command_that_compiles_it(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    ended = native("codex", path, call("codex"))
    assert ended.code == 2
    assert b"bobcat compile POLICY.yaml --output POLICY.bobcat" in ended.err


def test_host_rules_and_the_other_profile_are_refused(tmp_path: Path) -> None:
    def host_rule(request: Any, context: Any) -> Any:
        return open(request.tool)

    path = tmp_path / "policy.bobcat"
    for policy, reason in (
        (Policy.compile(POLICY, python_rules=[host_rule], uncompiled="callable"), b"host rules"),
        (Policy.compile("version: 1\nrules: []", profile="lynx"), b"lynx"),
    ):
        policy.save(path)
        ended = native("codex", path, call("codex"))
        assert (ended.code, ended.err.count(b"\n")) == (2, 1)
        assert reason in ended.err
        assert b"bobcat compile" in ended.err
