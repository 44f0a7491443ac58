"""Canonical bytes and digests of the IR."""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bobcat.ir import canonical, construct, schema
from bobcat.ir.canonical import EncodingError
from bobcat.ir.schema import Defaults, HostRule, IrPolicy, IrRule, Leaf

HASH_FILE = Path(__file__).parents[1] / "vectors" / "schema_hash.txt"


def policy(*rules: IrRule | HostRule, **fields: object) -> IrPolicy:
    return construct.policy(rules, **fields)  # type: ignore[arg-type]


def rule(id: str = "r", **fields: object) -> IrRule:
    match = construct.leaf("tool", (), "eq", "shell")
    return construct.rule(id, match, "deny", **fields)  # type: ignore[arg-type]


HOST = HostRule("h", 0, "m", "q", "cpython-311:00")


def structure(value: Any, numbers: dict[str, int]) -> Any:
    """The part of a JSON schema that encodings depend on: no docstrings, and numbers in place of class names."""
    if isinstance(value, dict):
        return {
            key: numbers.setdefault(item, len(numbers)) if key == "$ref" else structure(item, numbers)
            for key, item in sorted(value.items())
            if key not in ("title", "description", "discriminator")
        }
    return [structure(item, numbers) for item in value] if isinstance(value, list) else value


def structure_hash(kind: type) -> str:
    """The hash of the structure of a class and, in order of their first use, of all classes that it names."""
    whole = msgspec.json.schema(kind)
    numbers: dict[str, int] = {}
    parts = [structure({"$ref": whole["$ref"]}, numbers)]
    while len(parts) <= len(numbers):
        name = list(numbers)[len(parts) - 1]
        parts.append(structure(whole["$defs"][name.rpartition("/")[2]], numbers))
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def test_the_schema_of_the_ir_is_the_committed_one() -> None:
    found = structure_hash(IrPolicy)
    assert f"{schema.IR_VERSION} {found}" == HASH_FILE.read_text(encoding="ascii").strip(), (
        "the IR changed: raise IR_VERSION, unless the bytes of every policy without the addition stay; keep the old "
        f"bundles loading, then write `{schema.IR_VERSION} {found}` to tests/vectors/schema_hash.txt"
    )


def test_keys_are_sorted_and_nothing_is_spaced() -> None:
    node = Leaf("args", ("é",), "eq", {"map": {"b": 1.5, "a": [1e300, 2**70, -7, True, None, "\n\u2028"]}})
    expected = {"dialect": None, "head": "args", "k": "leaf", "op": "eq", "operand": node.operand, "path": ["é"]}
    text = canonical.encode(node).decode()
    assert json.loads(text) == expected
    assert text.startswith('{"dialect":null,"head":"args","k":"leaf","op":"eq","operand":{"map":{"a":[1e300,')
    assert " " not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (1e16, "1e16"),
        (5e-324, "5e-324"),
        (0.1, "0.1"),
        (2**64, "18446744073709551616"),
        (-(2**200), str(-(2**200))),
        ("\U0001f600é", '"\U0001f600é"'),
        ("\x00\x1f\x7f", '"\\u0000\\u001f\x7f"'),
    ],
)
def test_scalars_have_one_spelling(value: object, text: str) -> None:
    assert canonical.encode_value(value).decode() == text


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, [-math.inf], {"map": {"a": math.nan}}, b"x", {1: 2}, {"s"}, object()]
)
def test_a_value_without_a_form_is_refused(value: object) -> None:
    with pytest.raises(EncodingError):
        construct.leaf("args", ("x",), "eq", value)


def test_a_transform_refuses_what_has_no_form() -> None:
    with pytest.raises(EncodingError):
        construct.transform("set", ("x",), [math.nan])


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_a_lone_surrogate_is_refused_by_name(text: str) -> None:
    with pytest.raises(EncodingError, match=r"lone surrogate U\+D"):
        canonical.policy_digest(policy(rule(reason=text)))


def test_very_deep_values_are_refused() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises((EncodingError, RecursionError)):
        canonical.encode_value(value)


def test_a_policy_is_its_header_around_its_rules() -> None:
    for count in (0, 1, 3):
        node = policy(*(rule(f"r{index}") for index in range(count)))
        data, header = canonical.encode(node), canonical.header(node)
        assert data == header[:-2] + b",".join(canonical.encode(item) for item in node.rules) + b"]}"
        assert canonical.has_header(data, header)
        assert not canonical.has_header(data, canonical.header(policy(profile="lynx")))
        assert msgspec.json.decode(data, type=IrPolicy) == node


def test_the_host_rules_can_be_read_from_the_bytes() -> None:
    other = HostRule("g", 7, "m", "q", "cpython-311:11")
    assert canonical.host_rules(canonical.encode(policy(rule("a"), HOST, rule("b", priority=3), other))) == (
        other,
        HOST,
    )
    assert canonical.host_rules(canonical.encode(policy(rule("a")))) == ()
    for data in (b"", b"[]", b'{"rules":[{"code":1}]}', b"[" * 100_000):
        with pytest.raises(EncodingError):
            canonical.host_rules(data)


def test_a_digest_is_made_as_documented() -> None:
    node = policy(rule("a"), rule("b"))
    for found, part in [
        (canonical.policy_digest(node), canonical.encode(node)),
        (canonical.rule_digest(node.rules[0]), canonical.encode(node.rules[0])),
        (canonical.digest(canonical.header(node)), canonical.encode(policy())),
    ]:
        assert found == hashlib.sha256(b"bobcat/ir/v1\0" + part).digest() == canonical.digest(part)


def test_every_field_of_a_rule_is_in_its_digest() -> None:
    base = rule("r")
    variants = [
        rule("s"),
        rule("r", priority=1),
        rule("r", reason="x"),
        rule("r", approvers=("a",)),
        rule("r", approvers=("a", "b")),
        rule("r", approvers=("b", "a")),
        rule("r", timeout_seconds=1),
        rule("r", transform=construct.transform("set", (), {"map": {}})),
        rule("r", transform=construct.transform("set", ("a",), 1)),
        rule("r", transform=construct.transform("set", ("a",), 1.0)),
        rule("r", transform=construct.transform("append", ("a",), 1)),
        rule("r", transform=construct.transform("delete", ("a",), None)),
        construct.rule("r", base.match, "allow"),
        construct.rule("r", construct.TRUE, "deny"),
        HostRule("r", 0, "m", "q", "c"),
        HostRule("r", 0, "m", "q", "d"),
        HostRule("r", 0, "m", "p", "c"),
        HostRule("r", 0, "n", "q", "c"),
    ]
    digests = {canonical.rule_digest(item) for item in (base, *variants)}
    assert len(digests) == len(variants) + 1


def test_the_header_and_the_order_of_rules_are_in_the_digest() -> None:
    a, b = rule("a"), rule("b")
    policies = [
        policy(a, b),
        policy(b, a),
        policy(a),
        policy(a, b, profile="lynx"),
        policy(a, b, defaults=Defaults("allow", "approve_required", "deny")),
        policy(a, b, defaults=Defaults("deny", "deny", "deny")),
        policy(a, b, defaults=Defaults("deny", "approve_required", "continue")),
        policy(a, b, language_version=2),
    ]
    assert len({canonical.policy_digest(item) for item in policies}) == len(policies)


def test_rules_are_put_in_evaluation_order() -> None:
    ordered = policy(rule("low"), HOST, rule("high", priority=9), rule("low2"), HostRule("first", 9, "m", "q", "c"))
    names = [item.name if isinstance(item, HostRule) else item.id for item in ordered.rules]
    assert names == ["high", "first", "low", "low2", "h"]


def test_a_whole_timeout_has_one_spelling() -> None:
    assert canonical.rule_digest(rule(timeout_seconds=600.0)) == canonical.rule_digest(rule(timeout_seconds=600))
    assert canonical.rule_digest(rule(timeout_seconds=600.5)) != canonical.rule_digest(rule(timeout_seconds=600))


def test_digests_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "from bobcat.ir import canonical, construct;"
        "m = construct.any_([construct.leaf('args', (n,), 'in', list({'x', 'y', n})) for n in {'a', 'b', 'c', 'd'}]);"
        "print(canonical.policy_digest(construct.policy([construct.rule('r', m, 'deny')])).hex())"
    )
    digests = set()
    for seed in ("0", "1", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True, text=True
        )
        digests.add(run.stdout.strip())
    assert len(digests) == 1
