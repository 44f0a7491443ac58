"""The JSON Schema accepts what the compiler accepts, and finds most of what it refuses."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
import yaml

from bobcat.frontend.strict.json_schema import policy_schema
from bobcat.frontend.strict.policy import compile_strict
from bobcat.language.operators import OPERATORS
from diagnostic_examples import sections
from oracle.corpus import load

VALIDATOR = jsonschema_rs.Draft202012Validator(policy_schema())
"""The corpus has a thousand policies: `jsonschema` takes minutes for them."""

# What a schema cannot see: names, orders, sums, patterns, and what is lost once the text is read.
BEYOND = {
    "E0105",
    "E0106",
    "E0110",
    "E0111",
    "E0112",
    "E0210",
    "E0213",
    "E0215",
    "E0216",
    "E0217",
    "E0218",
    "E0403",
    "E0404",
    "E0405",
    "E0407",
    "E0408",
    "E0410",
    "E0413",
    "E0415",
    "E0501",
    "E0502",
    "E0503",
    "E0701",
    "E0703",
    "E0104",
    "E0101",
    "E1001",
    "E1004",
    "E1008",
    "E1009",
}


def data_of(text: str) -> Any:
    return yaml.load(text, yaml.BaseLoader)


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(policy_schema())


def test_every_call_gives_a_schema_of_its_own() -> None:
    first = policy_schema()
    before = copy.deepcopy(first)
    first["properties"].clear()
    assert policy_schema() == before


@pytest.mark.parametrize("group", load(), ids=lambda group: group.name)
def test_policies_of_the_corpus_are_valid(group: Any) -> None:
    source = group.policy
    lowered = compile_strict(source, "p")
    assert lowered.data is not None
    VALIDATOR.validate(lowered.data())


@pytest.mark.parametrize(
    "section",
    [
        item for item in sections() if item.instead and item.code[:3] not in ("E11", "E13")
    ],  # those of suites and of invariants
    ids=lambda item: item.code,
)
def test_what_the_documentation_recommends_is_valid(section: Any) -> None:
    lowered = compile_strict(section.instead, "p")
    assert lowered.data is not None
    VALIDATOR.validate(lowered.data())


@pytest.mark.parametrize(
    "section",
    [
        item
        for item in sections()
        if item.example and item.code.startswith("E0") and item.code[:3] != "E09" and item.code not in BEYOND
    ],
    ids=lambda item: item.code,
)
def test_most_mistakes_are_found_while_typing(section: Any) -> None:
    assert not VALIDATOR.is_valid(yaml.safe_load(section.example))


@pytest.mark.parametrize("operator", OPERATORS)
def test_arguments_named_like_operators_are_valid_when_quoted(operator: str) -> None:
    VALIDATOR.validate({"rules": [{"match": {f'args["{operator}"]': 1}, "decision": "deny"}]})


@pytest.mark.parametrize(
    "match",
    [
        {"args.patches": "a", "args.x.age": None, 'args.x["regex"]': "a", "args.length": 5, "args.x.length": 5},
        {"args.eq": {"a": [1]}, "args.exists": True, "args.contains": "a", "context.extra.contains_any": ["a"]},
        {'args["a.b"].in': ["x"], "args['eq']": 1, "args.any.any.lower.eq": "a", "args.x.eq": {"ref": "tool"}},
    ],
)
def test_keys_of_every_form_are_valid(match: dict[str, Any]) -> None:
    source = {"rules": [{"match": match, "decision": "deny"}]}
    assert compile_strict(source, "p").policy is not None
    VALIDATOR.validate(source)


@pytest.mark.parametrize(
    "match",
    [
        {"args.in": [1]},
        {"args.between": [1, 2]},
        {"args.eq": "x"},
        {"args.contains": 5},
        {"args.x": [1]},
        {"context.extra.x": {"gt": 1}},
        {"args.any": [1]},
        {"args.x.startswith": "a"},
        {"args.x.!=": "a"},
    ],
    ids=str,
)
def test_keys_and_operands_that_do_not_fit_are_invalid(match: dict[str, Any]) -> None:
    source = {"rules": [{"match": match, "decision": "deny"}]}
    assert compile_strict(source, "p").policy is None
    assert not VALIDATOR.is_valid(source)
