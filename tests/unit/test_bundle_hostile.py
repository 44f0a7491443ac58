"""Damaged and hostile bundle files: each is refused with a code, and none reaches the decoder by luck."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bobcat.bundle import file, load_bundle
from bobcat.bundle.model import PolicyBundle
from bobcat.bundle.source_map import RuleSource, SourceMap
from bobcat.errors import BundleError
from bobcat.ir import construct

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "bundle-format.md"
DOCUMENTED = frozenset(re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8").partition("## Codes")[2], re.MULTILINE))


def small() -> bytes:
    rule = construct.rule("r", construct.leaf("args", ("cmd",), "matches", "^rm", "re2"), "deny")
    source = SourceMap(("p.yaml",), (RuleSource(0, 1, 1, 2, 1, "", 0, ((1, 5, 1, 9),)),))
    return PolicyBundle.from_policy(construct.policy([rule]), source_map=source).to_bytes()


SMALL = small()
CONTENT = dict(file.unpack(SMALL).content)
DIGEST = file.unpack(SMALL).policy_digest


def refusal(data: bytes) -> str:
    with pytest.raises(BundleError) as caught:
        load_bundle(data)
    assert str(caught.value)
    assert caught.value.code in DOCUMENTED
    return caught.value.code


def packed(**sections: bytes | None) -> bytes:
    """The small bundle with some sections replaced, its table right again."""
    content = {name: body for name, body in {**CONTENT, **sections}.items() if body is not None}
    return file.pack(content)


def table(rows: list[tuple[bytes, int, bytes]], **fields: int) -> bytes:
    """A bundle with any table, its check sum right."""
    head = struct.pack(">8sHH", file.MAGIC, fields.get("version", 1), fields.get("count", len(rows)))
    for name, flags, body in rows:
        length = fields.get("length", len(body))
        digest = hashlib.sha256(b"bobcat/ir/v1\0" + body if name == b"ir" else body).digest()
        head += struct.pack(">16sIQ32s", name, flags, length, digest)
    return head + hashlib.sha256(head).digest() + b"".join(body for _, _, body in rows)


_START, _, _REST = CONTENT["ir"].partition(b'"rules":[')
HEADER, RULE = _START + b'"rules":[]}', _REST[:-2]
ROWS = [(b"manifest", 1, CONTENT["manifest"]), (b"ir", 1, CONTENT["ir"])]


def test_the_small_bundle_loads() -> None:
    assert load_bundle(SMALL).rule_count == 1
    assert load_bundle(table(ROWS)) == load_bundle(SMALL)


def test_a_file_cut_anywhere_is_refused() -> None:
    codes = {refusal(SMALL[:end]) for end in range(len(SMALL))}
    assert codes == {"not_a_bundle", "truncated"}


def test_a_file_with_more_at_its_end_is_refused() -> None:
    assert refusal(SMALL + b"\0") == "bad_table"


def test_a_flipped_bit_anywhere_is_refused() -> None:
    codes = set()
    for offset in range(len(SMALL)):
        damaged = bytearray(SMALL)
        damaged[offset] ^= 1 << (offset % 8)
        codes.add(refusal(bytes(damaged)))
    assert codes <= {"not_a_bundle", "unsupported_format", "too_large", "truncated", "digest_mismatch"}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not_a_bundle"),
        (b"rules: []\n", "not_a_bundle"),
        (b"\0" * 100_000, "not_a_bundle"),
        (table(ROWS, version=2), "unsupported_format"),
        (table(ROWS, version=0), "unsupported_format"),
        (table(ROWS, count=65535), "too_large"),
        (table(ROWS, count=3), "digest_mismatch"),
        (table(ROWS, length=2**64 - 1), "too_large"),
        (table([(b"a", 0, b""), (b"b", 0, b"")], length=2**20), "truncated"),
        (table([*ROWS, (b"future", 1, b"x")]), "unknown_section"),
        (table([*ROWS, (b"ir", 1, b"x")]), "bad_table"),
        (table([*ROWS, (b"future", 2, b"x")]), "bad_table"),
        (table([*ROWS, (b"\xff", 0, b"x")]), "bad_table"),
        (table([*ROWS, (b"", 0, b"x")]), "bad_table"),
        (table([*ROWS, (b"a b", 0, b"x")]), "bad_table"),
        (table(ROWS[:1]), "missing_section"),
        (table(ROWS[1:]), "missing_section"),
        (table([]), "missing_section"),
        (packed(manifest=b""), "bad_manifest"),
        (packed(manifest=b"{}"), "bad_manifest"),
        (packed(manifest=b"\xff\xfe"), "bad_manifest"),
        (packed(manifest=b"[" * 1_000_000), "bad_manifest"),
        (packed(manifest=CONTENT["manifest"] + b" "), "bad_manifest"),
        (packed(manifest=CONTENT["manifest"].replace(b'{"def', b'{"x":1,"def')), "bad_manifest"),
        (packed(manifest=CONTENT["manifest"].replace(b'"rule_count":1', b'"rule_count":2')), "bad_manifest"),
        (packed(ir=b""), "digest_mismatch"),
        (packed(ir=CONTENT["ir"] + b"\n"), "digest_mismatch"),
        (packed(ir=CONTENT["ir"].replace(b"^rm", b"^ls")), "digest_mismatch"),
        (packed(manifest=CONTENT["manifest"].replace(DIGEST.hex().encode(), b"0" * 64)), "digest_mismatch"),
    ],
)
def test_what_pack_would_not_write_is_refused(data: bytes, code: str) -> None:
    assert refusal(data) == code


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[" * 1_000_000,
        b'[["p.yaml"],[]]',
        b'[["p.yaml"],[[9,1,1,1,1,"",0,[]]]]',
        b'[["p.yaml"],[[0,1,1,1,1,"\xff",0,[]]]]',
    ],
)
def test_a_malformed_source_map_is_refused_by_what_reads_it(body: bytes) -> None:
    bundle = load_bundle(packed(source_map=body))
    for read in (lambda: bundle.source_map, lambda: bundle.rules, lambda: bundle.to_bytes()):
        with pytest.raises(BundleError) as caught:
            read()
        assert caught.value.code == "bad_source_map"


def test_malformed_sources_are_refused_by_what_reads_them() -> None:
    for body in (b'{"p.yaml":1}', b"[]", b"\xff"):
        bundle = load_bundle(packed(sources=body))
        with pytest.raises(BundleError) as caught:
            _ = bundle.sources
        assert caught.value.code == "bad_sources"


def test_an_unknown_section_that_is_not_critical_is_skipped() -> None:
    assert load_bundle(table([*ROWS, (b"future", 0, b"anything")])) == load_bundle(SMALL)


def redigested(change: Callable[[dict[str, Any]], None]) -> bytes:
    """The small bundle with its IR changed and every digest right again: only the meaning is hostile."""
    policy = json.loads(CONTENT["ir"])
    change(policy)
    rules = [msgspec.json.encode(rule, order="sorted") for rule in policy.pop("rules")]
    return with_rules(rules, msgspec.json.encode({**policy, "rules": []}, order="sorted"))


def with_rules(rules: list[bytes], header: bytes) -> bytes:
    return with_ir(header[:-2] + b",".join(rules) + b"]}", len(rules))


def with_ir(ir: bytes, rule_count: int = 1) -> bytes:
    manifest = json.loads(CONTENT["manifest"])
    manifest["digest"] = hashlib.sha256(b"bobcat/ir/v1\0" + ir).hexdigest()
    manifest["rule_count"] = rule_count
    return packed(ir=ir, manifest=msgspec.json.encode(manifest, order="sorted"), source_map=None)


@pytest.mark.parametrize(
    ("ir", "code"),
    [
        (b"", "ir_syntax"),
        (b"null", "bad_ir"),
        (b"[" * 1_000_000, "ir_limit"),
        (CONTENT["ir"][:-1], "ir_syntax"),
        (CONTENT["ir"] + b"\n", "bad_manifest"),
        (CONTENT["ir"].replace(b'"ir_version":1', b'"ir_version": 1'), "bad_manifest"),
        (CONTENT["ir"].replace(b'"ir_version":1', b'"ir_version":2'), "ir_version"),
        (CONTENT["ir"].replace(b'"rules":', b'"extra":1,"rules":'), "bad_ir"),
        (CONTENT["ir"].replace(b'"on_no_match":"deny"', b'"on_no_match":"allow"'), "bad_manifest"),
    ],
)
def test_an_ir_with_the_right_digest_must_be_that_of_the_manifest(ir: bytes, code: str) -> None:
    assert ir != CONTENT["ir"]
    assert refusal(with_ir(ir)) == code


def test_an_ir_in_another_arrangement_is_refused_when_it_is_read() -> None:
    bundle = load_bundle(with_ir(CONTENT["ir"].replace(b'"op":"matches"', b'"op": "matches"')))
    with pytest.raises(BundleError) as caught:
        _ = bundle.ir
    assert caught.value.code == "bad_ir"


def test_host_rules_must_be_those_of_the_policy() -> None:
    host = {"code": "cpython-311:00", "k": "host", "module": "m", "name": "h", "priority": 0, "qualname": "h"}
    assert refusal(with_rules([RULE, json.dumps(host, separators=(",", ":")).encode()], HEADER)) == "host_rules"
    manifest = json.loads(CONTENT["manifest"])
    manifest["host_rules"] = [host]
    data = packed(manifest=msgspec.json.encode(manifest, order="sorted"))
    assert refusal(data) == "missing_host_rule"


def set_match(match: Any) -> Callable[[dict[str, Any]], None]:
    def change(policy: dict[str, Any]) -> None:
        policy["rules"][0]["match"] = match

    return change


def leaf(**fields: Any) -> dict[str, Any]:
    return {"dialect": None, "head": "args", "k": "leaf", "op": "eq", "operand": 1, "path": ["x"], **fields}


def nested(depth: int) -> dict[str, Any]:
    node = leaf()
    for _ in range(depth):
        node = {"item": node, "k": "not"}
    return node


def test_redigesting_alone_changes_nothing() -> None:
    assert load_bundle(redigested(lambda policy: None)).rule_count == 1
    assert load_bundle(redigested(set_match(leaf()))).rule_count == 1


@pytest.mark.parametrize(
    "change",
    [
        set_match(None),
        set_match({}),
        set_match({"k": "nand", "items": []}),
        set_match(leaf(head="env")),
        set_match(leaf(op="ne")),
        set_match(leaf(op="in", operand="abc")),
        set_match(leaf(op="matches", operand="(", dialect="re2")),
        set_match(leaf(op="matches", operand="(?=a)", dialect="re2")),
        set_match(leaf(op="matches", operand="a" * 1001, dialect="re2")),
        set_match(leaf(op="matches", operand="(((a{1000}){1000}){1000})", dialect="re2")),
        set_match(leaf(op="matches", operand=5, dialect="re2")),
        set_match(leaf(op="between", operand=[1])),
        set_match(leaf(op="gt", operand=None)),
        set_match(leaf(operand={"float": "nan"})),
        set_match(leaf(operand={"map": {}, "set": []})),
        set_match(leaf(operand=int("9" * 1300))),
        set_match(nested(41)),
        lambda policy: policy.update(ir_version=2),
        lambda policy: policy["rules"][0].update(id=5),
        lambda policy: policy["rules"][0].update(verdict="perhaps"),
        lambda policy: policy["rules"][0].update(extra=1),
        lambda policy: policy["rules"][0].update(timeout_seconds=-1),
        lambda policy: policy["rules"][0].update(verdict="transform"),
        lambda policy: policy["defaults"].update(on_no_match="maybe"),
    ],
)
def test_an_ir_with_right_digests_and_a_wrong_meaning_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    data = redigested(change)
    assert data != redigested(lambda policy: None)
    refusal(data)


@pytest.mark.parametrize("opening", [b'{"k":"not","item":', b'{"k":"all","items":[', b"[", b'{"map":{"a":'])
def test_a_match_of_any_depth_is_refused_in_bounded_time(opening: bytes) -> None:
    before, _, after = RULE.partition(b'"match":')
    for closing in (b"", after):
        refusal(with_rules([before + b'"match":' + opening * 200_000 + closing], HEADER))


def test_a_rule_that_is_no_utf_8_is_refused() -> None:
    assert load_bundle(with_rules([RULE], HEADER)).rule_count == 1
    for damage in (b"\xff", b"\xed\xa0\x80", b"\xc0\xaf"):
        refusal(with_rules([RULE.replace(b"^rm", damage)], HEADER))


def test_more_rules_than_the_limit_are_refused() -> None:
    assert refusal(with_rules([RULE] * 100_001, HEADER)) == "ir_limit"
