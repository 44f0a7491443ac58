"""Plain scalars mean what YAML 1.2 says, and what YAML 1.1 made of them is never guessed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat.frontend.strict.policy import compile_strict
from bobcat.ir.schema import IrRule, Leaf
from bobcat.lint.observed import reported


def operand(text: str) -> Any:
    lowered = compile_strict(f"rules:\n  - match:\n      args.x: {text}\n    decision: deny\n", "p.yaml")
    assert lowered.policy is not None, lowered.findings
    rule = lowered.policy.rules[0]
    assert isinstance(rule, IrRule)
    assert isinstance(rule.match, Leaf)
    return rule.match.operand


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "NO",
        "No",
        "on",
        "off",
        "yes",
        "Yes",
        "y",
        "n",
        "017",
        "0123",
        "1_000",
        "12:30:45",
        "2026-01-01",
        "0b11",
        "1e",
        "+",
        ".",
        "1.2.3",
        "0o9",
        "0xg",
        "nUll",
        "tRue",
        "infinity",
        "nan",
        "1:2",
        "2026-01-01T00:00:00Z",
        "00.5",
    ],
)
def test_what_yaml_1_2_calls_a_string_is_a_string(text: str) -> None:
    assert operand(text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("~", None),
        ("", None),
        ("NULL", None),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("0o17", 15),
        ("0xFf", 255),
        ("1.5", 1.5),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1e3", 1000),
        ("1E-2", 0.01),
        ("9" * 400, int("9" * 400)),
    ],
)
def test_what_yaml_1_2_gives_a_type_has_that_type(text: str, value: object) -> None:
    found = operand(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("quoted", ["'5'", '"5"', "'null'", '"true"', "'~'"])
def test_quotes_make_a_string(quoted: str) -> None:
    assert operand(quoted) == quoted[1:-1]


@pytest.mark.parametrize("block", ["|-\n        5", ">-\n        5"])
def test_a_block_scalar_is_a_string(block: str) -> None:
    assert operand(block) == "5"


@given(st.integers())
def test_decimal_integers_of_any_sign_come_back(number: int) -> None:
    assert operand(str(number)) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back_exactly(number: float) -> None:
    assert operand(repr(number)) == number


@pytest.mark.parametrize(
    ("value", "help"),
    [
        ("no", "YAML 1.2 reads `no` as the string; write `false`"),
        ("on", "YAML 1.2 reads `on` as the string; write `true`"),
        ("'true'", "leave out the quotes: `true`"),
    ],
)
def test_a_word_where_a_bool_is_expected_is_an_error_with_the_fix(value: str, help: str) -> None:
    lowered = compile_strict(f"rules: [{{match: {{declared.reversible: {value}}}, decision: deny}}]", "p.yaml")
    assert [(item.code, item.help) for item in reported(lowered.findings)] == [("E0405", help)]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("no", "false"),
        ("1_000", "1000"),
        ("017", "15"),
        ("2026-01-01", None),
        ("12:30:45", None),
        ("0b11", "3"),
        ("-0b1_0", "-2"),
        ("0x1_F", "31"),
        ("-0x1F", "-31"),
    ],
)
def test_a_string_that_yaml_1_1_reads_otherwise_is_warned_about(text: str, plain: str | None) -> None:
    lowered = compile_strict(f"rules: [{{match: {{args.x: {text}}}, decision: deny}}]", "p.yaml")
    (found,) = reported(lowered.findings)
    assert found.code == "W0110"
    assert found.help is not None
    assert (f"write `{plain}`" in found.help) is (plain is not None)
