"""Both hooks keep equal records of generated sessions, and decide as a state that is held in memory."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bobcat import Policy
from bobcat._core import RunState
from bobcat.cli.hook import _handle, _Options
from bobcat.cli.hooks.answer import answer
from bobcat.cli.hooks.call import Call, HookError
from bobcat.cli.hooks.call_result import CallResult, read_input
from bobcat.model.frozen import thaw
from bobcat.pdp import evaluate
from bobcat.runtime.mediator import effective_args, with_args
from bobcat.runtime.memory import NotRemembered
from bobcat.text.json_text import json_text
from campaign import examples
from hooks.hosts import Ended, call, native, prompt, result
from hooks.test_hook_sessions import POLICY

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
WORDS = st.sampled_from(["a@b.example", "x", "mail x", "", "ü \U0001f600", '"\\\t', "7"])
TOOLS = st.sampled_from(["pay", "pay", "search", "mail", "write", "run_tests", "edit", "deploy", "moved", "none"])
ARGS = st.dictionaries(
    st.sampled_from(["amount", "to", "q"]),
    st.one_of(WORDS, st.integers(-3, 60), st.floats(allow_nan=False, allow_infinity=False), st.just("\ud800")),
    max_size=2,
)
RESPONSES = st.one_of(
    WORDS,
    st.builds(lambda word: {"email": word, "exit_code": 0}, WORDS),
    st.builds(lambda word: [{"type": "text", "text": json_text({"email": word})}], WORDS),
    st.builds(lambda word: {"llmContent": json_text([{"email": word}])}, WORDS),
    st.builds(lambda word: {"content": [{"text": word}], "isError": word == ""}, WORDS),
    st.sampled_from([None, "{", '{"email": "x", "email": "x"}', "\ud800", 1 << 5000, "[" * 300]),
)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("call"), TOOLS, ARGS),
        st.tuples(st.just("result"), st.integers(0, 8), RESPONSES),
        st.tuples(st.just("prompt"), WORDS),
    ),
    max_size=8,
)


def inputs(host: str, events: list[Any]) -> list[bytes]:
    """The inputs of a host. A result is that of a call before it."""
    found: list[bytes] = []
    calls: list[tuple[str, Any, dict[str, str]]] = []
    for number, (kind, *more) in enumerate(events):
        match kind:
            case "call":
                id = {} if host == "gemini" else {"tool_use_id": f"t{number % 3}"}
                calls.append((more[0], more[1], id))
                found.append(call(host, more[0], more[1], **id))
            case "result" if calls:
                tool, args, id = calls[more[0] % len(calls)]
                found.append(result(host, tool, args, more[1], **id))
            case "prompt":
                found.append(prompt(host, more[0]))
            case _:
                pass
    return found


def python_answer(host: Any, text: bytes, policy: Policy, directory: Path) -> str:
    try:
        answered = _handle(host, text, policy, _Options(False, None, None, directory))
    except HookError:
        return "refused"
    return json_text(json.loads(answered or "null"))


def native_answer(ended: Ended) -> str:
    return "refused" if ended.code == 2 else json_text(ended.answer)


def records(directory: Path) -> list[str]:
    """The records of the one session, without times, their checksums and the head."""
    lines = [line for path in directory.glob("*.session") for line in path.read_text().splitlines()[1:]]
    return [TIME.sub("TIME", line.partition("\t")[2]) for line in lines]


@pytest.mark.campaign
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(host=st.sampled_from(["claude-code", "codex", "gemini"]), events=EVENTS)
def test_both_hooks_keep_equal_records(tmp_path_factory: pytest.TempPathFactory, host: Any, events: list[Any]) -> None:
    place = tmp_path_factory.mktemp("session")
    policy = Policy.compile(POLICY)
    path = place / "policy.bobcat"
    policy.save(path)
    state = place / "native"
    for text in inputs(host, events):
        ours = native_answer(native(host, path, text, "--state", str(state)))
        assert ours == python_answer(host, text, policy, place / "python")
        assert records(state) == records(place / "python")


@pytest.mark.campaign
@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(host=st.sampled_from(["claude-code", "codex", "gemini"]), events=EVENTS, text=WORDS)
def test_a_session_decides_as_a_state_in_memory(
    tmp_path_factory: pytest.TempPathFactory, host: Any, events: list[Any], text: str
) -> None:
    place = tmp_path_factory.mktemp("session")
    policy = Policy.compile(POLICY)
    state = RunState(policy, task=text)
    ids: dict[tuple[str | None, str, str], list[str]] = {}
    given_events = [event for event in events if event[0] != "prompt"]
    for number, data in enumerate([prompt(host, text), *inputs(host, given_events)]):
        found = python_answer(host, data, policy, place)
        try:
            given = read_input(host, data)
        except HookError:
            continue
        state.next_reply()
        if isinstance(given, Call):
            request = replace(given.request, context=replace(given.request.context, task=text))
            decision = evaluate(policy, request, state=state)
            if found == "refused":
                assert "\\ud800" in json_text(given.request.args)
                continue
            wanted = json_text(json.loads(answer(given, decision, grant=False) or "null"))
            assert found == wanted
            if '"deny"' not in wanted:
                args = effective_args(request, decision)
                state.call(with_args(request, thaw(args)), str(number))
                ids.setdefault((given.id, request.tool, json_text(args)), []).append(str(number))
        elif isinstance(given, CallResult) and (keys := ids.get((given.id, given.tool, given.args))):
            key = keys.pop()
            if given.failed:
                state.failed(key, datetime.now(UTC))
            else:
                state.result(
                    key, NotRemembered() if given.value is None else json.loads(given.value), datetime.now(UTC)
                )
