"""A bundle with any content behind right digests loads and decides, or is refused with a code: nothing else happens."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
from bobcat import load_bundle, request_from_json
from bobcat.bundle import PolicyBundle, file
from bobcat.errors import BundleError

V1 = Path(__file__).parents[1] / "bundles" / "v1"
CONTENT = {name: dict(file.unpack((V1 / f"{name}.bobcat").read_bytes()).content) for name in ("full", "lynx")}
REQUESTS = [request_from_json(line) for line in (V1 / "requests.jsonl").read_text(encoding="utf-8").splitlines()]

TOKENS = [
    *(b"", b"0", b"-1", b"1e999", b"9" * 40, b"1.5", b"null", b"true", b'"x"', b'"\\ud800"', b"\xff", b"\x00", b" "),
    *(b"[", b"]", b"{", b"}", b",", b":", b'"', b"\\", b"[]", b"{}", b'{"map":{}}', b'{"float":"nan"}', b'{"set":[]}'),
    *(
        b"strict",
        b"lynx",
        b"matches",
        b"in",
        b"exists",
        b"between",
        b"args",
        b"tool",
        b"declared",
        b"all",
        b"any",
        b"not",
    ),
    *(
        b"allow",
        b"deny",
        b"transform",
        b"re2",
        b"python",
        b"(a*)*",
        b"((((",
        b"(?=x)",
        b"\\\\1",
        b"[[:alpha:]]",
        b"{1000}",
    ),
]


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """`data` with a few stretches replaced by tokens of the format, or by other stretches of itself."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        elsewhere = draw(st.integers(0, len(data)))
        piece = draw(st.sampled_from(TOKENS) | st.just(data[elsewhere : elsewhere + 40]))
        data = data[:start] + piece + data[end:]
    return data


def decide_or_refuse(content: dict[str, bytes]) -> None:
    try:
        bundle = load_bundle(file.pack(content))
    except BundleError as error:
        assert error.code  # noqa: PT017  # both outcomes are right; a refusal has a code
        return
    for request in REQUESTS:
        bundle.evaluate(request)
    read_everything(bundle)


def read_everything(bundle: PolicyBundle) -> None:
    try:
        assert bundle.rules is not None
        assert bundle.sources is not None
        for request in REQUESTS[:3]:
            assert bundle.explain(request).to_text()
        assert load_bundle(bundle.to_bytes()) == bundle
    except BundleError as error:
        assert error.code in {"bad_ir", "bad_source_map", "bad_sources"}  # noqa: PT017


@settings(max_examples=campaign.examples(250))
@given(st.data(), st.sampled_from(["full", "lynx"]))
def test_a_damaged_policy_behind_right_digests(data: st.DataObject, name: str) -> None:
    content = dict(CONTENT[name])
    ir = data.draw(damaged(content[file.IR]))
    manifest = json.loads(content[file.MANIFEST])
    manifest["digest"] = hashlib.sha256(b"bobcat/ir/v1\0" + ir).hexdigest()
    decide_or_refuse({**content, file.IR: ir, file.MANIFEST: msgspec.json.encode(manifest, order="sorted")})


@settings(max_examples=campaign.examples(150))
@given(st.data(), st.sampled_from([file.MANIFEST, file.SOURCE_MAP, file.SOURCES, file.SIGNATURES]))
def test_another_damaged_section_behind_right_digests(data: st.DataObject, section: str) -> None:
    content = dict(CONTENT["full"])
    decide_or_refuse({**content, section: data.draw(damaged(content[section]))})


@settings(max_examples=campaign.examples(150))
@given(st.data())
def test_a_damaged_file(data: st.DataObject) -> None:
    whole = (V1 / "lynx.bobcat").read_bytes()
    broken = data.draw(damaged(whole))
    if broken != whole:
        try:
            load_bundle(broken)
        except BundleError as error:
            assert error.code  # noqa: PT017
        else:
            raise AssertionError("a file that is not what was written has loaded")
