"""The native hook decides by policies of layers as the core in Python does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bobcat.cli.hooks.answer import answer
from bobcat.cli.hooks.call import HOSTS, read_call
from bobcat.pdp import evaluate
from bobcat.text.json_text import json_text
from campaign import examples
from hooks.hosts import fields, native
from layer_strategies import joined, layered_policies
from oracle.layers import LayerOf
from strategies import KEYS, TEXTS, json_values


@pytest.mark.campaign
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    made=layered_policies(),
    host=st.sampled_from(HOSTS),
    tool=st.sampled_from(["a", "ab", "b", *TEXTS]),
    args=st.dictionaries(st.sampled_from(KEYS), json_values, max_size=3),
)
def test_both_hooks_decide_alike_by_layers(
    tmp_path: Path, made: tuple[list[LayerOf], str], host: Any, tool: str, args: dict[str, Any]
) -> None:
    policy = joined(*made)
    path = tmp_path / "policy.bobcat"
    policy.save(path)
    text = json.dumps(fields(host, tool, args)).encode()
    call = read_call(host, text)
    expected = answer(call, evaluate(policy, call.request), grant=False)
    done = native(host, path, text)
    assert json_text(json.loads(done.out) if done.out else None) == json_text(
        json.loads(expected) if expected else None
    )
