"""The native hook and the Python hook give equal answers and records on generated calls and policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bobcat.bundle import Policy
from bobcat.cli.hooks.answer import answer, choose
from bobcat.cli.hooks.call import HOSTS, HookError, read_call
from bobcat.cli.hooks.candidate import divergences
from bobcat.cli.hooks.record import Recorded, record_body
from bobcat.decision_log import verify
from bobcat.pdp import evaluate
from bobcat.text.json_text import json_text
from campaign import examples
from hooks.hosts import Ended, fields, native
from strategies import KEYS, TEXTS, policies

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(TEXTS),
    st.text(), st.just("\ud800"), st.just(1 << 4100),
)  # fmt: skip
KEYED = st.text(max_size=3)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYED, inner, max_size=3))
)
ARGS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3)
DAMAGE = st.one_of(
    st.none(),
    st.tuples(st.sampled_from(["tool_name", "tool_input", "cwd", "session_id", "hook_event_name", "toolArgs"]), VALUES),
)


def expected(policy: Policy, host: Any, text: bytes, *, grant: bool) -> tuple[Any, Any]:
    """The answer and the record of the Python hook; "refused" for none."""
    try:
        call = read_call(host, text)
        decision = evaluate(policy, call.request)
        said = answer(call, decision, grant=grant)
    except HookError:
        return "refused", "refused"
    try:
        diverged = divergences(None, policy, (call.request, decision), None)
        more = {"diverged": diverged} if diverged else {}
        body = record_body(call, choose(call, decision, grant=grant), Recorded(policy.id, decision, more))
    except HookError:
        body = "refused"
    return json.loads(said) if said else None, body


@pytest.mark.campaign
@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    policy=policies(), host=st.sampled_from(HOSTS), tool=st.sampled_from(["a", "b", "shell", *TEXTS]), args=ARGS,
    grant=st.booleans(), damage=DAMAGE,
)  # fmt: skip
def test_both_hooks_answer_alike(
    tmp_path: Path, policy: Any, host: Any, tool: str, args: Any, grant: bool, damage: Any
) -> None:
    bundle = Policy.from_policy(policy)
    path = tmp_path / "policy.bobcat"
    bundle.save(path)
    given_fields = fields(host, tool, args)
    if damage is not None:
        given_fields[damage[0]] = damage[1]
    text = json.dumps(given_fields).encode()
    flags = ["--grant"] if grant else []
    wanted, body = expected(bundle, host, text, grant=grant)
    assert json_text(answered(native(host, path, text, *flags))) == json_text(wanted)
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"")
    log.with_name("log.jsonl-head").unlink(missing_ok=True)
    logged = answered(native(host, path, text, *flags, "--log", str(log)))
    assert json_text(logged) == json_text("refused" if body == "refused" else wanted)
    lines = log.read_text().splitlines()
    assert [json_text(json.loads(line)["body"]) for line in lines] == ([] if body == "refused" else [json_text(body)])
    assert verify(log).ok


def answered(ended: Ended) -> Any:
    """The answer of a hook; "refused" for none."""
    assert ended.code in (0, 2)
    assert ended.err.count(b"\n") == (ended.code == 2)
    return "refused" if ended.code == 2 else ended.answer
